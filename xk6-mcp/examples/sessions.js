// What a session costs: each iteration opens one, makes one call in it and ends it.
//
//   MCP_URL=http://127.0.0.1:8081/mcp k6 run sessions.js
import { check } from 'k6';
import { Client } from 'k6/x/mcp';

export const options = {
  vus: 10,
  duration: '10s',
  thresholds: {
    mcp_session_connecting: ['p(95)<500'],
    mcp_sessions_lost: ['count==0'],
    'mcp_reqs{method:initialize}': ['count>0'],
  },
};

const client = new Client(__ENV.MCP_URL || 'http://127.0.0.1:8081/mcp');

export default function () {
  const session = client.connect(); // session() would keep the one that it has
  check(session.listTools({ all: true }), { 'tools listed': (r) => r.ok });
  session.close();
}
