import type { IncomingMessage, ServerResponse } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { hostHeaderValidation, NodeStreamableHTTPServerTransport, originValidation } from '@modelcontextprotocol/node';
import {
  classifyInboundRequest,
  createMcpHandler,
  isJsonContentType,
  localhostAllowedHostnames,
  type Server,
} from '@modelcontextprotocol/server';
import Negotiator from 'negotiator';
import { INVALID_REQUEST, type Message, Refusal, readMessage, sendRefusal } from './http-message.ts';
import type { Logger } from './log.ts';
import { HANDSHAKE_REVISIONS } from './mcp.ts';
import type { Sessions } from './sessions.ts';

const REPLY_TYPES = ['application/json', 'text/event-stream'];

/** What the /mcp endpoint is made of. */
export interface EndpointOptions {
  /** Address that the server listens on. */
  readonly host: string;
  /** Makes an SDK server for one request. */
  readonly createServer: () => Server;
  /** The sessions of MCP_SESSIONS=stateful; absent means stateless. */
  readonly sessions: Sessions | undefined;
  readonly log: Logger;
}

/** Returns the handler of /mcp: the contract's checks in the contract's order, then the SDK. */
export function createEndpoint({ host, createServer, sessions, log }: EndpointOptions) {
  const hostnames = allowedHostnames(host);
  const hostIsAllowed = hostHeaderValidation(hostnames);
  const originIsAllowed = originValidation(hostnames);
  const methods = sessions ? ['POST', 'GET', 'DELETE'] : ['POST'];
  const serveDiscoverable = createDiscoverableHandler(createServer, log);

  const serve = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    if (!methods.includes(req.method ?? '')) {
      const allow = methods.join(', ');
      throw new Refusal(405, INVALID_REQUEST, `Method not allowed: use ${allow}`, { allow });
    }
    if (sessions && req.method !== 'POST') {
      await sessions.serve(req, res, undefined);
      return;
    }
    requireMediaTypes(req);
    const message = await readMessage(req);
    if (namesDiscoverableRevision(req, message)) {
      await serveDiscoverable(req, res, message);
      return;
    }
    requireRevision(req);
    if (sessions) {
      await sessions.serve(req, res, message);
    } else {
      await serveOnce(createServer(), req, res, message);
    }
  };

  return async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    // The SDK lets an empty Origin pass; the contract wants a host name in it.
    if (req.headers.origin === '') {
      sendRefusal(res, new Refusal(403, INVALID_REQUEST, 'Invalid Origin: it is empty'));
      return;
    }
    // Each guard has answered the request if it returns false.
    if (hostIsAllowed(req, res) && originIsAllowed(req, res)) {
      await serve(req, res);
    }
  };
}

function allowedHostnames(host: string): string[] {
  const names = localhostAllowedHostnames();
  if (host !== '0.0.0.0' && host !== '::') {
    names.push(new URL(`http://${host.includes(':') ? `[${host}]` : host}`).hostname);
  }
  return names;
}

function requireMediaTypes(req: IncomingMessage): void {
  if (new Negotiator(req).mediaTypes(REPLY_TYPES).length < REPLY_TYPES.length) {
    throw new Refusal(406, INVALID_REQUEST, `Not acceptable: Accept must allow ${REPLY_TYPES.join(' and ')}`);
  }
  if (!isJsonContentType(req.headers['content-type'] ?? null)) {
    throw new Refusal(415, INVALID_REQUEST, 'Unsupported media type: Content-Type must be application/json');
  }
  // The SDK looks for both names in the header and knows neither wildcards nor its absence.
  req.headers.accept = REPLY_TYPES.join(', ');
}

function requireRevision(req: IncomingMessage): void {
  const revision = req.headers['mcp-protocol-version'];
  if (revision !== undefined && !HANDSHAKE_REVISIONS.includes(String(revision))) {
    const known = HANDSHAKE_REVISIONS.join(', ');
    throw new Refusal(400, INVALID_REQUEST, `MCP-Protocol-Version ${revision} is not supported: use one of ${known}`);
  }
}

/** Whether a request belongs to 2026-07-28, which has no handshake, or claims to: the SDK then answers what is wrong. */
function namesDiscoverableRevision(req: IncomingMessage, message: Message): boolean {
  const revision = header(req, 'mcp-protocol-version');
  const method = header(req, 'mcp-method');
  const outcome = classifyInboundRequest({
    httpMethod: 'POST',
    body: message,
    ...(revision !== undefined && { protocolVersionHeader: revision }),
    ...(method !== undefined && { mcpMethodHeader: method }),
  });
  return outcome.kind !== 'legacy';
}

function header(req: IncomingMessage, name: string): string | undefined {
  const value = req.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** Serves one request of a revision with a handshake, without a session. */
async function serveOnce(server: Server, req: IncomingMessage, res: ServerResponse, message: Message): Promise<void> {
  const transport = new NodeStreamableHTTPServerTransport({ enableJsonResponse: true });
  // After the answer nothing is left to close; a client that leaves before it ends the call.
  res.on('close', () => {
    if (!res.writableFinished) {
      void server.close();
    }
  });
  await server.connect(transport);
  await transport.handleRequest(req, res, message);
}

/** Serves requests of 2026-07-28, each with an SDK server of its own. */
function createDiscoverableHandler(createServer: () => Server, log: Logger) {
  const handler = createMcpHandler(createServer, {
    legacy: 'reject',
    onerror: (error) => log.debug('protocol error', error),
  });
  // The adapter that the SDK's own transport uses. The SDK's toNodeHandler would write the parsed body as JSON again.
  return (req: IncomingMessage, res: ServerResponse, message: Message): Promise<void> =>
    getRequestListener((request) => handler.fetch(request, { parsedBody: message }), { overrideGlobalObjects: false })(
      req,
      res,
    );
}
