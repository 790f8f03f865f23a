// Ten virtual users call one tool, each in a session of its own.
//
//   MCP_URL=http://127.0.0.1:8081/mcp k6 run tool-call.js
import { check } from 'k6';
import { Client } from 'k6/x/mcp';

export const options = {
  vus: 10,
  duration: '10s',
  thresholds: {
    mcp_req_failed: ['rate==0'],
    mcp_tool_failed: ['rate==0'],
    'mcp_req_duration{tool:calculate_fibonacci}': ['p(95)<500'],
  },
};

// No network here: a client connects when it is first used.
const client = new Client(__ENV.MCP_URL || 'http://127.0.0.1:8081/mcp');

export default function () {
  const reply = client.session().callTool('calculate_fibonacci', { n: 10 });
  check(reply, {
    'tool answered': (r) => r.ok,
    'answer is right': (r) => r.structuredContent?.result === 55,
  });
}
