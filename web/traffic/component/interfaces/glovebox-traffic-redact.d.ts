/** @module Interface glovebox:traffic/redact@0.1.0 **/
export type Span = import('./glovebox-traffic-types.js').Span;
export type Part = import('./glovebox-traffic-types.js').Part;
export type Exchange = import('./glovebox-traffic-types.js').Exchange;
/**
 * # Variants
 * 
 * ## `"off"`
 * 
 * ## `"balanced"`
 * 
 * ## `"strict"`
 */
export type Mode = 'off' | 'balanced' | 'strict';
/**
 * # Variants
 * 
 * ## `"userinfo"`
 * 
 * ## `"path"`
 * 
 * ## `"query"`
 * 
 * ## `"fragment"`
 * 
 * ## `"header"`
 * 
 * ## `"cookie"`
 * 
 * ## `"form"`
 * 
 * ## `"json"`
 * 
 * ## `"multipart"`
 * 
 * ## `"xml"`
 * 
 * ## `"text"`
 */
export type Carrier = 'userinfo' | 'path' | 'query' | 'fragment' | 'header' | 'cookie' | 'form' | 'json' | 'multipart' | 'xml' | 'text';
export interface Replacement {
  part: Part,
  index: number,
  place: Span,
  shown: Span,
  kind: string,
  carrier: Carrier,
  name: string,
  placeholder: string,
}
export interface Redacted {
  exchange: Exchange,
  replaced: Array<Replacement>,
}
export interface RedactedText {
  text: string,
  replaced: Array<Replacement>,
}

export class Redactor {
  constructor(mode: Mode, key: Uint8Array, callKey: Uint8Array, words: Array<string>)
  exchange(exchange: Exchange): Redacted;
  text(text: string, supplied: boolean): RedactedText;
  scrub(text: string): RedactedText;
}
