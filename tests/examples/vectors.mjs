// Runs every vector through the transpiled component in Node and prints one JSON line a vector:
// its name, what is wrong with it, and a hash of the outcome's JSON text, to compare runtimes to the byte.
// usage: node vectors.mjs FIXTURES
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { Answers } from '../../web/answers/index.js';
import { check, parseHeaders } from '../../web/app/compare.js';

const [folder] = process.argv.slice(2);
const answers = await Answers.open();
const files = await readdir(folder);
for (const file of files.filter((name) => name.endsWith('.sse')).sort()) {
  const name = file.slice(0, -4);
  const bytes = new Uint8Array(await readFile(`${folder}/${file}`));
  const expected = JSON.parse(await readFile(`${folder}/${name}.json`, 'utf8'));
  const headers = files.includes(`${name}.headers`) ? parseHeaders(await readFile(`${folder}/${name}.headers`, 'utf8')) : [];
  const { problems, json } = check(answers, { bytes, expected, headers });
  const whole = answers.parse(bytes, { mode: expected.mode, headers });
  if (whole.json !== json) problems.push('parse: another outcome than pushing gives');
  console.log(JSON.stringify({ name, problems, sha256: createHash('sha256').update(json).digest('hex') }));
}
