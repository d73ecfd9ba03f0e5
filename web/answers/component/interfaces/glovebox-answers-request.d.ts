/** @module Interface glovebox:answers/request@0.2.0 **/
export function build(question: Question): HttpRequest;
export type Question = import('./glovebox-answers-types.js').Question;
export type HttpRequest = import('./glovebox-answers-types.js').HttpRequest;
export type InvalidField = import('./glovebox-answers-types.js').InvalidField;
