// npm @modelcontextprotocol/sdk 1.x: the older era.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema, ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';

import { check, transport } from './checks.mjs';

const client = new Client({ name: 'sdk1', version: '1.0.0' });
// The same arguments as in 2.x.
const callTool = client.callTool.bind(client);
client.callTool = (params, options) => callTool(params, CallToolResultSchema, options);
await client.connect(transport({
  Stdio: StdioClientTransport, Http: StreamableHTTPClientTransport, Sse: SSEClientTransport,
}));
await check('sdk 1', client, (client, uri) => new Promise((resolve, reject) => {
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, (notification) => {
    if (notification.params.uri === uri) resolve();
  });
  client.subscribeResource({ uri }).catch(reject);
}));
