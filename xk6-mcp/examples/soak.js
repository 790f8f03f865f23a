// A modest load for hours: does anything grow, slow down or get lost? The first minutes are tagged as warm-up, and
// histograms are kept per phase when K6_MCP_HISTOGRAMS names a directory.
//
//   MCP_URL=http://127.0.0.1:8081/mcp DURATION=4h K6_MCP_HISTOGRAMS=soak k6 run soak.js
import { check } from 'k6';
import exec from 'k6/execution';
import { Client } from 'k6/x/mcp';

const warmup = Number(__ENV.WARMUP || 300); // seconds

export const options = {
  scenarios: {
    soak: {
      executor: 'constant-arrival-rate',
      rate: Number(__ENV.RATE || 20),
      duration: __ENV.DURATION || '4h',
      preAllocatedVUs: 20,
    },
  },
  thresholds: {
    dropped_iterations: ['count==0'],
    mcp_req_failed: ['rate==0'],
    mcp_sessions_lost: ['count==0'],
    'mcp_req_duration{phase:soak}': ['p(99)<500'],
  },
};

const client = new Client(__ENV.MCP_URL || 'http://127.0.0.1:8081/mcp', { metrics: 'basic' });

export default function () {
  const running = (Date.now() - exec.scenario.startTime) / 1000;
  exec.vu.metrics.tags.phase = running < warmup ? 'warmup' : 'soak';
  const reply = client.session().callTool('calculate_fibonacci', { n: 10 });
  check(reply, { answered: (r) => r.ok });
  if (reply.ok && reply.structuredContent.result !== 55) {
    reply.reject('fibonacci of 10 is 55');
  }
}
