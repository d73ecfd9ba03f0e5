/** @module Interface glovebox:answers/normalize@0.1.0 **/
export function render(outcome: Outcome, format: Format): string;
export type Outcome = import('./glovebox-answers-types.js').Outcome;
export type Format = import('./glovebox-answers-types.js').Format;
