/** @module Interface glovebox:traffic/message@0.1.0 **/
export function parseRequest(bytes: Uint8Array): Head;
export function parseResponse(bytes: Uint8Array): Head;
export function decodeBody(message: Raw, request: boolean, limits: BodyLimits): Decoded;
export function defaultBodyLimits(): BodyLimits;
export function parameters(request: Raw): Array<Parameter>;
export function insertionPoints(request: Raw, append: boolean): Array<Parameter>;
export function reflected(request: Raw, response: Raw): Array<Reflection>;
export function diff(first: Raw, second: Raw, request: boolean): Difference;
export function cookies(exchange: Exchange): Array<Cookie>;
export function decodeJwt(token: string): Jwt | undefined;
export type Span = import('./glovebox-traffic-types.js').Span;
export type Warning = import('./glovebox-traffic-types.js').Warning;
export type Exchange = import('./glovebox-traffic-types.js').Exchange;
export type Raw = import('./glovebox-traffic-types.js').Message;
export interface Header {
  name: string,
  value: string,
  line: Span,
  place: Span,
  odd: string,
}
export interface Head {
  method: string,
  target: string,
  targetPlace: Span,
  version: string,
  status?: number,
  reason: string,
  headers: Array<Header>,
  span: Span,
  body: Span,
  lineEnds: string,
  complete: boolean,
  strict: string,
  warnings: Array<Warning>,
}
export interface BodyLimits {
  decoded: number,
  ratio: number,
}
export interface Decoded {
  bytes: Uint8Array,
  text: boolean,
  charset: string,
  mediaType: string,
  removed: Array<string>,
  limit: string,
  complete: boolean,
  warnings: Array<Warning>,
}
/**
 * # Variants
 * 
 * ## `"path"`
 * 
 * ## `"query"`
 * 
 * ## `"cookie"`
 * 
 * ## `"form"`
 * 
 * ## `"multipart"`
 * 
 * ## `"file-name"`
 * 
 * ## `"json"`
 * 
 * ## `"xml"`
 * 
 * ## `"xml-attribute"`
 */
export type ParameterKind = 'path' | 'query' | 'cookie' | 'form' | 'multipart' | 'file-name' | 'json' | 'xml' | 'xml-attribute';
export interface Parameter {
  kind: ParameterKind,
  name: string,
  value: string,
  place: Span,
}
export interface Reflection {
  name: string,
  kind: ParameterKind,
  count: number,
  raw: boolean,
  place: Span,
}
export interface Cookie {
  name: string,
  value: string,
  set: boolean,
  domain: string,
  path: string,
  expires: string,
  maxAge: string,
  secure: boolean,
  httpOnly: boolean,
  sameSite: string,
}
export interface Jwt {
  header: string,
  payload: string,
  algorithm: string,
  headerNames: Array<string>,
  issued?: bigint,
  expires?: bigint,
  signed: boolean,
}
/**
 * # Variants
 * 
 * ## `"start"`
 * 
 * ## `"header"`
 * 
 * ## `"json"`
 * 
 * ## `"line"`
 * 
 * ## `"body"`
 */
export type ChangePlace = 'start' | 'header' | 'json' | 'line' | 'body';
export interface Change {
  place: ChangePlace,
  name: string,
  before?: string,
  after?: string,
}
export interface Difference {
  changes: Array<Change>,
  cut: boolean,
}
export interface Shape {
  kind: ParameterKind,
  name: string,
  values: string,
}
export interface Endpoint {
  method: string,
  origin: string,
  path: string,
  count: number,
  parameters: Array<Shape>,
  statuses: Uint16Array,
  types: Array<string>,
  authentication: Array<string>,
}
export interface Gathered {
  endpoints: Array<Endpoint>,
  leftOut: bigint,
}

export class Endpoints {
  constructor()
  push(exchange: Exchange): void;
  static finish(this_: Endpoints): Gathered;
}
