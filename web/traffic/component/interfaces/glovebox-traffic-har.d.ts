/** @module Interface glovebox:traffic/har@0.1.0 **/
export function head(version: string): string;
export function entry(exchange: Exchange): string;
export function tail(): string;
export type Exchange = import('./glovebox-traffic-types.js').Exchange;
