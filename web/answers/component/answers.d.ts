// world root:component/root
import type * as GloveboxAnswersTypes from './interfaces/glovebox-answers-types.js'; // glovebox:answers/types@0.2.0
import type * as GloveboxAnswersRequest from './interfaces/glovebox-answers-request.js'; // glovebox:answers/request@0.2.0
import type * as GloveboxAnswersReply from './interfaces/glovebox-answers-reply.js'; // glovebox:answers/reply@0.2.0
import type * as GloveboxAnswersNormalize from './interfaces/glovebox-answers-normalize.js'; // glovebox:answers/normalize@0.2.0
export interface ImportObject {
}
export interface Root {
  'glovebox:answers/types@0.2.0': typeof GloveboxAnswersTypes,
  types: typeof GloveboxAnswersTypes,
  'glovebox:answers/request@0.2.0': typeof GloveboxAnswersRequest,
  request: typeof GloveboxAnswersRequest,
  'glovebox:answers/reply@0.2.0': typeof GloveboxAnswersReply,
  reply: typeof GloveboxAnswersReply,
  'glovebox:answers/normalize@0.2.0': typeof GloveboxAnswersNormalize,
  normalize: typeof GloveboxAnswersNormalize,
}

/**
* Instantiates this component with the provided imports and
* returns a map of all the exports of the component.
*
* This function is intended to be similar to the
* `WebAssembly.Instantiate` constructor. The second `imports`
* argument is the "import object" for wasm, except here it
* uses component-model-layer types instead of core wasm
* integers/numbers/etc.
*
* The first argument to this function, `getCoreModule`, is
* used to compile core wasm modules within the component.
* Components are composed of core wasm modules and this callback
* will be invoked per core wasm module. The caller of this
* function is responsible for reading the core wasm module
* identified by `path` and returning its compiled
* `WebAssembly.Module` object. This would use the
* `WebAssembly.Module` constructor on the web, for example.
*/
export function instantiate(
getCoreModule: (path: string) => WebAssembly.Module,
imports: ImportObject,
instantiateCore?: (module: WebAssembly.Module, imports: Record<string, any>) => WebAssembly.Instance
): Root;

