// Inline Markdown to nodes. A citation mark is a private-use pair around its number, put in by `mark`.
import { h, link, webUrl } from './dom.js';

const OPEN = '\uE000';
const CLOSE = '\uE001';
/** A chip stays on the line of what it belongs to. */
const JOINER = '\u2060';
/** What a nested emphasis may hold; deeper is shown as it was written. */
const MAX_DEPTH = 6;
/** Emphasis is looked for in runs up to this many characters: a hostile run costs its square. */
const MAX_RUN = 10_000;

/** The text with a mark at each citation's place; places are code points, strings are UTF-16. */
export function mark(text, citations) {
  const clean = text.replace(/[\uE000\uE001]/g, '\uFFFD');
  if (!citations.length) return clean;
  const ordered = citations
    .map((citation, order) => ({ ...citation, order }))
    .sort((a, b) => a.position - b.position || a.order - b.order);
  let out = '';
  let unit = 0;
  let point = 0;
  let last = null;
  for (const { position, number } of ordered) {
    const from = unit;
    while (point < position && unit < clean.length) {
      unit += clean.codePointAt(unit) > 0xffff ? 2 : 1;
      point += 1;
    }
    out += clean.slice(from, unit);
    // Beyond the end: the text shown was cut short of it.
    if (point < position) break;
    // One source twice at one place is one mark.
    if (unit !== from) last = null;
    const key = `${position}:${number}`;
    if (last !== key) out += OPEN + number + CLOSE;
    last = key;
  }
  return out + clean.slice(unit);
}

/** The marks in a text, and the text without them: for code, where a chip cannot stand. */
export function unmark(text) {
  const numbers = [];
  const bare = text.replace(/\uE000(\d+)\uE001/g, (_, number) => {
    numbers.push(Number(number));
    return '';
  });
  return { bare, numbers };
}

const TOKEN = new RegExp(
  [
    '\\uE000(?<mark>\\d+)\\uE001',
    '\\\\(?<escaped>[\\\\`*_{}\\[\\]()#+\\-.!~|<>])',
    '(?<ticks>`+)(?<code>[^`]|[^`][\\s\\S]*?[^`])\\k<ticks>(?!`)',
    '(?<bang>!?)\\[(?<label>(?:[^\\[\\]\\\\]|\\\\.|\\[[^\\[\\]]*\\])*)\\]\\(\\s*<?(?<href>(?:[^\\s()<>]|\\([^\\s()<>]*\\))*)>?(?:\\s+"[^"]*")?\\s*\\)',
    '<(?<auto>https?://[^\\s<>]+)>',
    '(?<bare>https?://[^\\s<>\\uE000\\uE001]+)',
    '\\*\\*(?<strong>(?=\\S)[\\s\\S]*?\\S)\\*\\*',
    '__(?<strong2>(?=\\S)[\\s\\S]*?\\S)__(?!\\w)',
    '\\*(?<em>(?=[^\\s*])[\\s\\S]*?[^\\s*])\\*(?!\\*)',
    '(?<!\\w)_(?<em2>(?=[^\\s_])[\\s\\S]*?[^\\s_])_(?!\\w)',
    '~~(?<strike>(?=\\S)[\\s\\S]*?\\S)~~',
  ].join('|'),
  'g',
);

/** A bare URL ends before closing punctuation, and before a bracket that it did not open. */
function trimUrl(text) {
  let url = text.replace(/[.,;:!?'"*_]+$/, '');
  while (url.endsWith(')') && url.split(')').length > url.split('(').length) url = url.slice(0, -1).replace(/[.,;:!?]+$/, '');
  return url;
}

function anchor(address, children, context) {
  const number = context.numberOf?.(address);
  return number ? [link(address, ...children), JOINER, context.chip(number)] : [link(address, ...children)];
}

function nodesOf(groups, whole, context, depth) {
  const inner = (text) => inline(text, context, depth + 1);
  if (groups.mark) return [JOINER, context.chip(Number(groups.mark))];
  if (groups.escaped) return [groups.escaped];
  if (groups.code !== undefined) {
    const { bare, numbers } = unmark(groups.code);
    return [h('code', { text: bare.trim() || bare }), ...numbers.map((number) => context.chip(number))];
  }
  if (groups.label !== undefined) {
    // A picture would be a request to elsewhere; its name and address are shown instead.
    const label = groups.bang ? [`image: ${unmark(groups.label).bare || 'untitled'}`] : inner(groups.label);
    return anchor(unmark(groups.href).bare, label, context);
  }
  if (groups.auto) return anchor(groups.auto, [groups.auto], context);
  if (groups.strong ?? groups.strong2) return [h('strong', null, ...inner(groups.strong ?? groups.strong2))];
  if (groups.em ?? groups.em2) return [h('em', null, ...inner(groups.em ?? groups.em2))];
  if (groups.strike) return [h('s', null, ...inner(groups.strike))];
  return [whole];
}

/** Nodes and strings for one run of text. `context.chip(n)` makes a citation chip. */
export function inline(text, context, depth = 0) {
  if (depth > MAX_DEPTH || text.length > MAX_RUN) {
    const { bare, numbers } = unmark(text);
    return [bare, ...numbers.map((number) => context.chip(number))];
  }
  const nodes = [];
  let last = 0;
  const token = new RegExp(TOKEN);
  for (let found = token.exec(text); found; found = token.exec(text)) {
    let whole = found[0];
    if (found.groups.bare) {
      whole = trimUrl(whole);
      token.lastIndex = found.index + whole.length;
    }
    if (found.index > last) nodes.push(text.slice(last, found.index));
    if (found.groups.bare) nodes.push(...(webUrl(whole) ? anchor(whole, [whole], context) : [whole]));
    else nodes.push(...nodesOf(found.groups, whole, context, depth));
    last = found.index + whole.length;
  }
  if (last < text.length) nodes.push(text.slice(last));
  return nodes;
}
