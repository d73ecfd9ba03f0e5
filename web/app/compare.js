// Whether an outcome is the one a vector asks for, by the rules of fixtures/answers/README.md.

const WILDCARD = '*';

function differs(path, expected, found) {
  if (Object.is(expected, found)) return null;
  if (typeof expected !== 'object' || typeof found !== 'object' || expected === null || found === null || Array.isArray(expected) !== Array.isArray(found)) {
    return `${path || 'outcome'}: expected ${JSON.stringify(expected)?.slice(0, 200)}, found ${JSON.stringify(found)?.slice(0, 200)}`;
  }
  const names = Object.keys(expected);
  if (names.length !== Object.keys(found).length) return `${path || 'outcome'}: expected members ${names}, found ${Object.keys(found)}`;
  for (const name of names) {
    const free = expected[name] === WILDCARD && typeof found[name] === 'string' && (name === 'detail' || name === 'message');
    const difference = free ? null : differs(`${path}${path ? '.' : ''}${name}`, expected[name], found[name]);
    if (difference) return difference;
  }
  return null;
}

/** The first difference in words, or null. */
export const difference = (expected, found) => differs('', expected, found);

/** `Name: value` a line. */
export const parseHeaders = (text) =>
  text
    .split(/\r?\n/)
    .filter((line) => line.includes(':'))
    .map((line) => [line.slice(0, line.indexOf(':')).trim(), line.slice(line.indexOf(':') + 1).trim()]);

/** The ways in which every vector is cut. */
export const CUTS = [
  { name: 'whole', step: Infinity },
  { name: 'in sevens', step: 7 },
  { name: 'byte by byte', step: 1 },
];

/** Pushes the bytes in steps and gives the finished outcome. */
export function read(answers, bytes, mode, headers, step) {
  const parser = answers.parser({ mode, headers });
  for (let from = 0; from < bytes.length; from += step) parser.push(bytes.subarray(from, Math.min(bytes.length, from + step)));
  return parser.finish();
}

/** Runs one vector in every cut: what is wrong, in words, and the outcome's JSON. */
export function check(answers, { bytes, expected, headers }) {
  const problems = [];
  let json = null;
  for (const { name, step } of CUTS) {
    const finished = read(answers, bytes, expected.mode, headers, step);
    const problem = difference(expected, finished.outcome);
    if (problem) problems.push(`${name}: ${problem}`);
    if (json !== null && finished.json !== json) problems.push(`${name}: the JSON text differs from that of the whole`);
    json ??= finished.json;
  }
  return { problems, json };
}
