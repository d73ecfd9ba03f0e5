// Everything on the page is built from nodes: no markup is ever parsed from data.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'text') element.textContent = value;
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** An element; strings among the children become text. */
export const h = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);

/** An SVG element. */
export const s = (tag, properties, ...children) => fill(document.createElementNS(SVG, tag), properties, children);

export const byId = (id) => document.getElementById(id);

/** The URL if a person may be sent there, else null: only http and https, so `javascript:` stays text. */
export function webUrl(text) {
  try {
    const url = new URL(text);
    return url.protocol === 'http:' || url.protocol === 'https:' ? url : null;
  } catch {
    return null;
  }
}

/** A link that tells the other side nothing, or plain text where it is no web address. */
export function link(address, ...children) {
  const url = webUrl(address);
  const content = children.length ? children : [address];
  if (!url) return h('span', { class: 'inert', title: `Not a web address: ${address}` }, ...content);
  return h('a', { href: url.href, rel: 'noopener noreferrer', target: '_blank' }, ...content);
}

const counts = new Intl.NumberFormat('en');
export const count = (value) => (value === null || value === undefined ? '–' : counts.format(value));
export const plural = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;
/** Money to the last digit that matters and no further. */
export const dollars = (value) => (value === null || value === undefined ? 'unknown' : `$${value.toFixed(6).replace(/(\.\d{2,}?)0+$/, '$1')}`);

export function size(bytes) {
  if (bytes < 1000) return plural(bytes, 'byte');
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(1)} kB`;
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
