// The page: puts a stream in, hands it to the worker, and shows what comes out.
import { renderAnswer } from './answer.js';
import { renderChart, renderMap } from './chart.js';
import { byId, dollars, plural, size } from './dom.js';
import { EventList } from './events.js';
import { Player } from './player.js';
import { renderNotes, renderSources } from './sources.js';
import { startTheme } from './theme.js';
import { renderTimeline } from './timeline.js';
import { BASE, bundled, fillChoice, VectorRun } from './vectors.js';

/** Streams up to this size can be played; larger ones are read straight from the file. */
const PLAYABLE = 2_000_000;
/** Up to so many sources, each new place is shown as it comes. */
const MANY = 60;
/** The page rests this many times as long as its last drawing took. */
const REST = 6;

const policy = globalThis.trustedTypes?.createPolicy('glovebox', { createScriptURL: (url) => url });
const workerUrl = new URL('./worker.js', import.meta.url).href;
const worker = new Worker(policy ? policy.createScriptURL(workerUrl) : workerUrl, { type: 'module' });

let stream = { id: 0, name: '', blob: null, player: null, headers: [] };
let latest = null;
let drawn = null;
const drawnParts = new Map();
let waiting = false;
let restUntil = 0;
let vectorRun = null;

/** Shows the state of the page; `kind` is `bad` for a failure, `warn` for what is incomplete. */
const say = (text, kind = '') => {
  byId('status').textContent = text;
  byId('status').className = `status ${kind}`;
};
const send = (message, transfer = []) => worker.postMessage({ id: stream.id, ...message }, transfer);
const events = new EventList((message) => send(message));
const readAs = () => byId('mode').value || null;
const speed = () => Number(byId('speed').value);

const player = new Player({
  push: (bytes) => send({ type: 'chunk', bytes }, [bytes.buffer]),
  end: () => send({ type: 'end' }),
  state: () => buttons(),
});

function buttons() {
  const loaded = stream.player !== null;
  byId('play').disabled = !loaded;
  byId('play').textContent = player.playing ? 'Pause' : loaded && player.over ? 'Play again' : 'Play';
  byId('all').disabled = !loaded || player.over;
}

/** Draws a part only where what it shows has changed. */
function part(name, key, render, view) {
  if (drawnParts.get(name) === key) return;
  drawnParts.set(name, key);
  render(view);
}

/** How much of these kinds came so far. */
const amount = (view, ...kinds) => kinds.map((kind) => view.counts[kind] ?? 0).join();

function drawParts(view) {
  const places = view.sources.length < MANY ? view.marks.length : 0;
  part('answer', [view.text.length, view.answers, view.draft.length, view.marks.length, view.sources.length, view.entities.length, view.error, view.done].join(), renderAnswer, view);
  part('sources', [view.sources.length, places, view.done].join(), renderSources, view);
  part('notes', [view.blindspots.length, view.warnings.length].join(), renderNotes, view);
  part('timeline', [amount(view, 'queries', 'analyzing', 'thinking', 'progress', 'blindspots', 'draft', 'answer'), view.done].join(), renderTimeline, view);
  part('chart', [amount(view, 'usage', 'progress'), view.done].join(), renderChart, view);
  renderMap(view);
}

/** Draws at most once a frame, and seldom where drawing is slow. */
function draw() {
  waiting = false;
  if (!latest || latest === drawn) return;
  const now = performance.now();
  if (now < restUntil && !latest.done) return later();
  drawn = latest;
  drawParts(latest);
  events.refresh(latest);
  restUntil = performance.now() + (performance.now() - now) * REST;
  byId('progress').max = Math.max(1, stream.blob?.size ?? 1);
  byId('progress').value = latest.bytes;
  byId('bytes').textContent = `${stream.name} · ${size(latest.bytes)} of ${size(stream.blob?.size ?? 0)}`;
  panels(latest);
  if (latest.done) finished(latest);
}

function later() {
  if (waiting) return;
  waiting = true;
  setTimeout(() => requestAnimationFrame(draw), Math.max(0, restUntil - performance.now()));
}

