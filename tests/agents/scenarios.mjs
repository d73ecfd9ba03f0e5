// What each client is taken through, and what must have reached its model.
import assert from 'node:assert/strict';

import { BUDGET_USD } from './world.mjs';

// What a client may put around a text: JSON escapes, the time that a call took.
const WRAPPING = 1.2;

const END = { text: 'The end.' };
const QUESTION = 'How do wasm components share memory?';
const GUIDANCE = 'Call research_result with research_id';

let turns = 0;

// Runs a turn of a client to its end and gives the tool results that its model saw.
async function turn(run, steps, again = false) {
  const { client, marker } = begin(run, steps, again);
  const { code, out } = await client.ended;
  const results = run.model.results(marker);
  const tools = steps.filter((step) => step.tool);
  assert.equal(code, 0, `the client ended with ${code}: ${out}`);
  assert.equal(results.length, tools.length, `${results.length} results: ${JSON.stringify(results)}\n${out}`);
  await run.world.empty();
  return results.map(({ text }) => text);
}

function begin(run, steps, again = false) {
  turns += 1;
  const marker = `turn-${process.pid}-${turns}`;
  run.model.begin(marker, steps);
  // A person who begins anew copies the id.
  const id = again && run.client.forgets ? ` The research is ${run.world.jobs()[0].research_id}.` : '';
  const command = run.client.turn(run.world, run.url, `Follow the script ${marker}.${id}`, again);
  return { client: run.world.start(command), marker };
}

const count = (text, part) => text.split(part).length - 1;

// A part that looks the same in JSON.
const part = (text) => text.match(/[a-z ,]{30,60}/)[0];

// Checks that a text reached the model once and with little around it. Gives the bytes and the share.
function reached(shown, text) {
  assert.equal(count(shown, part(text)), count(text, part(text)), `not once: ${shown}`);
  const [bytes, expected] = [Buffer.byteLength(shown), Buffer.byteLength(text)];
  assert(bytes <= WRAPPING * expected, `${bytes} bytes for ${expected}: ${shown}`);
  return `${bytes} (${(bytes / expected).toFixed(2)})`;
}

async function answers(run) {
  const [status, answer] = await turn(run, [
    { tool: 'status' },
    { tool: 'answers', args: { query: QUESTION } },
    END,
  ]);
  assert(status.includes('BRAVE_ANSWERS_KEY_FILE'), `the key file did not arrive: ${status}`);
  assert(status.includes(`$${BUDGET_USD}`), `the budget did not arrive: ${status}`);
  return reached(answer, await run.world.call('answers', { query: QUESTION }));
}

async function laterTurn(run) {
  const [submitted] = await turn(run, [{ tool: 'research_submit', args: { query: QUESTION } }, END]);
  assert.equal(count(submitted, GUIDANCE), 1, `the guidance did not arrive once: ${submitted}`);
  const wait = { tool: 'research_result', args: { research_id: '$ID', wait_seconds: 50 } };
  const [report] = await turn(run, [wait, END], true);
  const [{ research_id, state }] = run.world.jobs();
  assert.equal(state, 'done');
  return reached(report, await run.world.call('research_result', { research_id }));
}

async function cancel(run) {
  const [, cancelled] = await turn(run, [
    { tool: 'research_submit', args: { query: 'sim:stall to be stopped' } },
    { tool: 'research_cancel', args: { research_id: '$ID' } },
    END,
  ]);
  const [{ state }] = run.world.jobs();
  assert.equal(state, 'cancelled', `it is ${state}: ${cancelled}`);
  return 'yes';
}

async function killed(run) {
  const steps = [
    { tool: 'research_submit', args: { query: 'outlives the client' } },
    { tool: 'answers', args: { query: 'sim:stall dies with the client' } },
    END,
  ];
  const { client } = begin(run, steps);
  await run.world.upstreamSees('sim:stall dies with the client', () => client.gone);
  const at = Date.now();
  run.world.kill();
  await client.ended;
  await run.world.empty();
  const job = run.world.jobs().find(({ query }) => query === 'outlives the client');
  assert.equal(job.state, 'done');
  return `nothing left after ${((Date.now() - at) / 1000).toFixed(1)} s`;
}

async function yesterday(run) {
  const [, report] = await turn(run, [
    { tool: 'research_list' },
    { tool: 'research_result', args: { research_id: '$ID', wait_seconds: 50 } },
    END,
  ]);
  const { research_id } = run.world.jobs().at(-1);
  return reached(report, await run.world.call('research_result', { research_id }));
}

export const SCENARIOS = [
  ['answers: bytes (of the text)', answers],
  ['submit, result in a later turn', laterTurn],
  ['cancel', cancel],
  ['client killed', killed],
  ['yesterday’s job in a new start', yesterday],
];
