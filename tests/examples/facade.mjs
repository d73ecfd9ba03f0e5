// What the JavaScript facade refuses and gives; facade.py prints the same lines.
import assert from 'node:assert/strict';
import { Answers, InvalidQuestion } from '../../web/answers/index.js';

const sorted = (value) =>
  Array.isArray(value) ? value.map(sorted)
    : value && typeof value === 'object' ? Object.fromEntries(Object.keys(value).sort().map((name) => [name, sorted(value[name])]))
      : value;
const print = (value) => console.log(JSON.stringify(sorted(value)));
const bytes = (text) => new TextEncoder().encode(text);

const answers = await Answers.open();
for (const wrong of ['text', [1, 2], new ArrayBuffer(2), new Uint16Array(2), Buffer.alloc(0).buffer, null]) {
  assert.throws(() => answers.parser().push(wrong), TypeError);
}

const { body, ...request } = answers.build({ query: 'tides', enable_research: true, research_maximum_number_of_queries: 3, seed: 7, user_location: { city: 'Bergen' } });
print({ ...request, body: JSON.parse(new TextDecoder().decode(body)) });
assert.throws(() => answers.build({ query: ' ', safesearch: 'maybe' }), (error) => {
  print(error.fields);
  return error instanceof InvalidQuestion;
});
print(answers.failure(429, [['retry-after', '3']], bytes('{"error":{"code":"RATE_LIMITED","detail":"slow down"}}')));

const parser = answers.parser({ limits: { line_bytes: 400, stream_bytes: 5_000_000_000 } });
const delta = (content) => bytes(`data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`);
print(parser.push(delta('Hi<citation>{"number":4,"url":"https://example.org/","start_index":2,"end_index":2}</citation>')));
print(parser.push(bytes(`data: ${'x'.repeat(500)}`)));
const { outcome, last } = parser.finish();
print({ outcome, last });
assert.throws(() => parser.push(bytes('x')), /finished/);
assert.throws(() => parser.finish(), /finished/);
