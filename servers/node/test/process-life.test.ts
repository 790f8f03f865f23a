import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { initialize, ping, post, query, ServerProcess, send } from './client.ts';

describe('the process', () => {
  it('ends with code 2 and a reason after a wrong value', async () => {
    const server = new ServerProcess({ PORT: 'http' });
    await assert.rejects(server.listening());
    assert.deepEqual(await server.exit, [2, null]);
    assert.match(server.stderr.join('\n'), /PORT="http".*0 to 65535/);
  });

  it('ends with code 2 if HOST is no address of this machine', async () => {
    const server = new ServerProcess({ HOST: '192.0.2.1' });
    await assert.rejects(server.listening());
    assert.deepEqual(await server.exit, [2, null]);
    assert.match(server.stderr.join('\n'), /HOST="192\.0\.2\.1"/);
  });

  it('finishes what is in flight on SIGTERM and ends with code 0', async () => {
    const server = new ServerProcess({});
    const port = await server.listening();
    const idle = connect(port, '127.0.0.1');
    await once(idle, 'connect');
    const call = post(port, query(1, 'last', 1000));
    await post(port, ping); // answered after the call has arrived
    const stopped = server.stop();
    const answer = await call;
    assert.equal(JSON.parse(answer.text).result.structuredContent.query, 'last');
    assert.equal(await stopped, 0);
    await assert.rejects(send(port, 'GET', '/healthz'));
    idle.destroy();
  });

  it('ends on SIGTERM although a client keeps a stream open', async () => {
    const server = new ServerProcess({ MCP_SESSIONS: 'stateful' });
    const port = await server.listening();
    const id = (await post(port, initialize)).headers['mcp-session-id'];
    const stream = send(port, 'GET', '/mcp', { accept: 'text/event-stream', 'mcp-session-id': id });
    await post(port, ping, { 'mcp-session-id': id }); // answered after the stream was opened
    const start = performance.now();
    assert.equal(await server.stop(), 0);
    assert.ok(performance.now() - start < 5000);
    assert.equal((await stream).status, 200);
  });

  it('serves one port with several workers and adds up their metrics', async () => {
    const server = new ServerProcess({ WORKERS: '2' });
    const port = await server.listening(2);
    const metrics = (await send(port, 'GET', '/metrics')).text;
    assert.match(metrics, /^process_cpu_seconds_total /m);
    assert.equal((await post(port, ping)).status, 200);
    assert.equal(await server.stop(), 0);
  });
});

describe('over stdio', () => {
  const start = () => {
    const server = new ServerProcess({ MCP_TRANSPORT: 'stdio' });
    const lines = createInterface(server.child.stdout as Readable)[Symbol.asyncIterator]();
    return {
      server,
      write: (message: object) => server.child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`),
      read: async () => JSON.parse((await lines.next()).value ?? 'null'),
    };
  };

  it('answers, also what is in flight when the input ends', async () => {
    const { server, write, read } = start();
    write(initialize);
    assert.equal((await read()).result.protocolVersion, '2025-11-25');
    write({ method: 'notifications/initialized' });
    write(query(1, 'slow', 300));
    write({ id: 2, method: 'tools/list' });
    server.child.stdin?.end();
    assert.equal((await read()).result.tools.length, 4);
    assert.equal((await read()).result.structuredContent.query, 'slow');
    assert.equal(await read(), null);
    assert.deepEqual(await server.exit, [0, null]);
  });

  it('finishes what is in flight on SIGTERM and ends with code 0', async () => {
    const { server, write, read } = start();
    write(initialize);
    await read();
    write(query(1, 'slow', 700));
    write(ping);
    assert.deepEqual((await read()).result, {});
    const stopped = server.stop();
    assert.equal((await read()).result.structuredContent.query, 'slow');
    assert.equal(await stopped, 0);
  });
});
