// A server that is a program: every session is a process of its own, which is ended with the session.
//
//   MCP_COMMAND="path/to/server" k6 run stdio.js
import { check } from 'k6';
import { Client } from 'k6/x/mcp';

export const options = {
  vus: 2,
  duration: '10s',
  thresholds: { checks: ['rate==1'], 'mcp_stdio_exits{expected:false}': ['count==0'], mcp_stdio_noise: ['count==0'] },
};

const client = new Client({
  command: __ENV.MCP_COMMAND || 'mcp-server',
  env: { MCP_TRANSPORT: 'stdio' }, // what the servers of this repository want to be told
  stderr: 'log',
});

export default function () {
  check(client.session().callTool('calculate_fibonacci', { n: 10 }), { answered: (r) => r.ok });
}
