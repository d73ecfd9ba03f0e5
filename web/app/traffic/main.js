// The page of captured traffic: hands a file to the worker, and shows what comes out.
import { byId, h, plural, size } from '../dom.js';
import { startTheme } from '../theme.js';

/** Rows on one page of the list. */
const PAGE = 200;
const BASE = new URL('../../vectors/traffic/', import.meta.url).href;
/** Placeholders as the redactor writes them. */
const PLACEHOLDER = /\{\{secret:[a-z0-9-]+:[0-9a-f]{20}\}\}/g;

startTheme();
// The one script that the page starts by its URL.
const policy = globalThis.trustedTypes?.createPolicy('glovebox', { createScriptURL: (url) => url });
const workerUrl = new URL('./worker.js', import.meta.url).href;
const worker = new Worker(policy ? policy.createScriptURL(workerUrl) : workerUrl, { type: 'module' });
const state = { id: 0, blob: null, name: '', rows: [], items: 0, from: 0, chosen: null };

const mode = () => byId('redaction').value;
const say = (text, bad = false) => {
  byId('status').textContent = text;
  byId('status').classList.toggle('bad', bad);
};

/** Text with its placeholders marked. */
function marked(text) {
  const parts = [];
  let last = 0;
  for (const found of text.matchAll(PLACEHOLDER)) {
    parts.push(text.slice(last, found.index), h('mark', { text: found[0] }));
    last = found.index + found[0].length;
  }
  return [...parts, text.slice(last)];
}

function open(blob, name) {
  Object.assign(state, { id: state.id + 1, blob, name, rows: [], items: 0, from: 0, chosen: null });
  for (const id of ['exchanges', 'findings', 'redacted', 'report', 'exchange-redacted', 'exchange']) byId(id).replaceChildren();
  byId('exchange').hidden = true;
  byId('no-exchange').hidden = false;
  say('Reading…');
  worker.postMessage({ type: 'file', id: state.id, blob, mode: mode() });
}

function choose(index) {
  state.chosen = index;
  renderRows();
  worker.postMessage({ type: 'exchange', id: state.id, blob: state.blob, mode: mode(), index });
}

function rowOf(row) {
  if (row.skipped) return h('tr', {}, h('td', { class: 'num mono', text: String(row.index) }), h('td', { text: '–' }), h('td', {}), h('td', {}), h('td', {}), h('td', { class: 'muted', text: `skipped: ${row.skipped}` }));
  const notes = [row.error, row.messages ? plural(row.messages, 'WebSocket message') : null].filter(Boolean).join(', ');
  return h('tr', { class: row.index === state.chosen ? 'chosen' : null },
    h('td', { class: 'num mono', text: String(row.index) }),
    h('td', { class: 'mono', text: row.method }),
    h('td', { class: 'mono', text: row.status === null ? '–' : String(row.status) }),
    h('td', { text: row.type }),
    h('td', { class: 'num mono', text: row.size ? size(row.size) : '–' }),
    h('td', {}, h('button', { type: 'button', onclick: () => choose(row.index) }, ...marked(row.url)), notes ? h('span', { class: 'muted small', text: ` ${notes}` }) : null));
}

function renderRows() {
  const shown = state.rows.slice(state.from, state.from + PAGE);
  byId('exchanges').replaceChildren(...shown.map(rowOf));
  byId('exchange-count').textContent = String(state.items);
  byId('page').textContent = state.items ? `${state.from}–${state.from + shown.length - 1} of ${state.items}` : '';
  byId('earlier').disabled = state.from === 0;
  byId('later').disabled = state.from + PAGE >= state.rows.length;
}

const placeOf = ({ kind, carrier, name }) => [carrier, name && name !== kind ? name : null].filter(Boolean).join(' ');

function view({ bytes, total, rows, items, findings, replaced, values }) {
  const grew = state.rows.length < state.from + PAGE && rows.length > 0;
  for (const row of rows) state.rows.push(row);
  state.items = items;
  if (grew) renderRows();
  else byId('exchange-count').textContent = String(items);
  byId('progress').value = total ? bytes / total : 1;
  byId('bytes').textContent = `${state.name} · ${size(bytes)} of ${size(total)}`;
  byId('finding-count').textContent = String(findings.length);
  const rank = ['high', 'medium', 'low', 'info'];
  findings.sort((one, other) => rank.indexOf(one.severity) - rank.indexOf(other.severity));
  byId('findings').replaceChildren(...findings.map((one) => h('li', {},
    h('span', { class: `severity ${one.severity}`, text: one.severity }), `${one.title}: `, ...marked(one.evidence), ' ',
    h('code', {}, ...marked(`${one.code} ${one.origin}, exchange ${one.exchange}${one.count > 1 ? `, ${one.count} times` : ''}`)))));
  byId('redacted-count').textContent = String(values);
  byId('redacted').replaceChildren(...replaced.map((one) => h('li', {}, `${one.count} × `, h('mark', { text: one.kind }), ` ${placeOf(one)}`)));
}

