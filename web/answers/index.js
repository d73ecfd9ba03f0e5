// A typed face over the transpiled component: bytes in as Uint8Array, values out under the documented
// snake_case names, the same ones as in the outcome's JSON. Runs in Node, in a page and in a worker.
import { instantiate } from './component/answers.js';

/** Fetches a core module next to the transpiled component; from the disk where there is no server. */
async function loadBeside(name) {
  const url = new URL(`./component/${name}`, import.meta.url);
  if (url.protocol === 'file:') {
    const { readFile } = await import('node:fs/promises');
    return WebAssembly.compile(await readFile(url));
  }
  return WebAssembly.compileStreaming(fetch(url));
}

const CORE_MODULES = ['answers.core.wasm', 'answers.core2.wasm', 'answers.core3.wasm'];

/** `upstreamNumber` -> `upstream_number`. */
const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
/** `upstream_number` -> `upstreamNumber`. */
const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());

/** The component's value under the documented names; absent is null, 64-bit counts are numbers. */
function plain(value) {
  if (value === undefined || value === null) return null;
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [snake(name), plain(member)]));
}

function bytesOf(value, what) {
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`${what} must be a Uint8Array; encode text with TextEncoder first`);
}

const headersOf = (headers = []) =>
  Array.from(headers, (entry) => {
    const [name, value] = Array.isArray(entry) ? entry : [entry.name, entry.value];
    return { name: String(name), value: String(value) };
  });

const batchOf = (batch) => ({
  events: batch.events.map(({ at, kind }) => ({ at: Number(at), kind: kind.tag, value: plain(kind.val) })),
  error: plain(batch.error),
});

/** An outcome, as documented; `json` is the same text, to the byte, in every runtime. */
class Finished {
  #normalize;
  #raw;

  constructor(normalize, raw, last) {
    this.#normalize = normalize;
    this.#raw = raw;
    this.last = last;
    this.json = this.render('json');
    this.outcome = JSON.parse(this.json);
  }

  render(format) {
    return this.#normalize.render(this.#raw, format);
  }
}

/** Reads one reply. Lives in an instance of its own, so that a trap harms no other stream. */
class Parser {
  #exports;
  #inner;

  constructor(exports, { mode = 'answer', headers, limits = {} }) {
    this.#exports = exports;
    const bounds = Object.fromEntries(Object.entries(limits).map(([name, bound]) => [camel(name), bound]));
    if (bounds.streamBytes !== undefined) bounds.streamBytes = BigInt(bounds.streamBytes);
    this.#inner = new exports.reply.Parser(mode, bounds);
    if (headers) this.#inner.head(headersOf(headers));
  }

  push(chunk) {
    if (!this.#inner) throw new Error('this stream is finished; make a new parser for the next one');
    return batchOf(this.#inner.push(bytesOf(chunk, 'a chunk')));
  }

  finish() {
    if (!this.#inner) throw new Error('this stream is finished already');
    const inner = this.#inner;
    this.#inner = null;
    const { last, outcome } = this.#exports.reply.Parser.finish(inner);
    return new Finished(this.#exports.normalize, outcome, batchOf(last));
  }
}

/** What `build` throws: every field that is wrong, at once. */
export class InvalidQuestion extends Error {
  constructor(fields) {
    super(fields.map(({ field, problem }) => `${field}: ${problem}`).join('; '));
    this.name = 'InvalidQuestion';
    this.fields = fields;
  }
}

/** The compiled component. */
export class Answers {
  #modules;

  constructor(modules) {
    this.#modules = modules;
  }

  /** Compiles the component once; `load(name)` may bring the core module from elsewhere. */
  static async open(load = loadBeside) {
    const modules = new Map();
    for (const name of CORE_MODULES) modules.set(name, await load(name));
    return new Answers(modules);
  }

  #instance() {
    return instantiate((name) => this.#modules.get(name), {});
  }

  parser(options = {}) {
    return new Parser(this.#instance(), options);
  }

  parse(bytes, { mode = 'answer', headers } = {}) {
    const { reply, normalize } = this.#instance();
    const outcome = reply.parseAll(mode, headersOf(headers), bytesOf(bytes, 'a reply'));
    return new Finished(normalize, outcome, { events: [], error: null });
  }

  inferMode(bytes) {
    return this.#instance().reply.inferMode(bytesOf(bytes, 'a stream'));
  }

  build(question) {
    const integers = new Set(['max_completion_tokens', 'seed']);
    const lowered = Object.entries(question).map(([name, value]) => {
      const whole = integers.has(name) || name.startsWith('research_maximum_');
      return [camel(name), whole && value != null ? BigInt(value) : value ?? undefined];
    });
    try {
      return plain(this.#instance().request.build(Object.fromEntries(lowered)));
    } catch (thrown) {
      if (Array.isArray(thrown?.payload)) throw new InvalidQuestion(plain(thrown.payload));
      throw thrown;
    }
  }

  failure(status, headers, body) {
    return plain(this.#instance().reply.failure(status, headersOf(headers), bytesOf(body, 'a body')));
  }
}
