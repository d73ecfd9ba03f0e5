// A typed face over the transpiled traffic component: bytes in as Uint8Array, values out under the names of the WIT in
// camelCase. Runs in Node, in a page and in a worker.
import { instantiate } from './component/traffic.js';

/** Loads a core module next to the transpiled component; from the disk where there is no server. */
async function loadBeside(name) {
  const url = new URL(`./component/${name}`, import.meta.url);
  if (url.protocol === 'file:') {
    const { readFile } = await import('node:fs/promises');
    return WebAssembly.compile(await readFile(url));
  }
  return WebAssembly.compileStreaming(fetch(url));
}

const CORE_MODULES = ['traffic.core.wasm', 'traffic.core2.wasm', 'traffic.core3.wasm'];

/** Bytes that are passed to the component at a time. */
export const CHUNK = 64 * 1024;

function bytesOf(value, what) {
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`${what} must be a Uint8Array; encode text with TextEncoder first`);
}

/** Reads one saved file: its exchanges without their secrets, their findings, and the report of the import. */
class Inspection {
  #exports;
  #reader;
  #redactor;
  #checker;
  #mode;

  constructor(exports, format, { mode = 'balanced', key, now = Date.now() }) {
    this.#exports = exports;
    this.#mode = mode;
    this.#reader = new exports.intake.Reader(format, exports.intake.defaultLimits());
    this.#redactor = new exports.redact.Redactor(mode, key, key, []);
    this.#checker = new exports.checks.Checker(key, BigInt(now));
  }

  /** Passes on the next bytes. Returns items: `{ exchange, replaced, findings, sizes }` or `{ skip }`. */
  push(bytes) {
    const items = [];
    bytesOf(bytes, 'a chunk');
    for (let from = 0; from < bytes.length; from += CHUNK) {
      items.push(...this.#reader.push(bytes.subarray(from, from + CHUNK)).items.map((item) => this.#item(item)));
    }
    return items;
  }

  /** Ends the file. Returns the items that only the end completes, and the report. */
  finish() {
    const { last, report } = this.#exports.intake.Reader.finish(this.#reader);
    const items = last.items.map((item) => this.#item(item));
    for (const tally of [...report.skips, ...report.warnings]) tally.detail = this.#text(tally.detail);
    if (report.error) report.error.message = this.#text(report.error.message);
    return { items, report };
  }

  #text(text, supplied = false) {
    return this.#redactor.text(text, supplied).text;
  }

  #item({ tag, val }) {
    if (tag === 'skip') return { skip: { ...val, reason: this.#text(val.reason) } };
    const { exchange, replaced } = this.#redactor.exchange(val);
    const findings = this.#checker.push(val);
    if (this.#mode === 'strict') {
      for (const finding of findings) {
        for (const name of ['evidence', 'subject', 'origin', 'key']) finding[name] = this.#text(finding[name], true);
      }
    }
    const sizes = { request: val.request.bytes.length, response: val.response?.bytes.length ?? 0 };
    return { exchange, replaced, findings, sizes };
  }
}

/** The compiled component. */
export class Traffic {
  #modules;

  constructor(modules) {
    this.#modules = modules;
  }

  /** Compiles the component once; `load(name)` may bring the core modules from elsewhere. */
  static async open(load = loadBeside) {
    const modules = new Map();
    for (const name of CORE_MODULES) modules.set(name, await load(name));
    return new Traffic(modules);
  }

  /** The exports of a new instance, so that a trap harms no other. */
  instance() {
    return instantiate((name) => this.#modules.get(name), {});
  }

  /** Names a file by its first bytes: `{ kind, format, message }`; `format` is absent where it cannot be imported. */
  detect(start) {
    return this.instance().intake.detect(bytesOf(start, 'the start of a file').subarray(0, CHUNK));
  }

  /** Begins to read a file. `key` holds the bytes that placeholders are made with; `mode` is `off`, `balanced` or `strict`. */
  inspection(format, options) {
    return new Inspection(this.instance(), format, { ...options, key: bytesOf(options.key, 'the key') });
  }

  /** An exchange as text. */
  view(exchange, { budget = 256 * 1024, requestOffset = 0, responseOffset = 0 } = {}) {
    const options = { json: false, budget, request: true, response: true, bodies: true, requestOffset, responseOffset };
    return this.instance().view.render(exchange, options);
  }
}
