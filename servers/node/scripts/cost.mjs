// What a call costs: CPU time of the server for each, in µs, by its own /metrics. Build first; then
//   node scripts/cost.mjs [CALLS]       (default 5000 for each row, after a warm-up of as many)
// NODE_OPTIONS reach the server, so that settings can be compared: NODE_OPTIONS=--max-semi-space-size=64 node scripts/cost.mjs
// CPU time is steadier than the rate on a machine that does other work, but compare only figures of one run.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Pool } from 'undici';

const calls = Number(process.argv[2] ?? 5000);
const CONNECTIONS = 10;
const PROFILE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};
const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

const data = Object.fromEntries(
  Array.from({ length: 20 }, (_, i) => [`key${i}`, { name: `value number ${i}`, ok: true }]),
);
const TOOLS = {
  calculate_fibonacci: { n: 5 },
  process_json_data: { data },
};

async function start(env) {
  const main = new URL('../dist/src/main.js', import.meta.url).pathname;
  const child = spawn(process.execPath, [main], { env: { ...process.env, PORT: '0', ...env } });
  for await (const line of createInterface(child.stderr)) {
    const port = /:(\d+)\/mcp$/.exec(line)?.[1];
    if (port) {
      return { child, pool: new Pool(`http://127.0.0.1:${port}`, { connections: CONNECTIONS }) };
    }
  }
  throw new Error('the server did not start: run npm run build first');
}

async function send(pool, options) {
  const answer = await pool.request({ method: 'POST', path: '/mcp', ...options });
  const text = await answer.body.text();
  if (answer.statusCode !== 200 || text.includes('"isError"')) {
    throw new Error(`${answer.statusCode} ${text}`);
  }
  return { text, headers: answer.headers };
}

async function cpuSeconds(pool) {
  const { text } = await send(pool, { method: 'GET', path: '/metrics' });
  return Number(/^process_cpu_seconds_total (\S+)/m.exec(text)[1]);
}

async function load(pool, options, first) {
  let next = first;
  const loop = async () => {
    while (next < first + calls) {
      await send(pool, options(next++));
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, loop));
}

async function measure(label, pool, options) {
  await load(pool, options, 1);
  await cpuSeconds(pool); // the counter moves when it is read
  const before = await cpuSeconds(pool);
  await load(pool, options, calls + 1);
  const micros = ((await cpuSeconds(pool)) - before) * (1e6 / calls);
  process.stdout.write(`${label.padEnd(44)}${micros.toFixed(0).padStart(6)}\n`);
}

const message = (id, method, params) => JSON.stringify({ jsonrpc: '2.0', id, method, params });

const stateless = await start({});
const stateful = await start({ MCP_SESSIONS: 'stateful' });
const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'cost', version: '1' } };
const opened = await send(stateful.pool, { headers: HEADERS, body: message(0, 'initialize', initialize) });
const session = { ...HEADERS, 'mcp-session-id': opened.headers['mcp-session-id'] };

await measure('GET /hello', stateless.pool, () => ({ method: 'GET', path: '/hello' }));
for (const [name, args] of Object.entries(TOOLS)) {
  const params = { name, arguments: args };
  const modern = {
    ...HEADERS,
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': name,
  };
  const body = (id) => message(id, 'tools/call', params);
  await measure(`${name}: /floor`, stateless.pool, (id) => ({ path: '/floor', headers: HEADERS, body: body(id) }));
  await measure(`${name}: stateless`, stateless.pool, (id) => ({ headers: HEADERS, body: body(id) }));
  await measure(`${name}: stateful`, stateful.pool, (id) => ({ headers: session, body: body(id) }));
  await measure(`${name}: 2026-07-28`, stateless.pool, (id) => ({
    headers: modern,
    body: message(id, 'tools/call', { ...params, _meta: PROFILE }),
  }));
}
for (const { child, pool } of [stateless, stateful]) {
  await pool.close();
  child.kill('SIGTERM');
  await once(child, 'exit');
}
