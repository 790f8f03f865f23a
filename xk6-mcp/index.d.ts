/**
 * **Load tests of Model Context Protocol servers.**
 *
 * A {@link Client} is made in the init context, where k6 allows no network; it connects in VU code.
 *
 * ```js
 * import { check } from 'k6';
 * import { Client } from 'k6/x/mcp';
 *
 * const client = new Client('http://127.0.0.1:8081/mcp');
 *
 * export default function () {
 *   const reply = client.session().callTool('calculate_fibonacci', { n: 10 });
 *   check(reply, { ok: (r) => r.ok });
 * }
 * ```
 *
 * Calls do not throw when the server fails: the reply says so. Wrong arguments do throw, and so do
 * {@link Client.connect} and {@link Client.session} when there is no session to be had.
 *
 * @module mcp
 */

/** Milliseconds, or a k6 duration such as `"1m30s"`. More than 0. */
export type Duration = number | string;

/** A revision of the protocol, or `"auto"` for the newest that this extension speaks. */
export type ProtocolVersion = 'auto' | '2025-11-25' | '2025-06-18' | '2025-03-26' | '2024-11-05';

/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | JsonObject;

/** A JSON object. */
export type JsonObject = { [key: string]: Json };

/** Metric tags. */
export type Tags = Record<string, string | number | boolean>;

/** Where to connect: a Streamable HTTP endpoint, `http` or `https`. */
export type Target = string | { url: string };

/**
 * Options of a {@link Client}. An unknown key is an error.
 *
 * @example
 * const client = new Client(url, { headers: { Authorization: `Bearer ${__ENV.TOKEN}` }, timeout: '5s' });
 */
export interface ClientOptions {
  /** The revision to offer; the server may choose an older one. Default `"auto"`. */
  protocolVersion?: ProtocolVersion;
  /** Sent with every request. The headers of the protocol itself win over them. */
  headers?: Record<string, string>;
  /** Added to every sample of this client. */
  tags?: Tags;
  /** Of one exchange, from the call to the decoded reply. Default `"60s"`. */
  timeout?: Duration;
  /** Bytes of one JSON body or one event; more is an error of kind `too_large`. Default 16 MiB. */
  maxMessageSize?: number;
  /**
   * `"basic"` emits counts, failures and durations, `"phases"` adds the split of the duration and the
   * sizes, `"off"` nothing. Default `"phases"`. The histograms do not depend on it.
   */
  metrics?: 'off' | 'basic' | 'phases';
}

/**
 * What every operation takes. An unknown key is an error.
 *
 * @example
 * session.callTool('search', { q: 'k6' }, { tags: { name: 'first search' }, timeout: '2s' });
 */
export interface Params {
  /** Sent with this request only; they win over all others, for negative tests. */
  headers?: Record<string, string>;
  /** Added to the samples of this call. A `name` replaces the one made from the tool or method. */
  tags?: Tags;
  /** Replaces {@link ClientOptions.timeout} for this call. */
  timeout?: Duration;
}

/**
 * Where a call failed.
 *
 * - `dns`, `connect`, `tls`: there was no connection. `reset`: there was, and it broke.
 * - `timeout`: the call's own time was up. `interrupted`: k6 ended the iteration; not counted as a failure.
 * - `unauthorized` (401, 403), `rate_limited` (429), `unavailable` (502, 503, 504), `session_lost` (404 in a
 *   session), `http` (any other status outside 2xx without a JSON-RPC error).
 * - `version`: the server chose a revision that is not spoken here.
 * - `malformed`, `truncated`, `too_large`: what arrived was no reply to this request, not all of one, or too much.
 * - `rpc`: a JSON-RPC error. `tool`: a tool result with `isError`.
 */
export type ErrorKind =
  | 'dns'
  | 'connect'
  | 'tls'
  | 'reset'
  | 'timeout'
  | 'interrupted'
  | 'http'
  | 'unauthorized'
  | 'rate_limited'
  | 'unavailable'
  | 'session_lost'
  | 'version'
  | 'malformed'
  | 'truncated'
  | 'too_large'
  | 'rpc'
  | 'tool';

/** Why there is no good result. */
export interface McpError extends Error {
  readonly name: 'McpError';
  readonly kind: ErrorKind;
  /** HTTP status, 0 when none arrived. */
  readonly status: number;
  /** JSON-RPC error code, when the server sent one. */
  readonly code?: number;
  /** The `data` of the JSON-RPC error, when it has some. */
  readonly data?: Json;
}

/**
 * Milliseconds. As in k6/http, `duration` is `sending + waiting + receiving`, and getting a connection
 * (`blocked`, which contains `connecting` and `tlsHandshaking`) stands outside it.
 */
export interface Timings {
  readonly blocked: number;
  readonly connecting: number;
  readonly tlsHandshaking: number;
  readonly sending: number;
  readonly waiting: number;
  readonly receiving: number;
  /** Up to the last byte of the matching reply, even when its stream goes on. */
  readonly duration: number;
  /** On a stream: from the request written to the first event of any kind. */
  readonly firstEvent?: number;
}

