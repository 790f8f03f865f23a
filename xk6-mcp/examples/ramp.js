// More and more virtual users, each calling again as soon as it has its answer: at how many does the server
// slow down?
//
//   MCP_URL=http://127.0.0.1:8081/mcp k6 run ramp.js
import { check } from 'k6';
import { Client } from 'k6/x/mcp';

const step = __ENV.STEP || '30s';

export const options = {
  scenarios: {
    ramp: {
      executor: 'ramping-vus',
      startVUs: 1,
      stages: [
        { duration: step, target: 10 },
        { duration: step, target: 50 },
        { duration: step, target: 0 },
      ],
    },
  },
  thresholds: { mcp_req_failed: ['rate<0.01'], 'mcp_req_duration{method:tools/call}': ['p(95)<1000'] },
};

const client = new Client(__ENV.MCP_URL || 'http://127.0.0.1:8081/mcp');

export default function () {
  check(client.session().callTool('calculate_fibonacci', { n: 15 }), { answered: (r) => r.ok });
}
