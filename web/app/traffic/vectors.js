// The golden vectors of the traffic component: makes the call that a vector describes and compares what comes of it. The same
// file runs in Node and in the page.

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const KEY = encoder.encode('the key of the golden vectors');
const CALL_KEY = encoder.encode('the key of the call');
const NOW = 1_767_225_600_000n;

const base64 = (bytes) => {
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return `base64:${btoa(binary)}`;
};
const unbase64 = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

function textOf(bytes) {
  try {
    const text = decoder.decode(bytes);
    return text.startsWith('base64:') ? base64(bytes) : text;
  } catch {
    return base64(bytes);
  }
}

/** A value as the vectors write it: absent is null, 64-bit counts are numbers, bytes are text where they are UTF-8. */
export function plain(value) {
  if (value === undefined || value === null) return null;
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Uint8Array) return textOf(value);
  if (ArrayBuffer.isView(value)) return Array.from(value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]));
  return value;
}

/** The first difference in words, or null. */
export function difference(wanted, found, path = 'result') {
  if (wanted === null || found === null || typeof wanted !== 'object' || typeof found !== 'object') {
    return Object.is(wanted, found) ? null : `${path}: expected ${JSON.stringify(wanted)}, found ${JSON.stringify(found)}`;
  }
  const names = [...new Set([...Object.keys(wanted), ...Object.keys(found)])];
  for (const name of names) {
    if (!(name in wanted) || !(name in found)) return `${path}.${name}: ${name in found ? 'not expected' : 'missing'}`;
    const problem = difference(wanted[name], found[name], `${path}.${name}`);
    if (problem) return problem;
  }
  return null;
}

const wire = (bytes) => ({ bytes, provenance: 'wire', decoded: false });

/** The calls of the vectors over one instance. */
function calls(exports) {
  const { intake, har, h1, websocket, message, redact, search, checks, codec, view } = exports;
  const read = (format, bytes) => {
    const reader = new intake.Reader(format, intake.defaultLimits());
    const { items } = reader.push(bytes);
    const { last, report } = intake.Reader.finish(reader);
    return { items: [...items, ...last.items], report };
  };
  const exchanges = (bytes) => read(intake.detect(bytes).format, bytes).items.filter(({ tag }) => tag === 'exchange').map(({ val }) => val);
  const redactor = (options) => new redact.Redactor(options?.mode ?? 'balanced', KEY, CALL_KEY, []);
  const text = (bytes) => decoder.decode(bytes);
  return {
    detect: (bytes) => intake.detect(bytes),
    intake: (bytes, options) => read(options?.format ?? intake.detect(bytes).format, bytes),
    redact: (bytes, options) => {
      const one = redactor(options);
      return exchanges(bytes).map((exchange) => one.exchange(exchange));
    },
    'redact-text': (bytes, options) => redactor(options).text(text(bytes), options?.supplied === true),
    checks: (bytes) => {
      const checker = new checks.Checker(KEY, NOW);
      return exchanges(bytes).flatMap((exchange) => checker.push(exchange));
    },
    endpoints: (bytes) => {
      const endpoints = new message.Endpoints();
      for (const exchange of exchanges(bytes)) endpoints.push(exchange);
      return message.Endpoints.finish(endpoints);
    },
    har: (bytes) => har.head('1') + exchanges(bytes).map((exchange) => har.entry(exchange)).join(',\n') + har.tail(),
    view: (bytes, { json = false, budget = 16_384 }) => exchanges(bytes).map((exchange) => view.render(exchange, {
      json, budget, request: true, response: true, bodies: true, requestOffset: 0, responseOffset: 0,
    })),
    parameters: (bytes) => message.parameters(wire(bytes)),
    'insertion-points': (bytes, options) => message.insertionPoints(wire(bytes), options?.append === true),
    'parse-request': (bytes) => message.parseRequest(bytes),
    'parse-response': (bytes) => message.parseResponse(bytes),
    'decode-body': (bytes, options) => message.decodeBody(wire(bytes), options?.request === true, message.defaultBodyLimits()),
    cookies: (bytes) => exchanges(bytes).flatMap((exchange) => message.cookies(exchange)),
    'decode-jwt': (bytes) => message.decodeJwt(text(bytes)),
    search: (bytes, { pattern, ignoreCase = false }) => {
      try {
        return search.Pattern.compile(pattern, false, ignoreCase).find(bytes, [], 10);
      } catch (thrown) {
        if (typeof thrown?.payload === 'string') return { error: thrown.payload };
        throw thrown;
      }
    },
    frame: (_, { client, server }) => {
      const framer = new h1.Framer({ body: 8 << 20, pipeline: 1000 });
      return [
        ...framer.push('client', encoder.encode(client)), ...framer.push('server', encoder.encode(server)),
        ...framer.finish('client'), ...framer.finish('server'),
      ];
    },
    websocket: (_, { response = '', frames, limit = 1 << 20 }) => {
      const deflate = websocket.deflateOf(encoder.encode(response));
      const reader = new websocket.Decoder(deflate !== undefined, deflate?.clientResets ?? false, limit);
      return { deflate, frames: reader.push(unbase64(frames)) };
    },
    hash: (bytes, { algorithm }) => codec.hash(bytes, algorithm),
  };
}

/** Runs one vector in an instance of its own; `file` holds the bytes of the sample that it names. Returns a problem, or null. */
export function check(traffic, vector, file) {
  const call = calls(traffic.instance())[vector.call];
  if (!call) return `unknown call ${vector.call}`;
  const found = call(file ?? encoder.encode(vector.text ?? ''), vector.options ?? {});
  return difference(vector.expect, plain(found));
}
