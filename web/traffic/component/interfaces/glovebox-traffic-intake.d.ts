/** @module Interface glovebox:traffic/intake@0.1.0 **/
export function detect(start: Uint8Array): Detection;
export function defaultLimits(): Limits;
export type Exchange = import('./glovebox-traffic-types.js').Exchange;
/**
 * # Variants
 * 
 * ## `"burp-xml"`
 * 
 * ## `"har"`
 */
export type Format = 'burp-xml' | 'har';
/**
 * # Variants
 * 
 * ## `"burp-xml"`
 * 
 * ## `"har"`
 * 
 * ## `"burp-issues"`
 * 
 * ## `"burp-project"`
 * 
 * ## `"html"`
 * 
 * ## `"csv"`
 * 
 * ## `"json"`
 * 
 * ## `"xml"`
 * 
 * ## `"compressed"`
 * 
 * ## `"packets"`
 * 
 * ## `"mitmproxy-flows"`
 * 
 * ## `"empty"`
 * 
 * ## `"unknown"`
 */
export type Kind = 'burp-xml' | 'har' | 'burp-issues' | 'burp-project' | 'html' | 'csv' | 'json' | 'xml' | 'compressed' | 'packets' | 'mitmproxy-flows' | 'empty' | 'unknown';
export interface Detection {
  kind: Kind,
  format?: Format,
  message: string,
}
export interface Limits {
  body: number,
  item: number,
  values: number,
  items: bigint,
}
export interface Skip {
  index: bigint,
  code: string,
  reason: string,
}
export type Item = ItemExchange | ItemSkip;
export interface ItemExchange {
  tag: 'exchange',
  val: Exchange,
}
export interface ItemSkip {
  tag: 'skip',
  val: Skip,
}
export interface Failure {
  code: string,
  message: string,
  at: bigint,
}
export interface Batch {
  items: Array<Item>,
  error?: Failure,
}
export interface Tally {
  code: string,
  count: bigint,
  firstIndex: bigint,
  detail: string,
}
export interface Report {
  writer: string,
  version: string,
  taken: bigint,
  skipped: bigint,
  complete: boolean,
  error?: Failure,
  skips: Array<Tally>,
  warnings: Array<Tally>,
}
export interface Finished {
  last: Batch,
  report: Report,
}

export class Reader {
  constructor(format: Format, limits: Limits)
  push(chunk: Uint8Array): Batch;
  static finish(this_: Reader): Finished;
}
