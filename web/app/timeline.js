// Research, iteration by iteration: queries, the pages they brought, drafts, and the answer.
import { byId, count, h, link, plural, webUrl } from './dom.js';
import { jumpTo } from './answer.js';

const clock = (seconds) => (seconds === null || seconds === undefined ? null : seconds < 60 ? `${seconds.toFixed(1)} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`);

/** One query with what became of it. */
function queryNode(query, round) {
  const analyzing = round.analyzing.find((entry) => entry.query === query);
  const thinking = round.thinking.find((entry) => entry.query === query);
  const facts = [];
  if (analyzing?.urls != null) facts.push(plural(analyzing.urls, 'page') + (analyzing.new_urls != null && analyzing.new_urls !== analyzing.urls ? `, ${count(analyzing.new_urls)} new` : ''));
  if (thinking) facts.push(`${plural(thinking.kept, 'page')} kept`);
  if (thinking?.chunks_selected != null) facts.push(`${count(thinking.chunks_selected)} of ${count(thinking.chunks_analyzed)} passages`);
  return h('li', { class: thinking ? 'read' : analyzing ? 'reading' : 'asked' },
    h('span', { class: 'query', text: query }),
    h('span', { class: 'facts', text: facts.join(' · ') || (analyzing ? 'reading' : 'asked') }),
    thinking?.urls_selected.length ? pages(thinking) : null);
}

function pages(thinking) {
  return h('details', null,
    h('summary', { text: `${plural(thinking.kept, 'page')} kept` }),
    h('ul', { class: 'pages' }, ...thinking.urls_selected.map((url) => h('li', null, link(url, h('b', { text: webUrl(url)?.hostname ?? '' }), webUrl(url) ? webUrl(url).pathname : url)))));
}

function roundNode(round, index, of) {
  const { progress } = round;
  const facts = progress
    ? [clock(progress.elapsed_seconds), progress.queries != null ? plural(progress.queries, 'query', 'queries') : null, progress.urls_analyzed != null ? plural(progress.urls_analyzed, 'page') : null, progress.snippets_analyzed != null ? plural(progress.snippets_analyzed, 'passage') : null].filter(Boolean)
    : [];
  const known = new Set(round.queries);
  const queries = [...round.queries, ...[...round.analyzing, ...round.thinking].map((entry) => entry.query).filter((query) => !known.has(query) && known.add(query))];
  const title = progress ? `Iteration ${progress.iteration}` : queries.length ? `Iteration ${index + 1}` : index === of - 1 && round.answers.length ? 'Writing' : 'Between iterations';
  return h('li', { class: `round ${progress ? 'closed' : 'open'}` },
    h('div', { class: 'when' }, h('h3', { text: title }), h('p', { class: 'muted small', text: facts.join(' · ') })),
    h('div', { class: 'what' },
      queries.length ? h('ul', { class: 'asked-list' }, ...queries.map((query) => queryNode(query, round))) : null,
      ...round.blindspots.map((spot) => h('p', { class: 'spot' }, h('b', { text: 'Blindspot ' }), spot)),
      round.draft ? h('p', { class: 'draft' }, h('b', { text: 'Draft ' }), `${round.draft}${round.draft.length >= 240 ? '…' : ''}`) : null,
      ...round.answers.map((answer, order) => h('p', { class: 'wrote' },
        h('a', { href: '#answer-title', text: order < round.answers.length - 1 ? 'A first answer' : 'Answer', onclick: (event) => { event.preventDefault(); jumpTo('answer-title'); } }),
        ` ${plural(answer.length, 'character')}, closed at byte ${count(answer.at)}`))));
}

export function renderTimeline(view) {
  const list = byId('timeline');
  const open = new Set([...list.querySelectorAll('details[open] > summary')].map((node) => node.parentElement.previousSibling?.parentElement?.firstChild?.textContent));
  list.replaceChildren(...view.rounds.map((round, index) => roundNode(round, index, view.rounds.length)));
  for (const node of list.querySelectorAll('.asked-list > li')) {
    if (open.has(node.firstChild.textContent)) node.querySelector('details')?.setAttribute('open', '');
  }
  byId('no-timeline').hidden = view.rounds.length > 0;
}
