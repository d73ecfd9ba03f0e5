// Block Markdown to nodes: headings, paragraphs, lists, quotes, code, rules and tables. HTML in it is text.
import { h } from './dom.js';
import { inline, unmark } from './inline.js';

/** Nesting of lists and quotes that is followed; deeper is shown as text. */
const MAX_DEPTH = 8;

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+-]*)/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])( +)(.*)$/;
const QUOTE = /^ {0,3}>\s?/;
const TABLE_RULE = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;

const startsBlock = (line) => FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || ITEM.test(line);

const cells = (row) => row.trim().replace(/^\||\|$/g, '').split(/(?<!\\)\|/).map((cell) => cell.trim());

function takeFence(lines, at, context) {
  const [, fence] = FENCE.exec(lines[at]);
  const closer = new RegExp(`^ {0,3}${fence[0]}{${fence.length},}\\s*$`);
  let end = at + 1;
  while (end < lines.length && !closer.test(unmark(lines[end]).bare)) end += 1;
  const { bare, numbers } = unmark(lines.slice(at + 1, end).join('\n'));
  const nodes = [h('pre', { tabindex: '0' }, h('code', { text: bare }))];
  const after = end < lines.length ? unmark(lines[end]).numbers : [];
  const all = [...numbers, ...after];
  if (all.length) nodes.push(h('p', { class: 'after-code' }, ...all.map((number) => context.chip(number))));
  return { nodes, next: end + 1 };
}

function takeQuote(lines, at, context, depth) {
  let end = at;
  const inner = [];
  while (end < lines.length && QUOTE.test(lines[end])) inner.push(lines[end++].replace(QUOTE, ''));
  return { nodes: [h('blockquote', null, ...blocks(inner, context, depth + 1))], next: end };
}

function takeList(lines, at, context, depth) {
  const [, indent, bullet] = ITEM.exec(lines[at]);
  const ordered = /\d/.test(bullet);
  const items = [];
  let end = at;
  while (end < lines.length) {
    const found = ITEM.exec(lines[end]);
    if (!found || found[1].length > indent.length + 1 || found[1].length < indent.length || /\d/.test(found[2]) !== ordered) break;
    const width = found[1].length + found[2].length + 1;
    const inner = [found[4]];
    end += 1;
    while (end < lines.length && (lines[end].trim() === '' ? /^\s{2,}\S/.test(lines[end + 1] ?? '') : /^\s/.test(lines[end]) && lines[end].search(/\S/) >= Math.min(width, indent.length + 2))) {
      inner.push(lines[end].slice(Math.min(width, Math.max(0, lines[end].search(/\S/)))));
      end += 1;
    }
    items.push(h('li', null, ...tight(blocks(inner, context, depth + 1))));
    // A blank line between items does not end the list.
    if (lines[end]?.trim() === '' && ITEM.test(lines[end + 1] ?? '')) end += 1;
  }
  const start = ordered ? Number.parseInt(bullet, 10) : 1;
  return { nodes: [h(ordered ? 'ol' : 'ul', { start: ordered && start !== 1 ? start : null }, ...items)], next: end };
}

/** A list item of one paragraph needs no paragraph. */
function tight(nodes) {
  const [first, ...rest] = nodes;
  return first?.nodeName === 'P' ? [...first.childNodes, ...rest] : nodes;
}

function takeTable(lines, at, context) {
  const head = cells(lines[at]);
  let end = at + 2;
  const rows = [];
  while (end < lines.length && lines[end].includes('|') && lines[end].trim() !== '') rows.push(cells(lines[end++]));
  const row = (values, tag) => h('tr', null, ...head.map((_, index) => h(tag, tag === 'th' ? { scope: 'col' } : null, ...inline(values[index] ?? '', context))));
  const table = h('table', null, h('thead', null, row(head, 'th')), h('tbody', null, ...rows.map((values) => row(values, 'td'))));
  return { nodes: [h('div', { class: 'table', tabindex: '0' }, table)], next: end };
}

function takeParagraph(lines, at, context) {
  let end = at + 1;
  while (end < lines.length && lines[end].trim() !== '' && !startsBlock(lines[end])) end += 1;
  return { nodes: [h('p', null, ...inline(lines.slice(at, end).join('\n'), context))], next: end };
}

function take(lines, at, context, depth) {
  const line = lines[at];
  if (FENCE.test(line)) return takeFence(lines, at, context);
  const heading = HEADING.exec(line);
  // The page has its own first and second level.
  if (heading) return { nodes: [h(`h${Math.min(6, heading[1].length + 2)}`, null, ...inline(heading[2], context))], next: at + 1 };
  if (RULE.test(line)) return { nodes: [h('hr')], next: at + 1 };
  if (depth < MAX_DEPTH && QUOTE.test(line)) return takeQuote(lines, at, context, depth);
  if (depth < MAX_DEPTH && ITEM.test(line)) return takeList(lines, at, context, depth);
  if (line.includes('|') && TABLE_RULE.test(lines[at + 1] ?? '') && lines[at + 1].includes('-')) return takeTable(lines, at, context);
  return takeParagraph(lines, at, context);
}

function blocks(lines, context, depth) {
  const nodes = [];
  for (let at = 0; at < lines.length; ) {
    if (lines[at].trim() === '') {
      at += 1;
      continue;
    }
    const taken = take(lines, at, context, depth);
    nodes.push(...taken.nodes);
    at = taken.next;
  }
  return nodes;
}

/** The text as nodes. */
export const markdown = (text, context) => blocks(text.split(/\r\n|\r|\n/), context, 0);
