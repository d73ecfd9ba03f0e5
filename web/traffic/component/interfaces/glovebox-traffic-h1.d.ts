/** @module Interface glovebox:traffic/h1@0.1.0 **/
export function targetOf(head: Uint8Array, tunnel: Origin | undefined): Target;
export type Origin = import('./glovebox-traffic-types.js').Origin;
export type Warning = import('./glovebox-traffic-types.js').Warning;
/**
 * # Variants
 * 
 * ## `"client"`
 * 
 * ## `"server"`
 */
export type Side = 'client' | 'server';
export interface FramerLimits {
  body: number,
  pipeline: number,
}
export interface Framed {
  side: Side,
  exchange: bigint,
  bytes: Uint8Array,
  dropped: bigint,
  interim: boolean,
  complete: boolean,
  warnings: Array<Warning>,
}
export interface Tunnelled {
  side: Side,
  bytes: Uint8Array,
}
export type Event = EventMessage | EventTunnel;
export interface EventMessage {
  tag: 'message',
  val: Framed,
}
export interface EventTunnel {
  tag: 'tunnel',
  val: Tunnelled,
}
export interface Target {
  origin: Origin,
  connect: boolean,
  head: Uint8Array,
  warnings: Array<Warning>,
}

export class Framer {
  constructor(limits: FramerLimits)
  push(side: Side, chunk: Uint8Array): Array<Event>;
  finish(side: Side): Array<Event>;
}
