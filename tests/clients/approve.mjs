// npm @modelcontextprotocol/client 2.x as a client that asks a person for approval, in both eras.
// Used as client2.mjs, with a limit that every call is above.

import assert from 'node:assert/strict';

import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { olderHttp, transport } from './checks.mjs';

const kinds = { Stdio: StdioClientTransport, Http: StreamableHTTPClientTransport, Sse: SSEClientTransport };
const newer = { versionNegotiation: { mode: { pin: '2026-07-28' } } };

function done(what) {
  console.log(`ok ${what}`);
}

async function paid() {
  const reply = await fetch(`${process.env.GLOVEBOX_UPSTREAM}/__sim/log`);
  return (await reply.json()).length;
}

/** A client whose person gives this answer; without one it cannot ask. */
async function connect(era, answer) {
  const capabilities = answer === undefined ? {} : { elicitation: { form: {} } };
  const client = new Client({ name: 'approve', version: '1.0.0' }, { capabilities, ...era });
  client.asked = [];
  if (answer !== undefined) {
    client.setRequestHandler('elicitation/create', async (request) => {
      client.asked.push(request.params.message);
      return answer === 'silent' ? new Promise(() => {}) : answer;
    });
  }
  await client.connect(transport(kinds));
  return client;
}

async function check(name, era) {
  const query = { name: 'answers', arguments: { query: `sim:plain npm ${name}` } };
  const before = await paid();

  const approves = await connect(era, { action: 'accept', content: { approve: true } });
  const answer = await approves.callTool(query);
  assert(!answer.isError, JSON.stringify(answer));
  assert.equal(approves.asked.length, 1);
  assert(approves.asked[0].includes(query.arguments.query));
  await approves.close();
  assert.equal(await paid(), before + 1);
  done(`${name}: approve`);

  for (const refusal of [{ action: 'decline' }, { action: 'cancel' }, { action: 'accept', content: { approve: false } }]) {
    const refuses = await connect(era, refusal);
    const refused = await refuses.callTool(query);
    assert(refused.isError && refused.content[0].text.includes('confirm_over_usd'), JSON.stringify(refused));
    assert.equal(refuses.asked.length, 1);
    await refuses.close();
  }
  assert.equal(await paid(), before + 1);
  done(`${name}: refuse`);

  const mute = await connect(era, undefined);
  const denied = await mute.callTool(query);
  assert(denied.isError && denied.content[0].text.includes('cannot ask'), JSON.stringify(denied));
  await mute.close();
  assert.equal(await paid(), before + 1);
  done(`${name}: a client that cannot ask`);

  // In the newer era the time-out of a call does not count while the person is asked.
  const silent = await connect(era, 'silent');
  const call = silent.callTool(query, { timeout: 1000 }).then(() => 'answered', () => 'failed');
  while (silent.asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  if (era !== newer) assert.equal(await call, 'failed');
  await silent.close();
  assert.equal(await paid(), before + 1);
  done(`${name}: time out and vanish`);
}

await check('older era', {});
if (!olderHttp) await check('newer era', newer);
process.exit(0);
