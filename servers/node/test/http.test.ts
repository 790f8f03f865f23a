import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { initialize, ping, post, query, ServerProcess, send } from './client.ts';

const MIB = 1024 * 1024;

describe('over HTTP', () => {
  let server: ServerProcess;
  let port: number;

  before(async () => {
    server = new ServerProcess({});
    port = await server.listening();
  });
  after(() => server.stop());

  const json = { 'content-type': 'application/json' };

  it('answers what is not MCP', async () => {
    assert.equal((await send(port, 'GET', '/healthz')).status, 200);
    const hello = await send(port, 'GET', '/hello');
    assert.equal(hello.text, 'Hello!');
    assert.match(String(hello.headers['content-type']), /^text\/plain/);
    const floor = await send(port, 'POST', '/floor', json, '{"jsonrpc":"2.0","id":"f","params":{"a":[1,null]}}');
    assert.deepEqual(JSON.parse(floor.text), { jsonrpc: '2.0', id: 'f', result: { a: [1, null] } });
    assert.match((await send(port, 'GET', '/metrics')).text, /^process_cpu_seconds_total /m);
    assert.equal((await send(port, 'GET', '/toString')).status, 404);
    assert.equal((await send(port, 'POST', '/hello')).status, 405);
    assert.equal((await send(port, 'POST', '/floor', json, 'null')).status, 400);
  });

  it('refuses a body over 4 MiB and answers the next request', async () => {
    const pad = 'a'.repeat(4.1 * MIB);
    assert.equal((await post(port, { ...ping, params: { pad } })).status, 413);
    const headers = { ...json, 'transfer-encoding': 'chunked' };
    assert.equal((await send(port, 'POST', '/mcp', headers, Array(5).fill('a'.repeat(MIB)))).status, 413);
    assert.equal((await post(port, ping)).status, 200);
  });

  it('takes a body of exactly 4 MiB', async () => {
    const start = '{"jsonrpc":"2.0","id":1,"method":"ping"';
    const body = `${start}${' '.repeat(4 * MIB - start.length - 1)}}`;
    assert.equal((await send(port, 'POST', '/mcp', json, body)).status, 200);
    assert.equal((await send(port, 'POST', '/mcp', json, `${body} `)).status, 413);
  });

  it('refuses a body that is no UTF-8, and does not replace its bytes', async () => {
    const body = Buffer.concat([
      Buffer.from('{"jsonrpc":"2.0","id":"'),
      Buffer.of(0xff),
      Buffer.from('","method":"ping"}'),
    ]);
    const answer = await send(port, 'POST', '/mcp', json, body);
    assert.equal(answer.status, 400);
    assert.equal(JSON.parse(answer.text).error.code, -32700);
  });

  it('finds the first of several faults, in the order of the contract', async () => {
    const faults = [
      [{ host: 'evil.example' }, 403],
      [{ origin: 'null' }, 403],
      [{ accept: 'text/html' }, 406],
      [{ 'content-type': 'text/plain' }, 415],
      [{ 'content-length': String(5 * MIB) }, 413],
      [{ 'mcp-protocol-version': 'bogus' }, 400],
    ] as const;
    for (const [index, [, status]] of faults.entries()) {
      const headers = Object.assign({}, json, ...faults.slice(index).map(([header]) => header));
      assert.equal((await send(port, 'POST', '/mcp', headers, '{}')).status, status);
    }
    assert.equal((await send(port, 'PUT', '/mcp', { origin: '' }, '{}')).status, 403);
    assert.equal((await send(port, 'PUT', '/mcp', { accept: 'text/html' }, '{}')).status, 405);
  });

  it('refuses ids that it could not return', async () => {
    for (const id of ['1.5', 'null', '9007199254740992', '1e400', 'true', '[]']) {
      const answer = await send(port, 'POST', '/mcp', json, `{"jsonrpc":"2.0","id":${id},"method":"ping"}`);
      assert.equal(answer.status, 400, id);
      assert.equal(JSON.parse(answer.text).error.code, -32600, id);
    }
  });

  it('sees an argument named __proto__', async () => {
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":
      {"name":"calculate_fibonacci","arguments":{"n":1,"__proto__":{}}}}`;
    const { result } = JSON.parse((await send(port, 'POST', '/mcp', json, body)).text);
    assert.equal(result.isError, true);
    assert.match(result.content[0].text, /\b__proto__\b/);
  });

  it('gives each client its own answer, although all use the same id', async () => {
    const texts = Array.from({ length: 40 }, (_, i) => `client ${i}`);
    const answers = await Promise.all(texts.map((text) => post(port, query(1, text, 20))));
    assert.deepEqual(
      answers.map(({ text }) => JSON.parse(text).result.structuredContent.query),
      texts,
    );
  });
});

describe('over HTTP with sessions', () => {
  let server: ServerProcess;
  let port: number;

  before(async () => {
    server = new ServerProcess({ MCP_SESSIONS: 'stateful' });
    port = await server.listening();
  });
  after(() => server.stop());

  const open = async () => ({ 'mcp-session-id': (await post(port, initialize)).headers['mcp-session-id'] });
  const count = async () => /^mcp_sessions (\d+)$/m.exec((await send(port, 'GET', '/metrics')).text)?.[1];

  it('keeps the answers of sessions apart', async () => {
    const [a, b] = [await open(), await open()];
    const [first, second] = await Promise.all([post(port, query(1, 'a', 50), a), post(port, query(1, 'b', 10), b)]);
    assert.equal(JSON.parse(first.text).result.structuredContent.query, 'a');
    assert.equal(JSON.parse(second.text).result.structuredContent.query, 'b');
  });

  it('refuses an id that is in flight, and answers the first request', async () => {
    const session = await open();
    const first = post(port, query(1, 'first', 1000), session);
    await post(port, ping, session);
    const second = await post(port, query(1, 'second', 0), session);
    assert.equal(second.status, 400);
    assert.equal(JSON.parse(second.text).error.code, -32600);
    assert.equal(JSON.parse((await first).text).result.structuredContent.query, 'first');
    assert.equal((await post(port, query(1, 'again', 0), session)).status, 200);
  });

  it('answers a call whose session ends under it', async () => {
    const session = await open();
    const before = Number(await count());
    const call = post(port, query(1, 'long', 3000), session);
    await post(port, ping, session); // answered after the call has arrived
    assert.equal((await send(port, 'DELETE', '/mcp', session)).status, 200);
    assert.equal((await call).status, 404);
    assert.equal(Number(await count()), before - 1);
  });

  it('ends a call that is cancelled', async () => {
    const session = await open();
    const call = post(port, query(7, 'long', 4000), session);
    await post(port, ping, session);
    const start = performance.now();
    const cancel = { method: 'notifications/cancelled', params: { requestId: 7 } };
    assert.equal((await post(port, cancel, session)).status, 202);
    assert.equal((await call).text, '');
    assert.ok(performance.now() - start < 2000);
  });
});
