// A server with one tool, on the TypeScript SDK v2. Used as: node server.mjs; prints its port.
import { createServer } from 'node:http';

import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

const handler = toNodeHandler(createMcpHandler(() => {
  const server = new McpServer({ name: 'peer', version: '1.0.0' });
  const inputSchema = z.object({ text: z.string() });
  server.registerTool('echo', { inputSchema }, ({ text }) => ({ content: [{ type: 'text', text }] }));
  return server;
}));
const host = localhostHostValidation();
const origin = localhostOriginValidation();
const server = createServer((request, response) => {
  if (host(request, response) && origin(request, response)) handler(request, response);
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
