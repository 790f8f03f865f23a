import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import { isInitializeRequest, type Server } from '@modelcontextprotocol/server';
import { INVALID_REQUEST, type Message, Refusal, sendRefusal } from './http-message.ts';

const SESSION_NOT_FOUND = -32001;

/** The sessions of MCP_SESSIONS=stateful: one SDK server and one transport for each. */
export class Sessions {
  readonly #sessions = new Map<string, Session>();
  readonly #createServer: () => Server;
  readonly #idleMs: number;

  /** A session that is unused for idleMs milliseconds ends by itself. */
  constructor(createServer: () => Server, idleMs: number) {
    this.#createServer = createServer;
    this.#idleMs = idleMs;
  }

  /** How many sessions there are. */
  get size(): number {
    return this.#sessions.size;
  }

  /** Serves a request: a message that was POSTed, or a GET or DELETE without one. Throws a Refusal if it has no session. */
  async serve(req: IncomingMessage, res: ServerResponse, message: Message | undefined): Promise<void> {
    const id = req.headers['mcp-session-id'];
    if (id === undefined && isInitializeRequest(message)) {
      const session = new Session(this.#sessions, this.#idleMs);
      await session.open(this.#createServer());
      await session.serve(req, res, message);
      return;
    }
    if (id === undefined) {
      throw new Refusal(
        400,
        INVALID_REQUEST,
        'Mcp-Session-Id is missing: send initialize first, then the id it returns',
      );
    }
    const session = this.#sessions.get(String(id));
    if (!session) {
      throw new Refusal(404, SESSION_NOT_FOUND, 'Session not found: it has ended or never was; send initialize again');
    }
    await session.serve(req, res, message);
  }

  /** Ends the streams that clients keep open by GET, so that the process can end; calls in flight go on. */
  closeStreams(): void {
    for (const session of this.#sessions.values()) {
      session.closeStream();
    }
  }
}

class Session {
  readonly #transport: NodeStreamableHTTPServerTransport;
  readonly #inFlight = new Map<string | number, ServerResponse>();
  readonly #idle: NodeJS.Timeout;
  #open = 0;

  constructor(sessions: Map<string, Session>, idleMs: number) {
    this.#transport = new NodeStreamableHTTPServerTransport({
      enableJsonResponse: true,
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, this),
    });
    this.#transport.onclose = () => {
      sessions.delete(this.#transport.sessionId ?? '');
      clearTimeout(this.#idle);
      this.#endInFlight();
    };
    this.#idle = setTimeout(() => {
      if (this.#open === 0) {
        void this.#transport.close();
      }
    }, idleMs).unref();
  }

  async open(server: Server): Promise<void> {
    await server.connect(this.#transport);
  }

  async serve(req: IncomingMessage, res: ServerResponse, message: Message | undefined): Promise<void> {
    const id = message?.method === undefined ? undefined : message.id;
    if (id !== undefined) {
      this.#track(id, res);
    }
    this.#open++;
    res.on('close', () => {
      this.#open--;
      this.#idle.refresh(); // also starts it again if it ran out during this request
    });
    await this.#transport.handleRequest(req, res, message);
    if (message?.method === 'notifications/cancelled') {
      this.#endCancelled((message.params as { requestId?: unknown } | undefined)?.requestId);
    }
  }

  closeStream(): void {
    this.#transport.closeStandaloneSSEStream();
  }

  #track(id: string | number, res: ServerResponse): void {
    // The SDK would send both answers to the later request and leave the first without one (typescript-sdk#2433).
    if (this.#inFlight.has(id)) {
      throw new Refusal(400, INVALID_REQUEST, 'Invalid request: another request with this id is in flight');
    }
    this.#inFlight.set(id, res);
    res.on('close', () => this.#inFlight.delete(id));
  }

  /** Ends a call that the SDK, rightly, leaves without an answer after it was cancelled. */
  #endCancelled(id: unknown): void {
    const res = this.#inFlight.get(id as string | number);
    if (res && !res.headersSent) {
      res.writeHead(204).end();
    }
  }

  /** Answers the calls that the SDK leaves without an answer when their session ends under them. */
  #endInFlight(): void {
    for (const res of this.#inFlight.values()) {
      if (!res.headersSent) {
        sendRefusal(res, new Refusal(404, SESSION_NOT_FOUND, 'The session ended before the call did'));
      }
    }
  }
}
