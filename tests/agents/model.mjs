// A model that follows a script, on loopback. It keeps what clients put before it.
import http from 'node:http';

import { PROTOCOLS, answeredAside } from './protocols.mjs';

// A research id is a UUID of version 7.
const RESEARCH_ID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;

export class Model {
  requests = [];
  #turn = { marker: 'no turn has begun', steps: [] };
  #server = http.createServer((req, res) => this.#serve(req, res));
  #count = 0;

  async listen() {
    await new Promise((done) => this.#server.listen(0, '127.0.0.1', done));
    return `http://127.0.0.1:${this.#server.address().port}`;
  }

  close() {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  // Begins a turn. A step is { tool, args } or { text }; `$ID` in args is the research id that a tool, or else
  // a prompt, showed last. What
  // belongs to the turn is known by the marker, which the prompt must hold.
  begin(marker, steps) {
    this.#turn = { marker, steps };
  }

  // The tool results that the last request of a turn shows, in order.
  results(marker) {
    const request = this.requests.findLast((made) => made.since(marker));
    return request ? request.since(marker).flatMap((item) => request.protocol.results(item)) : [];
  }

  #serve(req, res) {
    let text = '';
    req.setEncoding('utf8');
    req.on('data', (part) => (text += part));
    req.on('end', () => {
      if (answeredAside(req, res)) return;
      const protocol = PROTOCOLS.find((known) => known.matches(req.url));
      if (!protocol) {
        res.writeHead(404, { 'content-type': 'application/json' });
        res.end('{"error":{"message":"not found"}}');
        return;
      }
      const body = JSON.parse(text);
      const request = { protocol, body, since: (marker) => since(protocol, body, marker) };
      this.requests.push(request);
      this.#count += 1;
      protocol.reply(res, body, `call_${this.#count}`, this.#plan(request));
    });
  }

  #plan(request) {
    const items = request.since(this.#turn.marker);
    const tools = request.protocol.tools(request.body);
    // Titles, summaries and the like.
    if (!items || !tools.length) return { text: 'Title' };
    const taken = items.reduce((sum, item) => sum + request.protocol.calls(item), 0);
    const step = this.#turn.steps[taken] ?? { text: 'The end.' };
    if (!step.tool) return step;
    const tool = named(tools, step.tool);
    if (!tool) return { text: `There is no tool ${step.tool}.` };
    const args = JSON.stringify(step.args ?? {}).replaceAll('$ID', lastId(request));
    return { tool, args: JSON.parse(args) };
  }
}

// The items after the last one that holds the marker; nothing where none does.
function since(protocol, body, marker) {
  const items = protocol.items(body);
  const at = items.findLastIndex((item) => JSON.stringify(item).includes(marker));
  return at < 0 ? null : items.slice(at + 1);
}

// The tool of that name, with whatever a client put before it.
function named(tools, name) {
  const shortest = (names) => names.sort((one, other) => one.length - other.length)[0];
  return (
    tools.find((tool) => tool === name) ??
    shortest(tools.filter((tool) => tool.includes('glovebox') && tool.endsWith(name))) ??
    shortest(tools.filter((tool) => tool.endsWith(name)))
  );
}

function lastId({ protocol, body }) {
  const items = protocol.items(body);
  const shown = items.flatMap((item) => protocol.results(item)).flatMap(({ text }) => text.match(RESEARCH_ID) ?? []);
  // What the person wrote, where no tool has shown one.
  return shown.at(-1) ?? JSON.stringify(items).match(RESEARCH_ID)?.at(-1) ?? 'none';
}