function done(data) {
  view(data);
  renderRows();
  const { report } = data;
  const line = (what, tally) => h('li', {}, `${what}: ${tally.detail} `, h('code', { text: `${tally.code}, ${plural(tally.count, 'item')}, the first is ${tally.first}` }));
  byId('report').replaceChildren(
    h('li', { text: `${plural(report.taken, 'exchange')}${report.writer ? ` from ${report.writer}` : ''}, ${report.skipped} skipped.` }),
    ...report.skips.map((tally) => line('skipped', tally)), ...report.warnings.map((tally) => line('warning', tally)));
  if (report.error) say(`Stopped: ${report.error}`, true);
  else if (report.complete) say(`Complete: ${plural(report.taken, 'exchange')}, ${report.skipped} skipped. Nothing was sent anywhere.`);
  else say(`The file ends before its proper end: ${plural(report.taken, 'exchange')} were read.`, true);
}

function exchange({ index, text, more, replaced }) {
  if (index !== state.chosen) return;
  byId('no-exchange').hidden = true;
  byId('exchange').hidden = false;
  byId('exchange').replaceChildren(...marked(text), more ? '\n… cut here; `glovebox traffic inspect --exchange` shows all of it' : '');
  byId('exchange-redacted').replaceChildren(...replaced.map((one) => h('li', {}, `${one.part}: `, h('mark', { text: one.placeholder }), ` ${placeOf(one)}`)));
  byId('exchange-title').focus();
}

/** The run of all vectors in this browser. */
async function startVectors() {
  const button = byId('run-vectors');
  const reply = await fetch(`${BASE}index.json`).catch(() => null);
  const list = reply?.ok ? await reply.json() : [];
  button.disabled = list.length === 0;
  button.addEventListener('click', () => {
    button.disabled = true;
    byId('vectors').replaceChildren();
    worker.postMessage({ type: 'vectors', base: BASE, list });
  });
}

const handlers = {
  view,
  done,
  exchange,
  ready: () => {
    say('Ready.');
    document.documentElement.dataset.ready = 'yes';
  },
  fault: ({ message }) => say(message, true),
  vector: ({ name, problem }) => byId('vectors').append(h('li', { class: problem ? 'bad' : 'good', title: problem }, problem ? `✗ ${name}` : `✓ ${name}`)),
  'vectors-done': ({ count, failed, seconds }) => {
    byId('run-vectors').disabled = false;
    Object.assign(byId('vector-status').dataset, { count, failed });
    byId('vector-status').textContent = failed ? `${plural(failed, 'vector')} of ${count} failed.` : `All ${count} vectors pass, in ${seconds.toFixed(2)} s.`;
  },
};

worker.addEventListener('message', ({ data }) => {
  if (data.id === undefined || data.id === null || data.id === state.id) handlers[data.type](data);
});
worker.addEventListener('error', (event) => say(`The component could not be started: ${event.message}`, true));

byId('file').addEventListener('change', ({ target }) => {
  const [chosen] = target.files;
  if (chosen) open(chosen, chosen.name);
  target.value = '';
});
byId('redaction').addEventListener('change', () => state.blob && open(state.blob, state.name));
byId('earlier').addEventListener('click', () => {
  state.from = Math.max(0, state.from - PAGE);
  renderRows();
});
byId('later').addEventListener('click', () => {
  state.from += PAGE;
  renderRows();
});
const drop = byId('drop');
for (const kind of ['dragenter', 'dragover']) {
  addEventListener(kind, (event) => {
    event.preventDefault();
    drop.classList.add('over');
  });
}
addEventListener('dragleave', ({ relatedTarget }) => relatedTarget ?? drop.classList.remove('over'));
addEventListener('drop', (event) => {
  event.preventDefault();
  drop.classList.remove('over');
  const [dropped] = event.dataTransfer.files;
  if (dropped) open(dropped, dropped.name);
});
await startVectors();
