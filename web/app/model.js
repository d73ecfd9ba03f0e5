// What the page shows of a stream, built from its events in the worker. Everything here is capped, so that
// what crosses to the page stays small however long the stream is; the counts stay true.

/** Characters of text shown; the saved outcome has all of it. */
const TEXT_SHOWN = 60_000;
/** Entries of any one list shown. */
const LIST_SHOWN = 400;
/** Marks shown in the text. */
const MARKS_SHOWN = 3_000;
/** Events kept for the list, with their content. */
const EVENTS_KEPT = 20_000;
/** Characters of an event's content in the list. */
const BRIEF = 240;
/** Columns of the map of the stream. */
export const COLUMNS = 160;

const push = (list, value, bound = LIST_SHOWN) => {
  if (list.length < bound) list.push(value);
};

/** At most `bound` characters, not cutting a surrogate pair. */
function cut(text, bound) {
  if (text.length <= bound) return text;
  const unit = text.charCodeAt(bound - 1);
  return text.slice(0, unit >= 0xd800 && unit < 0xdc00 ? bound - 1 : bound);
}

const BRIEFLY = {
  citation: (value) => `[${value.number}] ${value.url}${value.snippet ? `: ${value.snippet}` : ''}`,
  entity: (value) => value.text || value.name,
  queries: (value) => value.join(' · '),
  analyzing: (value) => `${value.query}: ${value.urls ?? '?'} pages, ${value.new_urls ?? '?'} new`,
  thinking: (value) => `${value.query}: ${value.urls_selected.length} of ${value.urls_analyzed ?? '?'} pages kept`,
  progress: (value) => `iteration ${value.iteration}, ${value.elapsed_seconds ?? '?'} s`,
  blindspots: (value) => value.join(' · '),
  usage: (value) => `total ${value.cost_usd.total ?? 'unknown'}, ${value.tokens_in ?? '?'} tokens in, ${value.tokens_out ?? '?'} out`,
  warning: (value) => `${value.code}: ${value.detail}`,
};
const brief = ({ kind, value }) => cut(String((BRIEFLY[kind] ?? String)(value)), BRIEF);

/** One stream as it comes apart. */
export class Model {
  constructor(mode, total) {
    this.total = total;
    this.log = [];
    this.view = {
      mode, bytes: 0, events: 0, counts: {}, map: {}, done: false,
      text: '', textLength: 0, marks: [], sources: [], sourceCount: 0, entities: [], draft: '', answers: 0,
      rounds: [], blindspots: [], warnings: [], usage: null, error: null, outcome: null, seconds: null,
    };
    this.urls = new Map();
  }

  take(batch) {
    for (const event of batch.events) this.#event(event);
    if (batch.error && !this.view.error) this.view.error = batch.error;
  }

