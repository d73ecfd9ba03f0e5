// What every client from npm must be able to do with the server, whichever era it speaks.
// Used as: node CLIENT.mjs PROGRAM, with the server's settings in the environment, or with the URL of a running server,
// which is reached through `PROGRAM bridge URL` where PROGRAM follows.

import assert from 'node:assert/strict';

const TOOLS = [
  'answers', 'research_submit', 'research_status', 'research_result', 'research', 'research_cancel', 'research_list',
  'status',
];
const PATIENCE = 60_000;

const target = process.argv[2];
const bridge = process.argv[3];
/** Whether the older of the two HTTP transports is used, which only the older era has. */
export const olderHttp = target.endsWith('/sse');

/** What a server that asks for a token wants with every request. */
const token = process.env.GLOVEBOX_TOKEN;
const options = token ? { requestInit: { headers: { Authorization: `Bearer ${token}` } } } : {};

/** A transport of the client's own to the server. */
export function transport({ Stdio, Http, Sse }) {
  if (bridge) return new Stdio({ command: bridge, args: ['bridge', target], env: { ...process.env }, stderr: 'inherit' });
  if (olderHttp) return new Sse(new URL(target), options);
  if (target.startsWith('http')) return new Http(new URL(target), options);
  return new Stdio({ command: target, args: ['stdio'], env: { ...process.env }, stderr: 'inherit' });
}

function done(what) {
  console.log(`ok ${what}`);
}

async function droppedCalls() {
  const reply = await fetch(`${process.env.GLOVEBOX_UPSTREAM}/__sim/log`);
  const log = await reply.json();
  const records = Array.isArray(log) ? log : log.requests ?? log.records;
  return records.filter((record) => record.end === 'dropped').length;
}

async function until(what, condition) {
  const end = Date.now() + PATIENCE;
  while (!(await condition())) {
    assert(Date.now() < end, `${what} never came`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

function text(result) {
  assert.equal(result.content[0].type, 'text');
  return result.content[0].text;
}

/** `client` has the methods of the SDK; `name` is for the report, `onUpdated` hears of changed resources. */
export async function check(name, client, follow) {
  const call = (tool, args, options) => client.callTool({ name: tool, arguments: args }, options);

  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool) => tool.name), TOOLS);
  assert(tools.every((tool) => tool.outputSchema && tool.annotations));
  assert(client.getInstructions().includes('research_submit'));
  done(`${name}: list`);

  // The client holds structured content against the output schema that it was given by the list.
  const answer = await call('answers', { query: 'what is known' });
  assert.equal(answer.structuredContent.state, 'done');
  assert(text(answer).includes('Sources') && text(answer).includes('Cost'));
  for (const tool of ['status', 'research_list']) {
    assert((await call(tool, {})).structuredContent.state, tool);
  }
  done(`${name}: call, structured output`);

  const values = [];
  const researched = await call('research', { query: 'progress please' }, {
    onprogress: (report) => values.push(report.progress), resetTimeoutOnProgress: true, timeout: PATIENCE,
  });
  assert.equal(researched.structuredContent.state, 'done');
  assert(values.length > 0, 'no progress');
  assert.deepEqual(values, [...new Set(values)].sort((a, b) => a - b), 'progress must rise');
  done(`${name}: progress`);

  const before = await droppedCalls();
  await assert.rejects(call('answers', { query: 'sim:stall one' }, { timeout: 1000 }));
  await until('the drop after a time-out', async () => (await droppedCalls()) === before + 1);
  done(`${name}: time-out reaches the upstream`);

  const abort = new AbortController();
  const calling = call('answers', { query: 'sim:stall two' }, { signal: abort.signal });
  setTimeout(() => abort.abort(), 500);
  await assert.rejects(calling);
  await until('the drop after a cancellation', async () => (await droppedCalls()) === before + 2);
  done(`${name}: cancellation reaches the upstream`);

  const refused = await call('research_submit', { query: '', depth: 3 });
  assert.equal(refused.isError, true);
  assert(text(refused).includes('`query`') && text(refused).includes('`depth`'));
  await assert.rejects(call('no_such_tool', {}));
  done(`${name}: errors`);

  const submitted = await call('research_submit', { query: 'a job' });
  const id = submitted.structuredContent.research_id;
  const updated = follow(client, `research://${id}`);
  const report = await call('research_result', { research_id: id, wait_seconds: 50 }, { timeout: PATIENCE });
  assert.equal(report.structuredContent.state, 'done');
  assert(report.structuredContent.sources.length > 0);
  await updated;
  done(`${name}: submit, follow, result`);

  const { resources } = await client.listResources();
  assert(resources.some((resource) => resource.uri === `research://${id}`));
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.deepEqual(resourceTemplates.map((template) => template.uriTemplate), [
    'research://{id}', 'research://{id}/stream',
  ]);
  const whole = await client.readResource({ uri: `research://${id}` });
  assert.deepEqual(whole.contents.map((content) => content.mimeType), ['text/markdown', 'application/json']);
  assert(Array.isArray(JSON.parse(whole.contents[1].text).thinking));
  const raw = await client.readResource({ uri: `research://${id}/stream` });
  assert(raw.contents[0].text.includes('[DONE]'));
  await assert.rejects(client.readResource({ uri: 'research://none' }));
  const ids = await client.complete({
    ref: { type: 'ref/resource', uri: 'research://{id}' }, argument: { name: 'id', value: id.slice(0, 8) },
  });
  assert(ids.completion.values.includes(id));
  done(`${name}: resources`);

  const { prompts } = await client.listPrompts();
  assert.deepEqual(prompts.map((prompt) => prompt.name), ['deep_research', 'cited_answer']);
  const prompt = await client.getPrompt({ name: 'deep_research', arguments: { question: 'why', depth: 'deep' } });
  assert(prompt.messages[0].content.text.includes('research_submit'));
  await assert.rejects(client.getPrompt({ name: 'deep_research', arguments: {} }));
  const depths = await client.complete({
    ref: { type: 'ref/prompt', name: 'deep_research' }, argument: { name: 'depth', value: 'd' },
  });
  assert.deepEqual(depths.completion.values, ['deep']);
  done(`${name}: prompts`);

  await client.close();
}
