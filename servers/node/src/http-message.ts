import type { IncomingMessage, ServerResponse } from 'node:http';
import { finished } from 'node:stream';
import { DEFAULT_MAX_REQUEST_BODY_SIZE as MAX_BODY_BYTES } from '@modelcontextprotocol/server';

// Bytes that are no UTF-8 are refused; by default they would become U+FFFD in silence.
const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** JSON-RPC error codes that the checks before the SDK use. */
export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;

/** A JSON-RPC message as far as the checks before the SDK know it. */
export interface Message {
  readonly id?: string | number;
  readonly method?: unknown;
  readonly params?: unknown;
}

/** A request that is refused before the SDK sees it, with the answer that it gets. */
export class Refusal extends Error {
  override name = 'Refusal';
  readonly status: number;
  readonly code: number;
  readonly headers: Readonly<Record<string, string>>;

  /** A status of HTTP and a code of JSON-RPC; the message says what to do instead. */
  constructor(status: number, code: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

/** Answers with a JSON-RPC error. */
export function sendRefusal(res: ServerResponse, { status, code, message, headers }: Refusal): void {
  sendJson(res, status, { jsonrpc: '2.0', error: { code, message }, id: null }, headers);
}

/** Answers with a JSON document. */
export function sendJson(
  res: ServerResponse,
  status: number,
  document: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = JSON.stringify(document);
  res.writeHead(status, {
    ...headers,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  });
  if (res.req.readableEnded) {
    res.end(body);
    return;
  }
  res.write(body);
  // The client has its answer now. What it still sends is read and dropped before the end: to close the connection on it
  // would reset the connection, and a reset can destroy the answer on its way.
  finished(res.req.resume(), () => res.end());
}

/**
 * Reads the body of a request and checks that it is one JSON-RPC message. Throws a Refusal: 413 over 4 MiB, 400 for all
 * else that is wrong.
 */
export async function readMessage(req: IncomingMessage): Promise<Message> {
  const value = parse(await readBody(req));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Refusal(400, INVALID_REQUEST, 'Invalid request: the body must be one JSON-RPC message, not a batch');
  }
  const { jsonrpc, id } = value as { jsonrpc?: unknown; id?: unknown };
  if (jsonrpc !== '2.0') {
    throw new Refusal(400, INVALID_REQUEST, 'Invalid request: jsonrpc must be "2.0"');
  }
  if (id !== undefined && typeof id !== 'string' && !Number.isSafeInteger(id)) {
    throw new Refusal(400, INVALID_REQUEST, 'Invalid request: id must be a string or an integer within ±(2^53−1)');
  }
  return value as Message;
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(UTF8.decode(body));
  } catch {
    throw new Refusal(400, PARSE_ERROR, 'Parse error: the body must be one JSON document in UTF-8');
  }
}

function readBody(req: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (Number(req.headers['content-length']) > MAX_BODY_BYTES) {
      reject(tooLarge());
      return;
    }
    const chunks: Buffer[] = [];
    let size = 0;
    req.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= MAX_BODY_BYTES) {
        chunks.push(chunk);
        return;
      }
      chunks.length = 0;
      reject(tooLarge());
    });
    req.on('end', () => resolve(Buffer.concat(chunks)));
    req.on('error', reject);
  });
}

function tooLarge(): Refusal {
  return new Refusal(413, INVALID_REQUEST, `The body must not be larger than ${MAX_BODY_BYTES} bytes`);
}
