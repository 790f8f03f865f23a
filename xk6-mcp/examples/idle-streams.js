// Many clients that only listen. One virtual user holds all of their sessions and streams, which takes far less
// memory than a virtual user for each. Both sides need a file descriptor per stream: ulimit -n 20000. GOGC=25 makes k6
// collect its garbage more often, which saves memory and costs CPU that is not needed here.
//
// The server must have sessions: go run ./cmd/parity up go/stateful --port-base 9000
//
//   MCP_URL=http://127.0.0.1:9001/mcp STREAMS=10000 HOLD=60 GOGC=25 k6 run idle-streams.js
import { check, sleep } from 'k6';
import { Client } from 'k6/x/mcp';

const streams = Number(__ENV.STREAMS || 1000);
const hold = Number(__ENV.HOLD || 10); // seconds

export const options = {
  scenarios: {
    idle: {
      executor: 'per-vu-iterations',
      vus: 1,
      iterations: 1,
      maxDuration: '1h',
    },
  },
  thresholds: { checks: ['rate==1'], mcp_sessions_lost: ['count==0'] },
};

const client = new Client(__ENV.MCP_URL || 'http://127.0.0.1:8081/mcp', { metrics: 'basic' });

export default async function () {
  const pool = await client.pool(streams, { listen: true, concurrency: 50 });
  check(pool, {
    'every session is open': (p) => p.size === streams && p.failed === 0,
    'every stream is open': (p) => p.streams === streams,
  });
  sleep(hold);
  check(pool, { 'every stream is still open': (p) => p.streams === streams });
  console.log(`${pool.streams} of ${streams} streams after ${hold} s, ${pool.received} notifications`);
  await pool.close();
}
