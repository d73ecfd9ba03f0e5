// The answer with its citation chips, the entities, the draft and what became of the stream.
import { byId, count, h, link, plural } from './dom.js';
import { mark } from './inline.js';
import { markdown } from './markdown.js';

const chipId = (number) => `mark-${number}`;
export const sourceId = (number) => `source-${number}`;

/** Moves to a source or a mark and lights it up for a moment. */
export function jumpTo(id) {
  const target = byId(id);
  if (!target) return;
  const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
  target.scrollIntoView({ block: 'center', behavior: still ? 'auto' : 'smooth' });
  target.focus({ preventScroll: true });
  target.classList.remove('lit');
  requestAnimationFrame(() => target.classList.add('lit'));
}

function chipMaker(view) {
  const seen = new Set();
  const urls = new Map(view.sources.map((source) => [source.number, source.url]));
  return (number) => {
    const first = !seen.has(number);
    seen.add(number);
    return h('a', {
      class: 'chip', href: `#${sourceId(number)}`, id: first ? chipId(number) : null, title: urls.get(number) ?? null,
      'aria-label': `Source ${number}`, text: String(number),
      onclick: (event) => {
        event.preventDefault();
        jumpTo(sourceId(number));
      },
    });
  };
}

/** Whether the first mark of a source is in the answer. */
export const hasMark = (number) => byId(chipId(number)) !== null;
export const jumpToMark = (number) => jumpTo(chipId(number));

function badges(view) {
  const { outcome, error } = view;
  const list = [];
  const badge = (kind, text, title) => list.push(h('span', { class: `badge ${kind}`, title: title ?? null, text }));
  badge('plain', view.mode);
  if (outcome?.model) badge('plain', outcome.model);
  const failed = outcome?.error ?? error;
  if (failed) badge('bad', failed.kind, failed.message);
  if (outcome?.truncated) badge('warn', 'truncated', 'The upstream stopped for length');
  if (outcome) badge(outcome.complete ? 'good' : 'warn', outcome.complete ? 'complete' : 'incomplete');
  else if (!failed) badge('live', 'reading');
  return list;
}

function bodyOf(view) {
  if (!view.text) {
    const failed = view.outcome?.error ?? view.error;
    if (failed) return [h('p', { class: 'failed' }, h('strong', { text: `${failed.kind}. ` }), failed.message)];
    const text = view.done ? 'This stream brought no answer.' : view.mode === 'research' ? 'Researching; the answer comes at the end.' : 'Nothing written yet.';
    return [h('p', { class: 'muted empty', text })];
  }
  const numbers = new Map(view.sources.map((source) => [source.url, source.number]));
  // In research the links of the text are the citations; in an answer they are marks of their own.
  const numberOf = view.mode === 'research' ? (address) => numbers.get(address) : null;
  const nodes = markdown(mark(view.text, view.marks), { chip: chipMaker(view), numberOf });
  if (view.textLength > view.text.length) {
    nodes.push(h('p', { class: 'muted cut', text: `The first ${count(view.text.length)} of ${count(view.textLength)} characters are shown; the saved outcome has them all.` }));
  }
  const failed = view.outcome?.error ?? view.error;
  if (failed) nodes.push(h('p', { class: 'failed' }, h('strong', { text: `${failed.kind}. ` }), failed.message));
  return nodes;
}

export function renderAnswer(view) {
  byId('badges').replaceChildren(...badges(view));
  const body = byId('answer');
  body.classList.toggle('writing', !view.done && view.text !== '');
  body.replaceChildren(...bodyOf(view));
  const entities = byId('entities');
  entities.hidden = view.entities.length === 0;
  entities.replaceChildren(
    h('span', { class: 'muted small', text: `${plural(view.entities.length, 'thing')} named: ` }),
    ...view.entities.slice(0, 60).map((entity) => h('span', { class: 'entity', title: entity.instance_of ?? null }, entity.href ? link(entity.href, entity.name) : entity.name)),
  );
  byId('draft').hidden = !view.draft;
  byId('draft-body').replaceChildren(...markdown(view.draft, { chip: () => '' }));
  byId('answer-actions').hidden = !view.done;
}