/** What came back. Everything is made when it is first read: `ok` costs nothing. */
export interface Reply<T = JsonObject> {
  /** True when a result arrived and, for a tool, `isError` is not set. */
  readonly ok: boolean;
  readonly error?: McpError;
  /** HTTP status, 0 when none arrived. */
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly timings: Timings;
  /** True when the reply came on an event stream. */
  readonly streamed: boolean;
  /** Size of the JSON-RPC messages received. */
  readonly bytes: number;
  /** Other messages on the reply's own stream before it. */
  readonly events: number;
  /** The `result` member; `undefined` when there is none. */
  readonly result?: T;
  /** The `result` member as it arrived, `""` when there is none. */
  raw(): string;
  /**
   * Says that this answer is not the right one, and why. It is counted in `mcp_wrong_answers` and in the
   * summary of the histograms, and stays what it is otherwise.
   *
   * @example
   * if (reply.ok && reply.structuredContent.result !== 55) reply.reject('fibonacci of 10 is 55');
   */
  reject(why?: string): void;
}

/** One block of a tool result. */
export type Content =
  | { type: 'text'; text: string; [key: string]: unknown }
  | { type: 'image' | 'audio'; data: string; mimeType: string; [key: string]: unknown }
  | { type: 'resource_link'; uri: string; name: string; [key: string]: unknown }
  | {
      type: 'resource';
      resource: { uri: string; mimeType?: string; text?: string; blob?: string };
      [key: string]: unknown;
    };

/** Result of `tools/call`. */
export interface ToolResult {
  content: Content[];
  // biome-ignore lint/suspicious/noExplicitAny: only the script knows the tool's outputSchema
  structuredContent?: any;
  isError?: boolean;
}

/**
 * Reply of {@link Session.callTool}.
 *
 * @example
 * const reply = session.callTool('calculate_fibonacci', { n: 10 });
 * if (!reply.ok) console.error(reply.error.kind, reply.error.message);
 */
export interface ToolReply extends Reply<ToolResult> {
  readonly isError: boolean;
  readonly content?: Content[];
  readonly structuredContent?: ToolResult['structuredContent'];
  /** The text blocks, joined by line breaks. */
  text(): string;
  /** `structuredContent`, or else the text parsed as JSON; throws a SyntaxError when it is none. */
  // biome-ignore lint/suspicious/noExplicitAny: as JSON.parse
  json(): any;
}

/** A tool as the server describes it. */
export interface Tool {
  name: string;
  title?: string;
  description?: string;
  inputSchema: JsonObject;
  outputSchema?: JsonObject;
  [key: string]: unknown;
}

/**
 * One page of a list.
 *
 * @example
 * let page = session.listTools();
 * while (page.nextCursor) page = session.listTools({ cursor: page.nextCursor });
 */
export interface Page<T> extends Reply {
  /** Empty when the call failed. */
  readonly items: T[];
  /** Of the next page; `undefined` on the last one. */
  readonly nextCursor?: string;
}

/** {@link Params} of a list. */
export interface ListParams extends Params {
  /** The `nextCursor` of the page before. */
  cursor?: string;
}

/** One conversation with a server. All sessions that are still open are ended when the test ends. */
export interface Session {
  /** The server's session id, `""` when it keeps no session. */
  readonly id: string;
  /** The revision that both sides agreed on. */
  readonly protocolVersion: string;
  readonly serverInfo?: { name: string; version: string; [key: string]: unknown };
  readonly serverCapabilities?: JsonObject;
  readonly instructions: string;
  /** False once it is closed or the server has lost it. */
  readonly alive: boolean;

  /**
   * Calls a tool. Without `args` the request has no `arguments`.
   *
   * @example
   * session.callTool('calculate_fibonacci', { n: 10 }).structuredContent.result; // 55
   */
  callTool(name: string, args?: object, params?: Params): ToolReply;
  /**
   * Gets a page of tools.
   *
   * @example
   * session.listTools().items.map((tool) => tool.name);
   */
  listTools(params?: ListParams): Page<Tool>;
  /**
   * Asks whether the server is there.
   *
   * @example
   * session.ping({ timeout: '1s' }).ok;
   */
  ping(params?: Params): Reply;
  /**
   * Sends any request, with `body` as its `params`.
   *
   * @example
   * session.request('resources/read', { uri: 'file:///a' }).result;
   */
  request(method: string, body?: object, params?: Params): Reply;
  /**
   * Ends the session, with DELETE if the server keeps one. A second call does nothing; other calls throw from
   * then on.
   *
   * @example
   * session.close();
   */
  close(params?: Params): void;
}

/** A server, and how to speak to it. */
export class Client {
  /**
   * Does no network I/O.
   *
   * @example
   * const client = new Client('http://127.0.0.1:8081/mcp', { timeout: '5s', tags: { server: 'go' } });
   */
  constructor(target: Target, options?: ClientOptions);
  /**
   * Opens a new session on every call: `initialize` and `notifications/initialized`. Throws a {@link McpError}.
   *
   * @example
   * const session = client.connect({ timeout: '2s' });
   */
  connect(params?: Params): Session;
  /**
   * This VU's session: opened on the first call, kept across iterations, opened anew after it was closed or
   * lost. Throws a {@link McpError} when it cannot be opened. `params` are those of the opening.
   *
   * @example
   * client.session().ping();
   */
  session(params?: Params): Session;
}

/** Version of the extension. */
export const version: string;
