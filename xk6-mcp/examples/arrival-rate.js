// A constant number of calls per second, whether or not the server keeps up. k6 drops an iteration when no
// virtual user is free; then the percentiles leave out the worst, so that dropping even one fails the test.
// mcp_response_time counts from the moment at which a call was due.
//
//   MCP_URL=http://127.0.0.1:8081/mcp RATE=100 k6 run arrival-rate.js
import { check } from 'k6';
import { Client } from 'k6/x/mcp';

const rate = Number(__ENV.RATE || 100);

export const options = {
  scenarios: {
    open: {
      executor: 'constant-arrival-rate',
      rate,
      timeUnit: '1s',
      duration: __ENV.DURATION || '30s',
      preAllocatedVUs: rate, // the rate times the longest answer in seconds, here 1 s
    },
  },
  thresholds: {
    dropped_iterations: ['count==0'],
    mcp_req_failed: ['rate==0'],
    mcp_schedule_lag: ['p(99)<500'], // larger: k6 itself was late, and needs more CPU
    mcp_response_time: ['p(99)<1000'],
  },
};

const client = new Client(__ENV.MCP_URL || 'http://127.0.0.1:8081/mcp');

export default function () {
  check(client.session().callTool('calculate_fibonacci', { n: 10 }), { answered: (r) => r.ok });
}
