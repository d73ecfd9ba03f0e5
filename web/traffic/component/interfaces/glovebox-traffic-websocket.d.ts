/** @module Interface glovebox:traffic/websocket@0.1.0 **/
export function deflateOf(response: Uint8Array): Deflate | undefined;
export type Warning = import('./glovebox-traffic-types.js').Warning;
export interface Deflate {
  clientResets: boolean,
  serverResets: boolean,
}
export interface Received {
  opcode: number,
  payload: Uint8Array,
  dropped: bigint,
  warnings: Array<Warning>,
}
export interface Frames {
  messages: Array<Received>,
  error?: string,
}

export class Decoder {
  constructor(deflate: boolean, resets: boolean, limit: number)
  push(chunk: Uint8Array): Frames;
}
