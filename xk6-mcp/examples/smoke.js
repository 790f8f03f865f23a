// Is this MCP server well? One session: handshake, ping, list of tools, end.
//
//   MCP_URL=http://127.0.0.1:8081/mcp k6 run smoke.js
import { check } from 'k6';
import { Client } from 'k6/x/mcp';

export const options = { thresholds: { checks: ['rate==1'] } };

const client = new Client(__ENV.MCP_URL || 'http://127.0.0.1:8081/mcp', { timeout: '5s' });

export default function () {
  const session = client.connect();
  console.log(`${session.serverInfo?.name} speaks ${session.protocolVersion}`);
  check(session.ping(), { 'ping answered': (r) => r.ok });
  check(session.listTools(), {
    'tools listed': (r) => r.ok && r.items.length > 0,
    'every tool has a schema': (r) => r.items.every((tool) => tool.inputSchema.type === 'object'),
  });
  session.close();
}
