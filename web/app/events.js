// The raw event list, a page at a time, and the bytes that each event came from.
import { byId, count, h, plural } from './dom.js';

const ROWS = 100;
/** Bytes shown of one server-sent event. */
const RAW_SHOWN = 4_096;

export class EventList {
  constructor(ask) {
    this.ask = ask;
    this.reset(null);
    byId('earlier').addEventListener('click', () => this.#turn(-ROWS));
    byId('later').addEventListener('click', () => this.#turn(ROWS));
    byId('raw-close').addEventListener('click', () => byId('raw').close());
  }

  reset(blob) {
    this.blob = blob;
    this.from = 0;
    this.hidden = new Set();
    this.kinds = [];
    this.total = -1;
    byId('filter').replaceChildren(h('legend', { class: 'visually-hidden', text: 'Show events of kind' }));
    byId('events').replaceChildren();
    byId('page').textContent = '';
  }

  /** Asks for the page again when there is more. */
  refresh(view) {
    byId('event-count').textContent = plural(view.events, 'event');
    if (view.events === this.total && !view.done) return;
    this.total = view.events;
    this.#filters(view.counts);
    this.#request();
  }

  #filters(counts) {
    const kinds = Object.keys(counts);
    for (const kind of kinds.filter((name) => !this.kinds.includes(name))) {
      const box = h('input', { type: 'checkbox', checked: true, value: kind, onchange: (event) => {
        if (event.target.checked) this.hidden.delete(kind);
        else this.hidden.add(kind);
        this.from = 0;
        this.#request();
      } });
      byId('filter').append(h('label', { class: `kind k-${kind}` }, box, `${kind} `, h('span', { class: 'mono', id: `count-${kind}` })));
    }
    this.kinds = kinds;
    for (const kind of kinds) byId(`count-${kind}`).textContent = count(counts[kind]);
  }

  #request() {
    const kinds = this.hidden.size ? this.kinds.filter((kind) => !this.hidden.has(kind)) : null;
    this.ask({ type: 'page', kinds, from: this.from, amount: ROWS });
  }

  #turn(by) {
    this.from = Math.max(0, this.from + by);
    this.#request();
  }

  show({ from, of, kept, rows }) {
    this.from = from;
    byId('events').replaceChildren(...rows.map((event) => h('tr', null,
      h('td', { class: 'num mono', text: count(event.index) }),
      h('td', { class: 'num mono', text: count(event.at) }),
      h('td', null, h('span', { class: `kind k-${event.kind}`, text: event.kind })),
      h('td', { class: 'content', text: event.brief }),
      h('td', null, h('button', { type: 'button', class: 'quiet small', 'aria-label': `Raw bytes of event ${event.index}`, text: 'bytes', onclick: () => this.#raw(event) })))));
    const more = kept < this.total ? ` (the first ${count(kept)} are kept)` : '';
    byId('page').textContent = of ? `${count(from + 1)}–${count(from + rows.length)} of ${count(of)}${more}` : '';
    byId('earlier').disabled = from === 0;
    byId('later').disabled = from + rows.length >= of;
  }

  /** The server-sent event that ended at this event's offset. */
  async #raw(event) {
    const start = Math.max(0, event.at - RAW_SHOWN);
    const text = await this.blob.slice(start, event.at).text();
    // The offset is past the blank line, or past the last byte where the stream ends without one.
    const body = text.replace(/[\r\n]+$/, '');
    const cut = Math.max(body.lastIndexOf('\n\n'), body.lastIndexOf('\r\n\r\n'), body.lastIndexOf('\r\r'));
    byId('raw-title').textContent = `${event.kind}, ending at byte ${count(event.at)}`;
    byId('raw-bytes').textContent = cut >= 0 ? body.slice(cut).replace(/^[\r\n]+/, '') : (start > 0 ? '…' : '') + body;
    byId('raw').showModal();
  }
}
