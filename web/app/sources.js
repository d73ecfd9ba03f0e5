// The numbered sources, and what the stream was unsure of.
import { byId, count, h, link, plural, webUrl } from './dom.js';
import { hasMark, jumpToMark, sourceId } from './answer.js';

/** From here on, sources out of sight are not laid out. */
const MANY = 60;

/** The passages of a source, made when they are unfolded: hundreds of sources may have dozens each. */
function passages(snippets) {
  const details = h('details', null, h('summary', { text: plural(snippets.length, 'passage') }));
  details.addEventListener('toggle', () => {
    if (details.open && details.childElementCount === 1) details.append(...snippets.map((snippet) => h('blockquote', { text: snippet })));
  });
  return details;
}

function item(source) {
  const host = webUrl(source.url)?.hostname.replace(/^www\./, '') ?? 'not a web address';
  const uses = source.places ? plural(source.places, 'place') : source.cited ? 'linked' : 'read, not cited';
  const back = hasMark(source.number)
    ? h('button', { type: 'button', class: 'quiet small', onclick: () => jumpToMark(source.number) }, uses, h('span', { class: 'visually-hidden', text: ` that cite source ${source.number}: show the first` }))
    : h('span', { class: 'muted small', text: uses });
  const snippets = source.snippets.length ? passages(source.snippets) : null;
  return h('li', { id: sourceId(source.number), tabindex: '-1', class: source.cited ? null : 'uncited' },
    h('span', { class: 'number', text: String(source.number) }),
    h('div', null, h('span', { class: 'host', text: host }), link(source.url), h('div', { class: 'meta' }, back, snippets)));
}

export function renderSources(view) {
  // What a reader has unfolded stays so while more arrive.
  const open = new Set([...byId('sources').querySelectorAll('details[open]')].map((details) => details.closest('li').id));
  const items = view.sources.map(item);
  for (const entry of items) if (open.has(entry.id)) entry.querySelector('details')?.setAttribute('open', '');
  byId('sources').replaceChildren(...items);
  byId('sources').classList.toggle('many', items.length > MANY);
  byId('source-count').textContent = count(view.sourceCount);
  byId('no-sources').hidden = view.sources.length > 0;
  byId('no-sources').textContent = view.done ? 'None. That is no error: many replies cite nothing.' : 'None yet.';
}

export function renderNotes(view) {
  byId('notes').hidden = !view.blindspots.length && !view.warnings.length;
  byId('blindspots').replaceChildren(...view.blindspots.map((spot) => h('li', { text: spot })));
  const grouped = new Map();
  for (const warning of view.warnings) grouped.set(warning.code, [...(grouped.get(warning.code) ?? []), warning.detail]);
  byId('warnings').replaceChildren(
    ...[...grouped].map(([code, details]) => h('li', null, h('code', { text: code }), details.length > 1 ? ` ×${details.length} ` : ' ', h('span', { class: 'muted', text: details[0] }))),
  );
}
