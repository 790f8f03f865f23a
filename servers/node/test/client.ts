import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type OutgoingHttpHeaders, request } from 'node:http';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

/** An answer over HTTP. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** Sends one raw request; the body is sent as it is, in chunks where it is a list. */
export async function send(
  port: number,
  method: string,
  path: string,
  headers: OutgoingHttpHeaders = {},
  body: string | Buffer | readonly string[] = '',
): Promise<Answer> {
  const req = request({ host: '127.0.0.1', port, method, path, headers, agent: false });
  const answered = once(req, 'response') as Promise<[Readable & { statusCode: number; headers: Answer['headers'] }]>;
  if (typeof body === 'string' || Buffer.isBuffer(body)) {
    req.end(body);
  } else {
    for (const chunk of body) {
      req.write(chunk);
    }
    req.end();
  }
  const [res] = await answered;
  return { status: res.statusCode, headers: res.headers, text: (await res.toArray()).join('') };
}

const MCP_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

/** POSTs a JSON-RPC message to /mcp. */
export function post(port: number, message: object, headers: OutgoingHttpHeaders = {}): Promise<Answer> {
  return send(port, 'POST', '/mcp', { ...MCP_HEADERS, ...headers }, JSON.stringify({ jsonrpc: '2.0', ...message }));
}

/** A tools/call of simulate_db_query, whose answer holds the query, so that answers can be told apart. */
export function query(id: number | string, text: string, delay: number) {
  const args = { query: text, delay_ms: delay, rows: 0 };
  return { id, method: 'tools/call', params: { name: 'simulate_db_query', arguments: args } };
}

export const ping = { id: 99, method: 'ping' };

export const initialize = {
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};

/** The server as a process of its own. */
export class ServerProcess {
  readonly child: ChildProcess;
  readonly exit: Promise<[number | null, NodeJS.Signals | null]>;
  readonly stderr: string[] = [];

  constructor(env: NodeJS.ProcessEnv) {
    const main = new URL('../src/main.js', import.meta.url).pathname;
    this.child = spawn(process.execPath, [main], { env: { PATH: process.env.PATH, PORT: '0', ...env } });
    this.exit = once(this.child, 'exit') as ServerProcess['exit'];
  }

  /** Resolves with the port when the given number of processes listen on it. */
  async listening(processes = 1): Promise<number> {
    let left = processes;
    for await (const line of createInterface(this.child.stderr as Readable)) {
      this.stderr.push(line);
      const port = /on http:\/\/.*:(\d+)\/mcp$/.exec(line)?.[1];
      left -= port ? 1 : 0;
      if (port && left === 0) {
        return Number(port);
      }
    }
    throw new Error(`the server ended: ${this.stderr.join('\n')}`);
  }

  async stop(): Promise<number | null> {
    this.child.kill('SIGTERM');
    const [code] = await this.exit;
    return code;
  }
}
