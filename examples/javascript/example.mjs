// Reads a captured stream as it would come from the network, and tells what it says and what it cost.
// usage: node example.mjs STREAM [answer|research]
import { readFile } from 'node:fs/promises';
import { Answers } from '../../web/answers/index.js';

const answers = await Answers.open();
const [path, given] = process.argv.slice(2);
const captured = new Uint8Array(await readFile(path));
const mode = given ?? answers.inferMode(captured);

const parser = answers.parser({ mode });
for (let at = 0; at < captured.length; at += 512) {
  const { events, error } = parser.push(captured.subarray(at, at + 512));
  for (const event of events) {
    if (event.kind === 'text') process.stdout.write(event.value);
    if (event.kind === 'queries') console.log('searching:', event.value.join('; '));
  }
  if (error) break;
}

const finished = parser.finish();
console.log(`\n--\n${finished.render('plain')}`);
console.error(finished.outcome.complete ? 'complete' : 'incomplete');
