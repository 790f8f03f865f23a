// Sessions against none: the same calls, one scenario after the other, in sessions of revision 2025-11-25 and by
// 2026-07-28, which has no sessions. Compare mcp_req_duration of the two scenarios in the summary.
//
// The servers: go run ./cmd/parity up go go/stateful --port-base 9000
//
//   MCP_URL=http://127.0.0.1:9002/mcp MCP_URL_STATELESS=http://127.0.0.1:9001/mcp k6 run stateless.js
import { check } from 'k6';
import { Client } from 'k6/x/mcp';

const seconds = Number(__ENV.SECONDS || 20); // of each scenario
const vus = 10;

export const options = {
  scenarios: {
    stateful: { executor: 'constant-vus', exec: 'stateful', vus, duration: `${seconds}s` },
    stateless: {
      executor: 'constant-vus',
      exec: 'stateless',
      vus,
      duration: `${seconds}s`,
      startTime: `${seconds + 1}s`,
    },
  },
  // A threshold is what makes k6 show a scenario by itself.
  thresholds: {
    'mcp_req_duration{scenario:stateful}': ['p(95)<1000'],
    'mcp_req_duration{scenario:stateless}': ['p(95)<1000'],
    mcp_req_failed: ['rate==0'],
  },
};

const url = __ENV.MCP_URL || 'http://127.0.0.1:8081/mcp';
const withSessions = new Client(url, { protocolVersion: '2025-11-25' });
const without = new Client(__ENV.MCP_URL_STATELESS || url, { protocolVersion: '2026-07-28' });

/** @param {Client} client */
function call(client) {
  check(client.session().callTool('calculate_fibonacci', { n: 10 }), { answered: (r) => r.ok });
}

export function stateful() {
  call(withSessions);
}

export function stateless() {
  call(without);
}
