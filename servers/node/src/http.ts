import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { INVALID_REQUEST, Refusal, readMessage, sendJson, sendRefusal } from './http-message.ts';
import type { Logger } from './log.ts';

type Handler = (req: IncomingMessage, res: ServerResponse) => void | Promise<void>;

/** Longer than what proxies and clients keep a connection, so that they close first and no request meets a closed one. */
const KEEP_ALIVE_MS = 75_000;

/** Time that calls in flight have to finish after the server was told to stop. */
const DRAIN_MS = 10_000;

/** What the HTTP surface shows besides what it does itself. */
export interface Surface {
  readonly mcp: Handler;
  /** Returns the metrics in Prometheus' text format, with their media type. */
  readonly metrics: () => Promise<{ contentType: string; text: string }>;
  readonly log: Logger;
}

/** The HTTP server of the contract's section 2. */
export class HttpServer {
  readonly #server: Server;
  #draining = false;

  constructor({ mcp, metrics, log }: Surface) {
    const routes: Readonly<Record<string, Handler>> = {
      '/mcp': mcp,
      '/healthz': only('GET', (_req, res) => sendText(res, 'ok\n')),
      '/hello': only('GET', (_req, res) => sendText(res, 'Hello!')),
      '/floor': only('POST', floor),
      '/metrics': only('GET', async (_req, res) => {
        const { contentType, text } = await metrics();
        sendText(res, text, contentType);
      }),
    };
    this.#server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (req, res) => {
      if (this.#draining) {
        res.setHeader('connection', 'close');
      }
      void answer(routes, log, req, res);
    });
  }

  /** Starts to listen; returns the port. Rejects with the system's error, for example EADDRINUSE. */
  listen(port: number, host: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, () => {
        const address = this.#server.address();
        resolve(typeof address === 'object' && address ? address.port : port);
      });
    });
  }

  /** Stops to accept, waits for what is in flight, at most 10 s, and closes what is left. */
  async drain(): Promise<void> {
    this.#draining = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    // A connection whose last answer goes out after close() has begun stays open otherwise.
    const sweep = setInterval(() => this.#server.closeIdleConnections(), 20);
    const deadline = setTimeout(() => this.#server.closeAllConnections(), DRAIN_MS);
    await closed;
    clearInterval(sweep);
    clearTimeout(deadline);
  }
}

async function answer(
  routes: Readonly<Record<string, Handler>>,
  log: Logger,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  try {
    const path = req.url?.split('?', 1)[0] ?? '';
    const handler = Object.hasOwn(routes, path) ? routes[path] : undefined;
    if (!handler) {
      throw new Refusal(404, INVALID_REQUEST, `Not found: use one of ${Object.keys(routes).join(', ')}`);
    }
    await handler(req, res);
  } catch (error) {
    if (req.destroyed && !req.complete) {
      log.debug('the client closed the connection within its request', error);
    } else if (error instanceof Refusal) {
      sendRefusal(res, error);
    } else {
      log.error(`${req.method} ${req.url} failed`, error);
      if (res.headersSent) {
        res.destroy();
      } else {
        sendRefusal(res, new Refusal(500, -32603, 'Internal error'));
      }
    }
  }
}

function only(method: string, handler: Handler): Handler {
  return (req, res) => {
    if (req.method !== method) {
      throw new Refusal(405, INVALID_REQUEST, `Method not allowed: use ${method}`, { allow: method });
    }
    return handler(req, res);
  };
}

async function floor(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const { id, params } = await readMessage(req);
  sendJson(res, 200, { jsonrpc: '2.0', id, result: params });
}

function sendText(res: ServerResponse, text: string, contentType = 'text/plain; charset=utf-8'): void {
  res.writeHead(200, { 'content-type': contentType, 'content-length': Buffer.byteLength(text) });
  res.end(text);
}
