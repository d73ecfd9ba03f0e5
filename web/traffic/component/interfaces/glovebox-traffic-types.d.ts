/** @module Interface glovebox:traffic/types@0.1.0 **/
/**
 * # Variants
 * 
 * ## `"wire"`
 * 
 * ## `"rebuilt"`
 * 
 * ## `"decoded"`
 * 
 * ## `"agent"`
 */
export type Provenance = 'wire' | 'rebuilt' | 'decoded' | 'agent';
/**
 * # Variants
 * 
 * ## `"sent"`
 * 
 * ## `"received"`
 * 
 * ## `"error"`
 */
export type Direction = 'sent' | 'received' | 'error';
/**
 * # Variants
 * 
 * ## `"url"`
 * 
 * ## `"request-head"`
 * 
 * ## `"request-body"`
 * 
 * ## `"response-head"`
 * 
 * ## `"response-body"`
 * 
 * ## `"web-socket"`
 * 
 * ## `"note"`
 */
export type Part = 'url' | 'request-head' | 'request-body' | 'response-head' | 'response-body' | 'web-socket' | 'note';
export interface Span {
  start: number,
  end: number,
}
export interface Warning {
  code: string,
  detail: string,
}
export interface Origin {
  scheme: string,
  host: string,
  port: number,
}
export interface Message {
  bytes: Uint8Array,
  provenance: Provenance,
  decoded: boolean,
}
export interface WebSocketMessage {
  direction: Direction,
  timeMs?: number,
  opcode: number,
  payload: Uint8Array,
}
export interface Exchange {
  index: bigint,
  timeMs?: bigint,
  timeText: string,
  origin?: Origin,
  url: string,
  method: string,
  status?: number,
  httpVersion: string,
  request: Message,
  response?: Message,
  serverAddress: string,
  mimeLabel: string,
  durationMs?: number,
  error?: string,
  note: string,
  colour: string,
  webSocket: Array<WebSocketMessage>,
  extra: string,
  warnings: Array<Warning>,
}