function summary(view) {
  const { outcome, usage } = view;
  const state = outcome.error ? `Failed: ${outcome.error.message}` : outcome.complete ? 'Complete.' : 'Incomplete.';
  const cost = usage?.cost_usd.total != null ? ` Cost ${dollars(usage.cost_usd.total)}.` : '';
  const took = view.seconds >= 0.001 ? ` Parsed in ${(view.seconds * 1000).toFixed(view.seconds < 0.1 ? 1 : 0)} ms` : ' Parsed in under a millisecond';
  const rate = view.bytes > 100_000 ? `, ${Math.round(view.bytes / 1e6 / view.seconds)} MB a second` : '';
  return `${state} ${plural(view.events, 'event')}, ${plural(view.sourceCount, 'source')}, ${plural(outcome.warnings, 'warning')}.${cost}${took}${rate}.`;
}

/** Hides the panels that have nothing to show in this mode. */
function panels(view) {
  const some = (...kinds) => kinds.some((kind) => view.counts[kind]);
  const waiting = !view.done;
  byId('timeline-panel').hidden = view.mode !== 'research' || (view.done && view.rounds.length === 0);
  byId('sources-panel').hidden = view.sourceCount === 0 && !(waiting && view.mode === 'answer');
  byId('cost-panel').hidden = !waiting && !view.usage && !some('progress');
  byId('events-panel').hidden = view.events === 0;
  byId('columns').hidden = isForeign(view);
}

/** Whether a file that was read is no captured stream. */
const isForeign = (view) => (view.outcome?.error ?? view.error)?.kind === 'not-a-reply';

function finished(view) {
  if (isForeign(view)) return say(`${stream.name} is not a captured Brave Answers stream. Captured streams are .sse files; \`glovebox jobs status ID\` shows where one is kept.`, 'bad');
  const failed = view.outcome.error !== null && view.outcome.error !== undefined;
  return say(summary(view), failed ? 'bad' : view.outcome.complete ? '' : 'warn');
}

/** Folds the drop box, and shows what belongs to a stream. */
function unfold(blob) {
  byId('intake').classList.add('loaded');
  byId('lead').textContent = 'Drop or paste another stream';
  byId('columns').hidden = false;
  byId('note').hidden = blob.size <= PLAYABLE;
  byId('note').textContent = `Streams of more than ${size(PLAYABLE)} are read at once: they cannot be played, and the page shows their beginning. The saved outcome has everything.`;
}

function begin(name, blob, headers) {
  player.pause();
  worker.postMessage({ type: 'stop' });
  stream = { id: stream.id + 1, name, blob, player: null, headers };
  latest = null;
  drawn = null;
  drawnParts.clear();
  events.reset(blob);
}

/** Reads it all at once. */
function readWhole() {
  send({ type: 'file', blob: stream.blob, mode: readAs(), headers: stream.headers });
}

async function put(name, blob, { headers = [], play = false } = {}) {
  begin(name, blob, headers);
  const { id } = stream;
  if (blob.size === 0) {
    byId('bytes').textContent = `${name} · 0 bytes`;
    buttons();
    return say(`${name} is empty: it holds no stream.`, 'bad');
  }
  unfold(blob);
  say(`Reading ${name}, ${size(blob.size)}…`);
  if (blob.size <= PLAYABLE) {
    const bytes = new Uint8Array(await blob.arrayBuffer());
    if (stream.id !== id) return;
    stream.player = bytes;
    player.load(bytes);
  }
  if (stream.player && play && speed() > 0) start();
  else readWhole();
  if (stream.player && !player.playing) player.next = player.steps.length;
  buttons();
}

function start() {
  if (player.over || player.next === 0) {
    const { name, blob, headers, player: bytes } = stream;
    begin(name, blob, headers);
    stream.player = bytes;
    player.load(bytes);
    send({ type: 'open', total: bytes.length, head: bytes, mode: readAs(), headers });
  }
  say(`Playing ${stream.name}…`);
  if (speed() === 0) player.rest();
  else player.play(speed());
  buttons();
}

const fieldsOf = (head) => head.split(/\r?\n/).filter((line) => line.includes(':')).map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]);

