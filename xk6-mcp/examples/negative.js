// Does the server refuse what it must refuse, and does it answer well afterwards?
//
//   MCP_URL=http://127.0.0.1:8081/mcp k6 run negative.js
import { check } from 'k6';
import { Client, codes } from 'k6/x/mcp';

export const options = { iterations: 1, thresholds: { checks: ['rate==1'] } };

const client = new Client(__ENV.MCP_URL || 'http://127.0.0.1:8081/mcp');

export default function () {
  const session = client.connect();
  check(session.callTool('no_such_tool'), {
    'unknown tool is an error of the protocol': (r) => r.error?.kind === 'rpc' && r.error.code === codes.invalidParams,
  });
  check(session.callTool('calculate_fibonacci', { n: 'ten' }), {
    'wrong argument is refused': (r) => !r.ok,
  });
  check(session.sendRaw('{"jsonrpc":"2.0","id":1,"method":'), {
    'broken JSON is HTTP 400': (r) => r.status === 400,
  });
  check(session.sendRaw('{"jsonrpc":"2.0","id":1,"method":"ping"}', { headers: { 'Content-Type': 'text/plain' } }), {
    'wrong content type is refused': (r) => r.status === 400 || r.status === 415,
  });
  check(session.sendRaw('{"jsonrpc":"2.0","id":1,"method":"ping"}', { headers: { Host: 'evil.example' } }), {
    'foreign host is refused (a server on loopback)': (r) => r.status === 403,
  });
  check(session.callTool('calculate_fibonacci', { n: 10 }), {
    'all is well afterwards': (r) => r.ok && r.structuredContent?.result === 55,
  });
  session.close();
}
