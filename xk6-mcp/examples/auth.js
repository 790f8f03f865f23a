// An access token from an OAuth server, fetched once for all virtual users and renewed before it expires.
//
//   MCP_URL=https://mcp.example/mcp TOKEN_URL=https://auth.example/token CLIENT_ID=... CLIENT_SECRET=... k6 run auth.js
import { check } from 'k6';
import { Client } from 'k6/x/mcp';

export const options = {
  vus: 5,
  duration: '10s',
  thresholds: { mcp_req_failed: ['rate==0'], mcp_auth_duration: ['max<2000'] },
};

const client = new Client(__ENV.MCP_URL || 'http://127.0.0.1:8081/mcp', {
  auth: {
    type: 'client_credentials',
    tokenUrl: __ENV.TOKEN_URL || 'http://127.0.0.1:8089/token',
    clientId: __ENV.CLIENT_ID || 'k6',
    clientSecret: __ENV.CLIENT_SECRET || '',
    refreshBefore: '30s',
  },
});

export default function () {
  check(client.session().ping(), { authorised: (r) => r.ok });
}
