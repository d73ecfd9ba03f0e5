// npm @modelcontextprotocol/client 2.x: both eras.

import assert from 'node:assert/strict';

import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { check, olderHttp, transport } from './checks.mjs';

const kinds = { Stdio: StdioClientTransport, Http: StreamableHTTPClientTransport, Sse: SSEClientTransport };
const UPDATED = 'notifications/resources/updated';

const older = new Client({ name: 'client2', version: '1.0.0' });
await older.connect(transport(kinds));
await check('client 2, older era', older, (client, uri) => new Promise((resolve, reject) => {
  client.setNotificationHandler(UPDATED, (notification) => {
    if (notification.params.uri === uri) resolve();
  });
  client.subscribeResource({ uri }).catch(reject);
}));

for (const mode of olderHttp ? [] : ['auto', { pin: '2026-07-28' }]) {
  const newer = new Client({ name: 'client2', version: '1.0.0' }, { versionNegotiation: { mode } });
  await newer.connect(transport(kinds));
  assert.equal(newer.getNegotiatedProtocolVersion(), '2026-07-28');
  await check(`client 2, newer era, ${JSON.stringify(mode)}`, newer, async (client, uri) => {
    const heard = new Promise((resolve) => {
      client.setNotificationHandler(UPDATED, (notification) => {
        if (notification.params.uri === uri) resolve();
      });
    });
    const subscription = await client.listen({ resourceSubscriptions: [uri] });
    await heard;
    await subscription.close();
  });
}
