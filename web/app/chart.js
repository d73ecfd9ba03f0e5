// Tokens and cost as drawings, each with its figures beside it, and the map of the stream.
import { byId, count, dollars, h, s } from './dom.js';
import { COLUMNS } from './model.js';

const WIDTH = 360;

function legend(entries) {
  return h('ul', { class: 'legend' }, ...entries.map(([name, kind, value]) => h('li', null, h('span', { class: `swatch ${kind}`, 'aria-hidden': 'true' }), `${name} `, h('b', { class: 'mono', text: value }))));
}

/** One bar made of parts. */
function segments(parts, label) {
  const whole = parts.reduce((sum, [, , amount]) => sum + amount, 0);
  if (!whole) return null;
  let x = 0;
  const bars = parts.filter(([, , amount]) => amount > 0).map(([, kind, amount]) => {
    const width = Math.max(1.5, (amount / whole) * WIDTH);
    const bar = s('rect', { class: `fill ${kind}`, x: x.toFixed(2), y: 0, width: Math.max(1, width - 1).toFixed(2), height: 16, rx: 3 });
    x += width;
    return bar;
  });
  return s('svg', { viewBox: `0 0 ${Math.max(WIDTH, x)} 16`, class: 'bar', preserveAspectRatio: 'none', role: 'img', 'aria-label': label }, ...bars);
}

function costPart(usage) {
  const cost = usage.cost_usd;
  const parts = [['queries', 'queries', cost.queries ?? 0], ['tokens in', 'tin', cost.tokens_in ?? 0], ['tokens out', 'tout', cost.tokens_out ?? 0], ['requests', 'requests', cost.requests ?? 0]];
  const bar = segments(parts, `Cost: ${parts.map(([name, , amount]) => `${name} ${dollars(amount)}`).join(', ')}`);
  const shown = [['queries', 'queries', cost.queries], ['tokens in', 'tin', cost.tokens_in], ['tokens out', 'tout', cost.tokens_out]];
  return [h('h3', { text: 'Cost' }), bar, legend(shown.map(([name, kind, value]) => [name, kind, dollars(value)]))];
}

function tokensPart(usage) {
  const parts = [['in', 'tin', usage.tokens_in ?? 0], ['out', 'tout', usage.tokens_out ?? 0]];
  return [h('h3', { text: 'Tokens' }), segments(parts, `Tokens: ${count(usage.tokens_in)} in, ${count(usage.tokens_out)} out`), legend([['in', 'tin', count(usage.tokens_in)], ['out', 'tout', count(usage.tokens_out)], ['queries', 'queries', count(usage.queries)]])];
}

/** Tokens by iteration, as columns; the frames count from the start. */
function iterations(frames) {
  const height = 96;
  const top = Math.max(...frames.map((frame) => (frame.tokens_in ?? 0) + (frame.tokens_thinking ?? 0) + (frame.tokens_out ?? 0)), 1);
  const slot = Math.min(72, WIDTH / frames.length);
  const nodes = [s('line', { class: 'axis', x1: 0, x2: WIDTH, y1: height + 0.5, y2: height + 0.5 })];
  frames.forEach((frame, index) => {
    let y = height;
    for (const [kind, amount] of [['tin', frame.tokens_in], ['think', frame.tokens_thinking], ['tout', frame.tokens_out]]) {
      if (!amount) continue;
      const tall = Math.max(2, (amount / top) * (height - 14));
      y -= tall;
      nodes.push(s('rect', { class: `fill ${kind}`, x: index * slot + 4, y: y.toFixed(1), width: Math.max(2, slot - 8), height: tall.toFixed(1), rx: 2 }));
    }
    if (slot > 28) nodes.push(s('text', { class: 'tick', x: index * slot + slot / 2, y: height + 14, 'text-anchor': 'middle' }, `${frame.iteration}`), s('text', { class: 'tick', x: index * slot + slot / 2, y: y - 4, 'text-anchor': 'middle' }, thousands(frame.tokens_in)));
  });
  const rows = frames.map((frame) => h('tr', null, h('th', { scope: 'row', text: String(frame.iteration) }), ...[frame.tokens_in, frame.tokens_thinking, frame.tokens_out].map((value) => h('td', { class: 'num', text: count(value) }))));
  return [
    h('h3', { text: 'Tokens so far, by iteration' }),
    s('svg', { viewBox: `0 0 ${WIDTH} ${height + 18}`, class: 'columns-chart', role: 'img', 'aria-label': `Tokens so far by iteration: ${frames.map((frame) => `${frame.iteration}: ${count(frame.tokens_in)} in, ${count(frame.tokens_out)} out`).join('; ')}` }, ...nodes),
    h('details', null, h('summary', { text: 'As a table' }), h('table', null, h('thead', null, h('tr', null, ...['iteration', 'in', 'thinking', 'out'].map((name) => h('th', { scope: 'col', text: name })))), h('tbody', null, ...rows))),
  ];
}

const thousands = (value) => (value == null ? '' : value < 1000 ? String(value) : `${(value / 1000).toFixed(value < 10_000 ? 1 : 0)}k`);

export function renderChart(view) {
  const frames = view.outcome?.progress ?? view.rounds.map((round) => round.progress).filter(Boolean);
  const { usage } = view;
  const open = byId('chart').querySelector('details')?.open;
  const parts = [
    ...(usage ? [...costPart(usage), ...tokensPart(usage)] : []),
    ...(frames.length ? iterations(frames) : []),
  ];
  const total = usage?.cost_usd.total;
  const estimate = usage?.cost_usd_estimate;
  byId('total').textContent = total != null ? dollars(total) : estimate != null ? `about ${dollars(estimate)}` : '';
  if (!parts.length) parts.push(h('p', { class: 'muted empty', text: view.done ? 'The stream did not say what it cost.' : 'Usage comes last in a stream.' }));
  byId('chart').replaceChildren(...parts.filter(Boolean));
  if (open) byId('chart').querySelector('details')?.setAttribute('open', '');
}

const LANES = ['queries', 'analyzing', 'thinking', 'progress', 'blindspots', 'draft', 'text', 'citation', 'entity', 'answer', 'usage', 'warning'];

/** Where in the stream each kind of event ended: a lane a kind, first byte to last. */
export function renderMap(view) {
  const lanes = LANES.filter((kind) => view.map[kind]);
  const column = 4;
  const row = 12;
  const left = 70;
  const width = left + COLUMNS * column;
  const nodes = lanes.flatMap((kind, index) => {
    const y = index * row;
    const peak = Math.max(...view.map[kind]);
    return [
      s('text', { class: 'lane', x: left - 8, y: y + 9, 'text-anchor': 'end' }, kind),
      s('line', { class: 'axis', x1: left, x2: width, y1: y + 11.5, y2: y + 11.5 }),
      ...view.map[kind].map((amount, at) => (amount ? s('rect', { class: `fill k-${kind}`, x: left + at * column, y: y + 2, width: column - 0.6, height: 9, opacity: (0.45 + 0.55 * (amount / peak)).toFixed(2) }) : null)),
    ];
  });
  const label = `Map of the stream: ${lanes.map((kind) => `${kind} ${view.counts[kind]}`).join(', ')}`;
  byId('map').replaceChildren(...(lanes.length ? [s('svg', { viewBox: `0 0 ${width} ${lanes.length * row + 2}`, role: 'img', 'aria-label': label }, ...nodes)] : []));
}
