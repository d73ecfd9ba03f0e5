/** What was asked for, and so how the reply is read. */
export type Mode = 'answer' | 'research';
/** How an outcome is rendered. */
export type Format = 'markdown' | 'plain' | 'json';
/** Name and value; a `Headers` object or a `Map` will do. */
export type HeaderList = Iterable<readonly [string, string]> | Iterable<{ name: string; value: string }>;

/** Bounds of one stream; an absent one takes its documented default. */
export interface Limits {
  line_bytes?: number;
  tag_bytes?: number;
  text_bytes?: number;
  stream_bytes?: number;
}

export interface Citation {
  number: number;
  upstream_number: number | null;
  url: string;
  /** Unicode code points into the text without tags. */
  position: number;
  snippet: string | null;
  favicon: string | null;
}
export interface Entity {
  name: string;
  href: string | null;
  text: string;
  instance_of: string | null;
  images: string[];
  /** JSON text in events, a JSON value in an outcome. */
  citations: unknown;
}
export interface Analyzing { query: string; urls: number | null; new_urls: number | null }
export interface Thinking {
  query: string;
  urls_analyzed: number | null;
  urls_selected: string[];
  chunks_analyzed: number | null;
  chunks_selected: number | null;
}
export interface Progress {
  iteration: number;
  elapsed_seconds: number | null;
  queries: number | null;
  urls_analyzed: number | null;
  snippets_analyzed: number | null;
  tokens_in: number | null;
  tokens_thinking: number | null;
  tokens_out: number | null;
}
export interface Cost {
  requests: number | null;
  queries: number | null;
  tokens_in: number | null;
  tokens_out: number | null;
  total: number | null;
}
export interface Usage {
  requests: number | null;
  queries: number | null;
  tokens_in: number | null;
  tokens_out: number | null;
  cost_usd: Cost;
  cost_usd_estimate: number | null;
}
export interface Warning { code: string; detail: string }

/** One thing that happened; `at` is the byte offset of the end of the server-sent event that completed it. */
export type Event = { at: number } & (
  | { kind: 'text' | 'draft' | 'answer'; value: string }
  | { kind: 'queries' | 'blindspots'; value: string[] }
  | { kind: 'citation'; value: Citation }
  | { kind: 'entity'; value: Entity }
  | { kind: 'analyzing'; value: Analyzing }
  | { kind: 'thinking'; value: Thinking }
  | { kind: 'progress'; value: Progress }
  | { kind: 'usage'; value: Usage }
  | { kind: 'warning'; value: Warning }
);

export interface StreamError { kind: string; message: string; at: number }
export interface Batch { events: Event[]; error: StreamError | null }

export interface Source {
  number: number;
  url: string;
  snippets: string[];
  positions: number[];
  upstream_numbers: number[];
  cited: boolean;
}
export interface Outcome {
  mode: Mode;
  complete: boolean;
  truncated: boolean;
  finish_reason: string | null;
  model: string | null;
  /** With `[n]` markers in answer mode. */
  answer: string;
  text: string;
  draft: string;
  sources: Source[];
  entities: Entity[];
  queries: string[];
  blindspots: string[];
  thinking: Thinking[];
  progress: Progress[];
  usage: Usage | null;
  error: { kind: string; message: string } | null;
  warnings: Warning[];
}

/** What came of a stream. */
export interface Finished {
  /** Events that only the end could decide. */
  readonly last: Batch;
  readonly outcome: Outcome;
  /** The outcome as JSON, the same bytes in every runtime. */
  readonly json: string;
  render(format: Format): string;
}

/** Reads one reply in chunks of any size, in an instance of its own. */
export interface Parser {
  /** @throws {TypeError} for anything but a `Uint8Array`. */
  push(chunk: Uint8Array): Batch;
  /** Ends the stream; the parser is used up. */
  finish(): Finished;
}

/** A question; what is absent is left out of the request. */
export interface Question {
  query: string;
  model?: string;
  stream?: boolean;
  country?: string;
  language?: string;
  safesearch?: 'off' | 'moderate' | 'strict';
  max_completion_tokens?: number;
  metadata?: string;
  seed?: number;
  enable_citations?: boolean;
  enable_entities?: boolean;
  enable_research?: boolean;
  research_allow_thinking?: boolean;
  research_maximum_number_of_tokens_per_query?: number;
  research_maximum_number_of_queries?: number;
  research_maximum_number_of_iterations?: number;
  research_maximum_number_of_seconds?: number;
  research_maximum_number_of_results_per_query?: number;
  search_context_size?: 'low' | 'medium' | 'high';
  user_location?: { city?: string; country?: string; region?: string; timezone?: string };
}
/** A request to send; add the origin and the key. */
export interface HttpRequest {
  method: string;
  path: string;
  headers: { name: string; value: string }[];
  body: Uint8Array;
}
/** Why the upstream refused or failed. */
export interface Failure {
  kind: string;
  status: number;
  code: string | null;
  message: string;
  detail: string | null;
  fields: string[];
  retryable: boolean;
  retry_after_seconds: number | null;
  id: string | null;
}

/** Every field of a question that is wrong, at once. */
export class InvalidQuestion extends Error {
  readonly fields: { field: string; problem: string }[];
}

/** The compiled component. */
export class Answers {
  private constructor(modules: unknown);
  /** Compiles it once; `load` may bring the core module from elsewhere. */
  static open(load?: (name: string) => Promise<WebAssembly.Module>): Promise<Answers>;
  parser(options?: { mode?: Mode; headers?: HeaderList; limits?: Limits }): Parser;
  /** One reply that is all there. */
  parse(bytes: Uint8Array, options?: { mode?: Mode; headers?: HeaderList }): Finished;
  /** Which mode a captured stream was made in, by its tags. */
  inferMode(bytes: Uint8Array): Mode;
  /** @throws {InvalidQuestion} */
  build(question: Question): HttpRequest;
  failure(status: number, headers: HeaderList, body: Uint8Array): Failure;
}
