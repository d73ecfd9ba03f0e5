/** @module Interface glovebox:answers/types@0.2.0 **/
/**
 * # Variants
 * 
 * ## `"answer"`
 * 
 * ## `"research"`
 */
export type Mode = 'answer' | 'research';
export interface Header {
  name: string,
  value: string,
}
export interface Location {
  city?: string,
  country?: string,
  region?: string,
  timezone?: string,
}
export interface Question {
  query: string,
  model?: string,
  stream?: boolean,
  country?: string,
  language?: string,
  safesearch?: string,
  maxCompletionTokens?: bigint,
  metadata?: string,
  seed?: bigint,
  enableCitations?: boolean,
  enableEntities?: boolean,
  enableResearch?: boolean,
  researchAllowThinking?: boolean,
  researchMaximumNumberOfTokensPerQuery?: bigint,
  researchMaximumNumberOfQueries?: bigint,
  researchMaximumNumberOfIterations?: bigint,
  researchMaximumNumberOfSeconds?: bigint,
  researchMaximumNumberOfResultsPerQuery?: bigint,
  searchContextSize?: string,
  userLocation?: Location,
}
export interface InvalidField {
  field: string,
  problem: string,
}
export interface HttpRequest {
  method: string,
  path: string,
  headers: Array<Header>,
  body: Uint8Array,
}
export interface Limits {
  lineBytes?: number,
  tagBytes?: number,
  textBytes?: number,
  streamBytes?: bigint,
}
export interface Citation {
  number: number,
  upstreamNumber?: number,
  url: string,
  position: number,
  snippet?: string,
  favicon?: string,
}
export interface Entity {
  name: string,
  href?: string,
  text: string,
  instanceOf?: string,
  images: Array<string>,
  citations: string,
}
export interface Analyzing {
  query: string,
  urls?: number,
  newUrls?: number,
}
export interface Thinking {
  query: string,
  urlsAnalyzed?: number,
  urlsSelected: Array<string>,
  chunksAnalyzed?: number,
  chunksSelected?: number,
}
export interface Progress {
  iteration: number,
  elapsedSeconds?: number,
  queries?: bigint,
  urlsAnalyzed?: bigint,
  snippetsAnalyzed?: bigint,
  tokensIn?: bigint,
  tokensThinking?: bigint,
  tokensOut?: bigint,
}
export interface Cost {
  requests?: number,
  queries?: number,
  tokensIn?: number,
  tokensOut?: number,
  total?: number,
}
export interface Usage {
  requests?: bigint,
  queries?: bigint,
  tokensIn?: bigint,
  tokensOut?: bigint,
  costUsd: Cost,
  costUsdEstimate?: number,
}
export interface Warning {
  code: string,
  detail: string,
}
export type EventKind = EventKindText | EventKindCitation | EventKindEntity | EventKindQueries | EventKindAnalyzing | EventKindThinking | EventKindProgress | EventKindBlindspots | EventKindDraft | EventKindAnswer | EventKindUsage | EventKindWarning;
export interface EventKindText {
  tag: 'text',
  val: string,
}
export interface EventKindCitation {
  tag: 'citation',
  val: Citation,
}
export interface EventKindEntity {
  tag: 'entity',
  val: Entity,
}
export interface EventKindQueries {
  tag: 'queries',
  val: Array<string>,
}
export interface EventKindAnalyzing {
  tag: 'analyzing',
  val: Analyzing,
}
export interface EventKindThinking {
  tag: 'thinking',
  val: Thinking,
}
export interface EventKindProgress {
  tag: 'progress',
  val: Progress,
}
export interface EventKindBlindspots {
  tag: 'blindspots',
  val: Array<string>,
}
export interface EventKindDraft {
  tag: 'draft',
  val: string,
}
export interface EventKindAnswer {
  tag: 'answer',
  val: string,
}
export interface EventKindUsage {
  tag: 'usage',
  val: Usage,
}
export interface EventKindWarning {
  tag: 'warning',
  val: Warning,
}
export interface Event {
  at: bigint,
  kind: EventKind,
}
/**
 * # Variants
 * 
 * ## `"line-limit"`
 * 
 * ## `"text-limit"`
 * 
 * ## `"stream-limit"`
 * 
 * ## `"upstream-error"`
 * 
 * ## `"not-a-reply"`
 */
