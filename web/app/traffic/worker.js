// Reads traffic files off the main thread, so that no file, however long, freezes the page. What crosses to the page has passed
// the redactor.
import { Traffic } from '../../traffic/index.js';
import { check } from './vectors.js';

/** Bytes read from a file at a time; small enough that the worker hears a new file between two. */
const SLICE = 256 * 1024;
/** How often the page is told, at most, in milliseconds. */
const PERIOD = 80;
/** Rows, findings and places of secrets that the page gets; the counts stay true. */
const ROWS = 20_000;
const LISTED = 1_000;
/** Characters of a URL in a row. */
const URL_SHOWN = 300;

const traffic = await Traffic.open();
// One key a page: equal values have equal placeholders, also where the file is read again.
const key = crypto.getRandomValues(new Uint8Array(32));
let current = 0;

const slice = async (blob, from) => new Uint8Array(await blob.slice(from, from + SLICE).arrayBuffer());
const cut = (text) => (text.length > URL_SHOWN ? `${text.slice(0, URL_SHOWN)}…` : text);

function rowOf({ exchange, skip, sizes }) {
  if (skip) return { index: Number(skip.index), skipped: `${skip.reason} (${skip.code})` };
  return {
    index: Number(exchange.index), method: exchange.method, status: exchange.status ?? null, type: exchange.mimeLabel, size: sizes.response,
    url: cut(exchange.url), error: exchange.error ?? null, messages: exchange.webSocket.length,
  };
}

/** What a file adds up to. */
class Summary {
  constructor() {
    this.rows = [];
    this.items = 0;
    this.findings = new Map();
    this.replaced = new Map();
    this.values = 0;
  }

  add(item) {
    this.items += 1;
    if (this.items <= ROWS) this.rows.push(rowOf(item));
    for (const finding of item.findings ?? []) {
      const known = this.findings.get(finding.key);
      if (known) known.count += 1;
      else if (this.findings.size < LISTED) this.findings.set(finding.key, { ...plainFinding(finding), exchange: Number(item.exchange.index), count: 1 });
    }
    for (const one of item.replaced ?? []) {
      this.values += 1;
      const place = `${one.kind}|${one.carrier}|${one.name}`;
      const known = this.replaced.get(place);
      if (known) known.count += 1;
      else if (this.replaced.size < LISTED) this.replaced.set(place, { kind: one.kind, carrier: one.carrier, name: one.name, count: 1 });
    }
  }

  /** What the page needs, with the rows that it has not got yet. */
  view() {
    return { rows: this.rows.splice(0), items: this.items, findings: [...this.findings.values()], replaced: [...this.replaced.values()], values: this.values };
  }
}

const plainFinding = ({ code, title, severity, confidence, evidence, origin }) => ({ code, title, severity, confidence, evidence, origin });
const plainReport = ({ writer, taken, skipped, complete, error, skips, warnings }) => ({
  writer, taken: Number(taken), skipped: Number(skipped), complete, error: error ? error.message : null,
  skips: skips.map(tallyOf), warnings: warnings.map(tallyOf),
});
const tallyOf = ({ code, count, firstIndex, detail }) => ({ code, count: Number(count), first: Number(firstIndex), detail });

/** Reads a file to its end, or until `done` says so. Returns the report. */
async function read(blob, mode, each, done) {
  const start = await slice(blob, 0);
  const { format, message } = traffic.detect(start);
  if (!format) throw new Error(message);
  const inspection = traffic.inspection(format, { mode, key });
  for (let from = 0; from < blob.size; from += SLICE) {
    for (const item of inspection.push(await slice(blob, from))) each(item);
    if (done(Math.min(blob.size, from + SLICE))) return null;
  }
  const { items, report } = inspection.finish();
  for (const item of items) each(item);
  return report;
}

async function file({ id, blob, mode }) {
  current = id;
  const summary = new Summary();
  let shown = 0;
  const report = await read(blob, mode, (item) => summary.add(item), (bytes) => {
    const now = performance.now();
    if (now - shown >= PERIOD) {
      shown = now;
      postMessage({ type: 'view', id, bytes, total: blob.size, ...summary.view() });
    }
    return current !== id;
  });
  if (report) postMessage({ type: 'done', id, bytes: blob.size, total: blob.size, ...summary.view(), report: plainReport(report) });
}

/** One exchange in full: the file is read again up to it, so that no more than one is in memory. */
async function exchange({ id, blob, mode, index }) {
  let found = null;
  await read(blob, mode, (item) => {
    if (!found && item.exchange && Number(item.exchange.index) === index) found = item;
  }, () => found !== null);
  if (!found) return;
  const { text, cut: short, nextRequestOffset, nextResponseOffset } = traffic.view(found.exchange);
  const socket = found.exchange.webSocket.slice(0, LISTED).map(({ direction, payload, opcode }) => `${direction}: ${opcode === 1 ? new TextDecoder().decode(payload) : `[${payload.length} bytes]`}`);
  const replaced = found.replaced.slice(0, LISTED).map(({ part, kind, carrier, name, placeholder }) => ({ part, kind, carrier, name, placeholder }));
  const more = short || nextRequestOffset !== undefined || nextResponseOffset !== undefined;
  postMessage({ type: 'exchange', id, index, text: [text, ...socket].join('\n'), more, replaced });
}

async function vectors({ base, list }) {
  const get = async (path) => {
    const reply = await fetch(`${base}${path}`);
    if (!reply.ok) throw new Error(`${path}: status ${reply.status}`);
    return reply;
  };
  const begin = performance.now();
  let failed = 0;
  for (const name of list) {
    let problem;
    try {
      const vector = await (await get(`${name}.json`)).json();
      const sample = vector.file ? new Uint8Array(await (await get(`samples/${vector.file}`)).arrayBuffer()) : undefined;
      problem = check(traffic, vector, sample);
    } catch (error) {
      problem = String(error);
    }
    failed += problem ? 1 : 0;
    postMessage({ type: 'vector', name, problem });
  }
  postMessage({ type: 'vectors-done', count: list.length, failed, seconds: (performance.now() - begin) / 1000 });
}

const handlers = { file, exchange, vectors };
addEventListener('message', async ({ data }) => {
  try {
    await handlers[data.type](data);
  } catch (error) {
    postMessage({ type: 'fault', id: data.id ?? null, message: String(error?.message ?? error) });
  }
});
postMessage({ type: 'ready' });
