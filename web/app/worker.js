// The parser's side of the page. It runs off the main thread, so that no stream, however long, freezes it.
import { Answers } from '../answers/index.js';
import { check, parseHeaders } from './compare.js';
import { Model } from './model.js';

/** Bytes read from a file at a time; small enough that the worker hears `stop` between two. */
const SLICE = 256 * 1024;
/** Streams up to this size are pushed event by event, so that every offset is the event's own. */
const FINE = 2_000_000;
/** The mode is told by the first bytes alone: research tags come early. */
const SNIFF = 1_000_000;
/** How often the page is told, at most, in milliseconds. */
const PERIOD = 80;
/** A browser tab has room for more than a server's default bounds. */
const LIMITS = { stream_bytes: 512_000_000, text_bytes: 128_000_000 };

const answers = await Answers.open();
// The browser compiles a function when it first runs; done here, no stream waits for it.
for (const mode of ['answer', 'research']) answers.parse(new TextEncoder().encode('data: {"choices":[{"delta":{"content":"<usage>{}</usage>."}}]}\n\n'), { mode });
let current = null;

function show(stream, force = false) {
  const now = performance.now();
  if (!force && now - stream.shown < PERIOD) return;
  stream.shown = now;
  postMessage({ type: 'view', id: stream.id, view: stream.model.view });
}

async function open({ id, total, head, mode, headers }) {
  const known = mode || answers.inferMode(head.subarray(0, SNIFF));
  current = { id, parser: answers.parser({ mode: known, headers, limits: LIMITS }), model: new Model(known, total), shown: 0, stopped: false, busy: 0 };
  show(current, true);
}

function feed(stream, bytes) {
  const start = performance.now();
  stream.model.take(stream.parser.push(bytes));
  stream.model.view.bytes += bytes.length;
  stream.busy += performance.now() - start;
}

/** The end of the server-sent event that is open at `from`, or the end of the bytes. */
function eventEnd(bytes, from) {
  for (let at = from; at < bytes.length; at += 1) {
    if (bytes[at] !== 10 && bytes[at] !== 13) continue;
    let next = at + 1;
    while (next < bytes.length && (bytes[next] === 10 || bytes[next] === 13)) next += 1;
    if (next - at >= 2) return next;
  }
  return bytes.length;
}

function feedFinely(stream, bytes) {
  for (let from = 0; from < bytes.length; ) {
    const end = eventEnd(bytes, from);
    feed(stream, bytes.subarray(from, end));
    from = end;
  }
}

function finish(stream) {
  const start = performance.now();
  const finished = stream.parser.finish();
  stream.busy += performance.now() - start;
  stream.model.take(finished.last);
  stream.model.finish(finished.outcome);
  stream.model.view.seconds = stream.busy / 1000;
  stream.finished = finished;
  show(stream, true);
}

/** A whole file, slice by slice; between two slices other messages are heard. */
async function file({ id, blob, mode, headers }) {
  const head = new Uint8Array(await blob.slice(0, SNIFF).arrayBuffer());
  await open({ id, total: blob.size, head, mode, headers });
  const stream = current;
  for (let from = 0; from < blob.size && !stream.stopped; from += SLICE) {
    const bytes = new Uint8Array(await blob.slice(from, from + SLICE).arrayBuffer());
    if (blob.size <= FINE) feedFinely(stream, bytes);
    else feed(stream, bytes);
    show(stream);
  }
  if (!stream.stopped) finish(stream);
}

const get = async (url) => {
  const reply = await fetch(url);
  if (!reply.ok) throw new Error(`${url}: status ${reply.status}`);
  return reply;
};

async function vector(base, { name, headers }) {
  const [bytes, expected, head] = await Promise.all([
    get(`${base}${name}.sse`).then((reply) => reply.arrayBuffer()),
    get(`${base}${name}.json`).then((reply) => reply.json()),
    headers ? get(`${base}${name}.headers`).then((reply) => reply.text()) : '',
  ]);
  return { bytes: new Uint8Array(bytes), expected, headers: parseHeaders(head) };
}

async function vectors({ base, list }) {
  let spent = 0;
  let failed = 0;
  for (const entry of list) {
    let problems;
    let took = 0;
    try {
      const loaded = await vector(base, entry);
      const start = performance.now();
      ({ problems } = check(answers, loaded));
      took = performance.now() - start;
    } catch (error) {
      problems = [String(error)];
    }
    spent += took;
    failed += problems.length ? 1 : 0;
    postMessage({ type: 'vector', name: entry.name, problems, took });
  }
  postMessage({ type: 'vectors-done', count: list.length, failed, seconds: spent / 1000 });
}

const handlers = {
  open,
  file,
  vectors,
  chunk: ({ id, bytes }) => {
    if (current?.id !== id) return;
    feed(current, bytes);
    show(current);
  },
  flush: ({ id }) => current?.id === id && show(current, true),
  end: ({ id }) => current?.id === id && !current.finished && finish(current),
  stop: () => {
    if (current) current.stopped = true;
  },
  page: ({ id, kinds, from, amount }) => {
    if (current?.id === id) postMessage({ type: 'page', id, ...current.model.page(kinds, from, amount) });
  },
  render: ({ id, format }) => {
    if (current?.id !== id || !current.finished) return;
    const text = format === 'json' ? current.finished.json : current.finished.render(format);
    postMessage({ type: 'rendered', id, format, blob: new Blob([text], { type: format === 'json' ? 'application/json' : 'text/markdown' }) });
  },
};

addEventListener('message', async ({ data }) => {
  try {
    await handlers[data.type](data);
  } catch (error) {
    postMessage({ type: 'fault', id: data.id ?? null, message: String(error?.message ?? error) });
  }
});

postMessage({ type: 'ready' });
