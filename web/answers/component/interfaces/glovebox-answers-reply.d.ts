/** @module Interface glovebox:answers/reply@0.2.0 **/
export function parseAll(mode: Mode, headers: Array<Header>, bytes: Uint8Array): Outcome;
export function inferMode(bytes: Uint8Array): Mode;
export function failure(status: number, headers: Array<Header>, body: Uint8Array): Refusal;
export type Mode = import('./glovebox-answers-types.js').Mode;
export type Header = import('./glovebox-answers-types.js').Header;
export type Limits = import('./glovebox-answers-types.js').Limits;
export type Batch = import('./glovebox-answers-types.js').Batch;
export type Outcome = import('./glovebox-answers-types.js').Outcome;
export type Refusal = import('./glovebox-answers-types.js').Failure;
export interface Finished {
  last: Batch,
  outcome: Outcome,
}

export class Parser {
  constructor(mode: Mode, limits: Limits)
  head(headers: Array<Header>): void;
  push(chunk: Uint8Array): Batch;
  static finish(this_: Parser): Finished;
}
