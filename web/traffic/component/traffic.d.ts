// world root:component/root
import type * as GloveboxTrafficTypes from './interfaces/glovebox-traffic-types.js'; // glovebox:traffic/types@0.1.0
import type * as GloveboxTrafficIntake from './interfaces/glovebox-traffic-intake.js'; // glovebox:traffic/intake@0.1.0
import type * as GloveboxTrafficHar from './interfaces/glovebox-traffic-har.js'; // glovebox:traffic/har@0.1.0
import type * as GloveboxTrafficH1 from './interfaces/glovebox-traffic-h1.js'; // glovebox:traffic/h1@0.1.0
import type * as GloveboxTrafficWebsocket from './interfaces/glovebox-traffic-websocket.js'; // glovebox:traffic/websocket@0.1.0
import type * as GloveboxTrafficMessage from './interfaces/glovebox-traffic-message.js'; // glovebox:traffic/message@0.1.0
import type * as GloveboxTrafficRedact from './interfaces/glovebox-traffic-redact.js'; // glovebox:traffic/redact@0.1.0
import type * as GloveboxTrafficSearch from './interfaces/glovebox-traffic-search.js'; // glovebox:traffic/search@0.1.0
import type * as GloveboxTrafficChecks from './interfaces/glovebox-traffic-checks.js'; // glovebox:traffic/checks@0.1.0
import type * as GloveboxTrafficIssues from './interfaces/glovebox-traffic-issues.js'; // glovebox:traffic/issues@0.1.0
import type * as GloveboxTrafficCodec from './interfaces/glovebox-traffic-codec.js'; // glovebox:traffic/codec@0.1.0
import type * as GloveboxTrafficView from './interfaces/glovebox-traffic-view.js'; // glovebox:traffic/view@0.1.0
export interface ImportObject {
}
export interface Root {
  'glovebox:traffic/types@0.1.0': typeof GloveboxTrafficTypes,
  types: typeof GloveboxTrafficTypes,
  'glovebox:traffic/intake@0.1.0': typeof GloveboxTrafficIntake,
  intake: typeof GloveboxTrafficIntake,
  'glovebox:traffic/har@0.1.0': typeof GloveboxTrafficHar,
  har: typeof GloveboxTrafficHar,
  'glovebox:traffic/h1@0.1.0': typeof GloveboxTrafficH1,
  h1: typeof GloveboxTrafficH1,
  'glovebox:traffic/websocket@0.1.0': typeof GloveboxTrafficWebsocket,
  websocket: typeof GloveboxTrafficWebsocket,
  'glovebox:traffic/message@0.1.0': typeof GloveboxTrafficMessage,
  message: typeof GloveboxTrafficMessage,
  'glovebox:traffic/redact@0.1.0': typeof GloveboxTrafficRedact,
  redact: typeof GloveboxTrafficRedact,
  'glovebox:traffic/search@0.1.0': typeof GloveboxTrafficSearch,
  search: typeof GloveboxTrafficSearch,
  'glovebox:traffic/checks@0.1.0': typeof GloveboxTrafficChecks,
  checks: typeof GloveboxTrafficChecks,
  'glovebox:traffic/issues@0.1.0': typeof GloveboxTrafficIssues,
  issues: typeof GloveboxTrafficIssues,
  'glovebox:traffic/codec@0.1.0': typeof GloveboxTrafficCodec,
  codec: typeof GloveboxTrafficCodec,
  'glovebox:traffic/view@0.1.0': typeof GloveboxTrafficView,
  view: typeof GloveboxTrafficView,
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

