/** @module Interface glovebox:answers/normalize@0.2.0 **/
export function render(outcome: Outcome, format: Format): string;
export function spans(text: string, last: boolean): Styled;
export type Outcome = import('./glovebox-answers-types.js').Outcome;
export type Format = import('./glovebox-answers-types.js').Format;
export type Styled = import('./glovebox-answers-types.js').Styled;