export type StreamErrorKind = 'line-limit' | 'text-limit' | 'stream-limit' | 'upstream-error' | 'not-a-reply';
export interface StreamError {
  kind: StreamErrorKind,
  message: string,
  at: bigint,
}
export interface Batch {
  events: Array<Event>,
  error?: StreamError,
  ended: boolean,
}
export interface Source {
  number: number,
  url: string,
  snippets: Array<string>,
  positions: Uint32Array,
  upstreamNumbers: Uint32Array,
  cited: boolean,
}
export interface OutcomeError {
  kind: string,
  message: string,
}
export interface Outcome {
  mode: Mode,
  complete: boolean,
  truncated: boolean,
  finishReason?: string,
  model?: string,
  answer: string,
  text: string,
  draft: string,
  sources: Array<Source>,
  entities: Array<Entity>,
  queries: Array<string>,
  blindspots: Array<string>,
  thinking: Array<Thinking>,
  progress: Array<Progress>,
  usage?: Usage,
  error?: OutcomeError,
  warnings: Array<Warning>,
}
/**
 * # Variants
 * 
 * ## `"no-plan"`
 * 
 * ## `"spend-cap"`
 * 
 * ## `"not-allowed"`
 * 
 * ## `"not-found"`
 * 
 * ## `"bad-key"`
 * 
 * ## `"no-key"`
 * 
 * ## `"invalid-request"`
 * 
 * ## `"rate-limited"`
 * 
 * ## `"quota"`
 * 
 * ## `"server-error"`
 * 
 * ## `"redirect"`
 * 
 * ## `"unexpected"`
 */
export type FailureKind = 'no-plan' | 'spend-cap' | 'not-allowed' | 'not-found' | 'bad-key' | 'no-key' | 'invalid-request' | 'rate-limited' | 'quota' | 'server-error' | 'redirect' | 'unexpected';
export interface Failure {
  kind: FailureKind,
  status: number,
  code?: string,
  message: string,
  detail?: string,
  fields: Array<string>,
  retryable: boolean,
  retryAfterSeconds?: number,
  id?: string,
}
/**
 * # Variants
 * 
 * ## `"markdown"`
 * 
 * ## `"plain"`
 * 
 * ## `"json"`
 */
export type Format = 'markdown' | 'plain' | 'json';
export interface Style {
  strong: boolean,
  emphasis: boolean,
  strikethrough: boolean,
  code: boolean,
}
export interface Span {
  text: string,
  style: Style,
  link?: string,
}
export interface Heading {
  level: number,
  spans: Array<Span>,
}
export interface Item {
  number?: number,
  spans: Array<Span>,
}
export interface Code {
  language?: string,
  text: string,
}
/**
 * # Variants
 * 
 * ## `"left"`
 * 
 * ## `"center"`
 * 
 * ## `"right"`
 */
export type Alignment = 'left' | 'center' | 'right';
export interface Table {
  columns: Array<Alignment>,
  rows: Array<Array<Array<Span>>>,
}
export type BlockKind = BlockKindParagraph | BlockKindHeading | BlockKindItem | BlockKindCode | BlockKindTable | BlockKindRule;
export interface BlockKindParagraph {
  tag: 'paragraph',
  val: Array<Span>,
}
export interface BlockKindHeading {
  tag: 'heading',
  val: Heading,
}
export interface BlockKindItem {
  tag: 'item',
  val: Item,
}
export interface BlockKindCode {
  tag: 'code',
  val: Code,
}
export interface BlockKindTable {
  tag: 'table',
  val: Table,
}
export interface BlockKindRule {
  tag: 'rule',
}
export interface Block {
  quote: number,
  depth: number,
  kind: BlockKind,
}
export interface Styled {
  closed: Array<Block>,
  used: number,
  open: Array<Block>,
}
