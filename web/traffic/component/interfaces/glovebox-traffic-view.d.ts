/** @module Interface glovebox:traffic/view@0.1.0 **/
export function render(exchange: Exchange, options: ViewOptions): Shown;
export function visible(text: string): string;
export type Exchange = import('./glovebox-traffic-types.js').Exchange;
export interface ViewOptions {
  json: boolean,
  budget: number,
  request: boolean,
  response: boolean,
  bodies: boolean,
  requestOffset: number,
  responseOffset: number,
}
export interface Shown {
  text: string,
  nextRequestOffset?: number,
  nextResponseOffset?: number,
  cut: boolean,
}
