import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createEndpoint } from '../src/endpoint.ts';
import { createLogger } from '../src/log.ts';
import { createServerFactory } from '../src/mcp.ts';
import { Sessions } from '../src/sessions.ts';
import { Upstream } from '../src/tools/fetch.ts';
import { createToolbox } from '../src/tools/index.ts';
import { initialize, post, query } from './client.ts';

const IDLE_MS = 400;

it('a session ends when it is unused, and not while a call runs', async () => {
  const log = createLogger('error');
  const mcp = createServerFactory(createToolbox(new Upstream('http://127.0.0.1:1')), log);
  const sessions = new Sessions(mcp, IDLE_MS);
  const server = createServer(createEndpoint({ host: '127.0.0.1', createServer: mcp, sessions, log }));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;

  const id = (await post(port, initialize)).headers['mcp-session-id'];
  const call = await post(port, query(1, 'long', 2.5 * IDLE_MS), { 'mcp-session-id': id });
  assert.equal(call.status, 200);
  assert.equal(sessions.size, 1);
  await sleep(3 * IDLE_MS);
  assert.equal(sessions.size, 0);
  server.close();
});
