/** @module Interface glovebox:traffic/search@0.1.0 **/
export type Span = import('./glovebox-traffic-types.js').Span;
export interface Mask {
  place: Span,
  shown: number,
}
export interface Match {
  place: Span,
  shown: Span,
}
export interface Matches {
  total: number,
  matches: Array<Match>,
}

export class Pattern {
  /**
   * This type does not have a public constructor.
   */
  private constructor();
  static compile(pattern: string, literal: boolean, ignoreCase: boolean): Pattern;
  find(part: Uint8Array, masks: Array<Mask>, most: number): Matches;
  isMatch(part: Uint8Array, masks: Array<Mask>): boolean;
}
