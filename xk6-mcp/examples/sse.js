// A server that still speaks HTTP+SSE, the transport of revision 2024-11-05. All answers come on one stream.
//
//   MCP_URL=http://127.0.0.1:8081/sse k6 run sse.js
import { check } from 'k6';
import { Client } from 'k6/x/mcp';

export const options = { vus: 5, duration: '10s', thresholds: { checks: ['rate==1'] } };

const client = new Client(
  { url: __ENV.MCP_URL || 'http://127.0.0.1:8081/sse', transport: 'sse' },
  { protocolVersion: '2024-11-05' },
);

export default function () {
  check(client.session().callTool('calculate_fibonacci', { n: 10 }), {
    answered: (r) => r.ok,
    'on a stream': (r) => r.streamed,
  });
}
