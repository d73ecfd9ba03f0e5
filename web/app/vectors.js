// The bundled streams, and the run of all of them in this browser.
import { byId, h, plural } from './dom.js';

export const BASE = new URL('../vectors/', import.meta.url).href;

/** The vectors that show what a stream can hold, with a title for people. */
const EXAMPLES = [
  ['citations', 'An answer with citations'],
  ['research-3', 'A research of three iterations'],
  ['entities', 'An answer that names people and places'],
  ['drafts', 'A research with drafts'],
  ['error-midstream', 'An answer that ends with an error'],
];

/** What is bundled; nothing where the page is served without it. */
export async function bundled() {
  try {
    const reply = await fetch(`${BASE}index.json`);
    return reply.ok ? await reply.json() : [];
  } catch {
    return [];
  }
}

export function fillChoice(list) {
  const names = list.map((entry) => entry.name);
  const examples = EXAMPLES.filter(([name]) => names.includes(name));
  const others = names.filter((name) => !examples.some(([example]) => example === name)).map((name) => [name, name]);
  const group = (label, members) => h('optgroup', { label }, ...members.map(([value, text]) => h('option', { value, text })));
  byId('bundled').append(group('Examples', examples), group('Test vectors', others));
  byId('bundled').disabled = list.length === 0;
}

export class VectorRun {
  constructor(list, start) {
    this.list = list;
    const button = byId('run-vectors');
    button.disabled = list.length === 0;
    button.addEventListener('click', () => {
      button.disabled = true;
      this.done = 0;
      this.failed = 0;
      byId('vectors').replaceChildren();
      byId('vector-status').textContent = 'Running…';
      start({ type: 'vectors', base: BASE, list });
    });
  }

  one({ name, problems, took }) {
    this.done += 1;
    const good = problems.length === 0;
    byId('vectors').append(h('li', { class: good ? 'good' : 'bad', title: good ? `${took.toFixed(1)} ms` : problems.join('\n') },
      h('span', { 'aria-hidden': 'true', text: good ? '✓ ' : '✗ ' }), name, good ? null : h('span', { class: 'problem', text: ` ${problems[0]}` })));
    byId('vector-count').textContent = `${this.done} of ${this.list.length}`;
  }

  all({ count, failed, seconds }) {
    byId('run-vectors').disabled = false;
    const status = byId('vector-status');
    status.dataset.failed = String(failed);
    status.dataset.count = String(count);
    status.textContent = failed ? `${plural(failed, 'vector')} of ${count} failed, in ${seconds.toFixed(2)} s.` : `All ${count} vectors pass, each cut three ways, in ${seconds.toFixed(2)} s.`;
  }
}