async function putBundled(list, name) {
  const entry = list.find((candidate) => candidate.name === name);
  if (!entry) return;
  const [blob, head] = await Promise.all([
    fetch(`${BASE}${name}.sse`).then((reply) => reply.blob()),
    entry.headers ? fetch(`${BASE}${name}.headers`).then((reply) => reply.text()) : '',
  ]);
  await put(name, blob, { headers: fieldsOf(head), play: true });
}

/** Opens the stream of the job that the server was started with, if the address names it. */
async function putJob() {
  const name = new URLSearchParams(location.search).get('job');
  if (!name) return;
  const [body, head] = await Promise.all([fetch(`job/${encodeURIComponent(name)}`), fetch('job/headers')]);
  if (!body.ok || !head.ok) return say(`The stream ${name} is not served here: start \`glovebox web JOB_ID\` again.`, 'bad');
  await put(name, await body.blob(), { headers: fieldsOf(await head.text()) });
}

function save(name, blob) {
  const url = URL.createObjectURL(blob);
  const anchor = Object.assign(document.createElement('a'), { href: url, download: name });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

async function rendered({ format, blob }) {
  if (format === 'json') return save(`${stream.name.replace(/\.[^.]*$/, '') || 'outcome'}.json`, blob);
  try {
    await navigator.clipboard.writeText(await blob.text());
    say('Copied as Markdown.');
  } catch {
    say('The browser did not allow copying.');
  }
}

const heard = {
  ready: async () => {
    say('Ready. Drop a captured stream, paste one, or open an example.');
    const list = await bundled();
    fillChoice(list);
    vectorRun = new VectorRun(list, (message) => worker.postMessage(message));
    byId('bundled').addEventListener('change', (event) => putBundled(list, event.target.value));
    document.documentElement.dataset.ready = 'yes';
    await putJob();
  },
  view: (message) => {
    if (message.id !== stream.id) return;
    latest = message.view;
    later();
  },
  page: (message) => message.id === stream.id && events.show(message),
  rendered: (message) => message.id === stream.id && rendered(message),
  vector: (message) => vectorRun.one(message),
  'vectors-done': (message) => vectorRun.all(message),
  fault: (message) => say(`The component stopped: ${message.message}. Open the stream again; other streams are not affected.`, 'bad'),
};

worker.addEventListener('message', ({ data }) => heard[data.type](data));
worker.addEventListener('error', () => say('The component could not be started: this browser lacks WebAssembly or module workers, or files of this page are missing.', 'bad'));

byId('play').addEventListener('click', () => {
  if (player.playing) {
    player.pause();
    buttons();
  } else start();
});
byId('all').addEventListener('click', () => player.rest());
byId('speed').addEventListener('change', () => {
  if (!player.playing) return;
  if (speed() === 0) player.rest();
  else player.play(speed());
});
byId('mode').addEventListener('change', () => {
  if (stream.blob) put(stream.name, stream.blob, { headers: stream.headers });
});
byId('file').addEventListener('change', (event) => {
  const [file] = event.target.files;
  if (file) put(file.name, file);
  event.target.value = '';
});
byId('copy').addEventListener('click', () => send({ type: 'render', format: 'markdown' }));
byId('save').addEventListener('click', () => send({ type: 'render', format: 'json' }));

let depth = 0;
const veil = (on) => {
  byId('veil').classList.toggle('on', on);
  byId('drop').classList.toggle('over', on);
};
addEventListener('dragenter', (event) => {
  event.preventDefault();
  depth += 1;
  veil(true);
});
addEventListener('dragleave', () => {
  depth = Math.max(0, depth - 1);
  if (depth === 0) veil(false);
});
addEventListener('dragover', (event) => event.preventDefault());
addEventListener('drop', (event) => {
  event.preventDefault();
  depth = 0;
  veil(false);
  const [file] = event.dataTransfer.files;
  const text = event.dataTransfer.getData('text/plain');
  if (file) put(file.name, file);
  else if (text) put('dropped text', new Blob([text]));
});
addEventListener('paste', (event) => {
  const [file] = event.clipboardData.files;
  const text = event.clipboardData.getData('text/plain');
  if (file) put(file.name, file);
  else if (text) put('pasted text', new Blob([text]));
});

startTheme();
