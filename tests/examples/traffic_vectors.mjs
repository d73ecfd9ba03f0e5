// Runs every vector of the traffic component in Node and prints one JSON line a vector: its name and what is wrong with it.
// usage: node traffic_vectors.mjs FIXTURES
import { readdir, readFile } from 'node:fs/promises';
import { check } from '../../web/app/traffic/vectors.js';
import { Traffic } from '../../web/traffic/index.js';

const [folder] = process.argv.slice(2);
const traffic = await Traffic.open();
for (const file of (await readdir(`${folder}/vectors`)).sort()) {
  const vector = JSON.parse(await readFile(`${folder}/vectors/${file}`, 'utf8'));
  const sample = vector.file ? new Uint8Array(await readFile(`${folder}/${vector.file}`)) : undefined;
  console.log(JSON.stringify({ name: file.slice(0, -5), problem: check(traffic, vector, sample) }));
}
