// A server on npm @modelcontextprotocol/sdk 1.x, over streamable HTTP at /mcp and the older transport at /sse.
// Used as: node server.mjs; prints its port.

import { randomUUID } from 'node:crypto';

import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { ElicitResultSchema, CreateMessageResultSchema, ListRootsResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

const calls = {};

function words(value) {
  return { content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }] };
}

function makeServer() {
  const server = new McpServer({ name: 'peer', version: '1.0.0' }, { capabilities: { logging: {} } });
  const tool = (name, shape, run) => server.registerTool(name, { inputSchema: shape }, (args, extra) => {
    calls[name] = (calls[name] ?? 0) + 1;
    return run(args, extra);
  });
  tool('echo', { text: z.string() }, ({ text }) => words(text));
  tool('count', { of: z.string() }, ({ of }) => words(String(calls[of] ?? 0)));
  tool('ask', {}, async (_, extra) => words(await extra.sendRequest({
    method: 'elicitation/create',
    params: { message: 'Which?', requestedSchema: { type: 'object', properties: { which: { type: 'string' } } } },
  }, ElicitResultSchema)));
  tool('sample', {}, async (_, extra) => words(await extra.sendRequest({
    method: 'sampling/createMessage',
    params: { messages: [{ role: 'user', content: { type: 'text', text: 'Say it.' } }], maxTokens: 5 },
  }, CreateMessageResultSchema)));
  tool('roots', {}, async (_, extra) => words(await extra.sendRequest({ method: 'roots/list' }, ListRootsResultSchema)));
  tool('steps', {}, async (_, extra) => {
    for (let progress = 1; progress <= 3; progress += 1) {
      await extra.sendNotification({
        method: 'notifications/progress',
        params: { progressToken: extra._meta.progressToken, progress, total: 3 },
      });
    }
    return words('done');
  });
  tool('grow', {}, () => {
    server.registerTool(`grown${Object.keys(server._registeredTools).length}`, {}, () => words('grown'));
    return words('grew');
  });
  tool('wait', {}, (_, extra) => new Promise((resolve) => {
    extra.signal.addEventListener('abort', () => {
      calls.aborted = (calls.aborted ?? 0) + 1;
      resolve(words('aborted'));
    });
  }));
  return server;
}

const app = createMcpExpressApp();
const sessions = new Map();

app.all('/mcp', async (request, response) => {
  const id = request.headers['mcp-session-id'];
  let transport = sessions.get(id);
  if (!transport) {
    if (id) {
      response.status(404).json({ jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } });
      return;
    }
    transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (made) => sessions.set(made, transport),
    });
    await makeServer().connect(transport);
  }
  await transport.handleRequest(request, response, request.body);
});

app.get('/sse', async (request, response) => {
  const transport = new SSEServerTransport('/messages', response);
  sessions.set(transport.sessionId, transport);
  response.on('close', () => sessions.delete(transport.sessionId));
  await makeServer().connect(transport);
});

app.post('/messages', async (request, response) => {
  const transport = sessions.get(request.query.sessionId);
  if (transport) await transport.handlePostMessage(request, response, request.body);
  else response.status(404).send('no such session');
});

const server = app.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => console.log(server.address().port));