  #event(event) {
    const { view } = this;
    view.events += 1;
    view.counts[event.kind] = (view.counts[event.kind] ?? 0) + 1;
    const lane = (view.map[event.kind] ??= new Array(COLUMNS).fill(0));
    lane[Math.min(COLUMNS - 1, Math.floor((event.at / Math.max(1, this.total)) * COLUMNS))] += 1;
    if (this.log.length < EVENTS_KEPT) this.log.push({ index: view.events, at: event.at, kind: event.kind, brief: brief(event) });
    this[`_${event.kind}`]?.(event.value, event.at);
  }

  _text(value) {
    this.#grow(value);
  }
  #grow(value) {
    const { view } = this;
    view.textLength += value.length;
    if (view.text.length < TEXT_SHOWN) view.text = cut(view.text + value, TEXT_SHOWN);
  }
  _draft(value) {
    const { view } = this;
    if (view.draft.length < TEXT_SHOWN) view.draft = cut(view.draft + value, TEXT_SHOWN);
    const round = this.#round();
    round.draft = cut((round.draft ?? '') + value, BRIEF);
  }
  _answer(value, at) {
    const { view } = this;
    view.answers += 1;
    view.text = '';
    view.textLength = 0;
    this.#grow(value);
    push(this.#round().answers, { at, length: value.length, brief: cut(value, BRIEF) });
  }
  _citation(value) {
    push(this.view.marks, { position: value.position, number: value.number }, MARKS_SHOWN);
    let source = this.urls.get(value.url);
    if (!source) {
      this.view.sourceCount += 1;
      source = { number: value.number, url: value.url, snippets: [], places: 0, cited: true };
      this.urls.set(value.url, source);
      push(this.view.sources, source);
    }
    source.places += 1;
    if (value.snippet && !source.snippets.includes(value.snippet)) push(source.snippets, cut(value.snippet, 1_000), 20);
  }
  _entity(value) {
    push(this.view.entities, { name: value.name, href: value.href, text: value.text, instance_of: value.instance_of });
    this.#grow(value.text);
  }
  _queries(value, at) {
    const last = this.view.rounds.at(-1);
    const round = last && !last.progress && !last.thinking.length && !last.analyzing.length && !last.answers.length ? last : this.#round(true);
    for (const query of value) push(round.queries, cut(query, BRIEF));
    round.at ??= at;
  }
  _analyzing(value) {
    push(this.#round().analyzing, value);
  }
  _thinking(value) {
    push(this.#round().thinking, { ...value, kept: value.urls_selected.length, urls_selected: value.urls_selected.slice(0, 60) });
  }
  _progress(value) {
    const known = this.view.rounds.find((round) => round.progress?.iteration === value.iteration);
    const last = this.#round();
    const round = known ?? (last.progress ? this.#round(true) : last);
    round.progress = value;
  }
  _blindspots(value) {
    for (const spot of value) {
      push(this.#round().blindspots, cut(spot, 1_000));
      if (!this.view.blindspots.includes(spot)) push(this.view.blindspots, cut(spot, 1_000));
    }
  }
  _usage(value) {
    this.view.usage = value;
  }
  _warning(value) {
    push(this.view.warnings, { code: value.code, detail: cut(value.detail, BRIEF) });
  }

  #round(fresh = false) {
    const { rounds } = this.view;
    if (!rounds.length || (fresh && rounds.length < LIST_SHOWN)) {
      rounds.push({ at: null, queries: [], analyzing: [], thinking: [], progress: null, blindspots: [], draft: null, answers: [] });
    }
    return rounds.at(-1);
  }

  /** The end: what the outcome says replaces what the events suggested. */
  finish(outcome) {
    const { view } = this;
    view.done = true;
    view.text = cut(outcome.text, TEXT_SHOWN);
    view.textLength = outcome.text.length;
    view.draft = cut(outcome.draft, TEXT_SHOWN);
    view.sourceCount = outcome.sources.length;
    view.sources = outcome.sources.slice(0, LIST_SHOWN).map(({ number, url, snippets, positions, cited }) => ({
      number, url, cited, places: positions.length, snippets: snippets.slice(0, 20).map((snippet) => cut(snippet, 1_000)),
    }));
    view.marks = outcome.sources
      .flatMap(({ number, positions }) => positions.map((position) => ({ position, number })))
      .slice(0, MARKS_SHOWN);
    view.usage = outcome.usage;
    view.blindspots = outcome.blindspots.slice(0, LIST_SHOWN).map((spot) => cut(spot, 1_000));
    view.warnings = outcome.warnings.slice(0, LIST_SHOWN).map(({ code, detail }) => ({ code, detail: cut(detail, BRIEF) }));
    view.outcome = {
      complete: outcome.complete, truncated: outcome.truncated, finish_reason: outcome.finish_reason, model: outcome.model,
      error: outcome.error, progress: outcome.progress.slice(0, LIST_SHOWN), queries: outcome.queries.length, warnings: outcome.warnings.length,
    };
  }

  /** One page of the events of these kinds. */
  page(kinds, from, amount) {
    const wanted = kinds ? this.log.filter((event) => kinds.includes(event.kind)) : this.log;
    return { from, of: wanted.length, kept: this.log.length, rows: wanted.slice(from, from + amount) };
  }
}
