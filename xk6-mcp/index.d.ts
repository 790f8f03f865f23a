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
 * {@link Client.connect}, {@link Client.session} and {@link Session.listen} when there is nothing to be had.
 *
 * Every operation has two forms. `ping()` waits and returns the reply; `pingAsync()` returns a promise of it and
 * lets the script go on.
 *
 * @module mcp
 */

/**
 * Milliseconds, or a k6 duration such as `"1m30s"`. More than 0.
 *
 * @example
 * session.ping({ timeout: '1m30s' });
 */
export type Duration = number | string;

/**
 * A revision of the protocol. `"auto"` asks with `server/discover` first, and with `initialize` when the server does
 * not know that: one request more for each session.
 *
 * @example
 * const client = new Client(url, { protocolVersion: '2026-07-28' });
 */
export type ProtocolVersion = 'auto' | '2026-07-28' | '2025-11-25' | '2025-06-18' | '2025-03-26' | '2024-11-05';

/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | JsonObject;

/** A JSON object. */
export type JsonObject = { [key: string]: Json };

/** Metric tags. */
export type Tags = Record<string, string | number | boolean>;

/**
 * Where to connect: the URL of an endpoint, `http` or `https`, or a program that speaks on its standard input and
 * output.
 *
 * @example
 * new Client('http://127.0.0.1:8081/mcp');
 * new Client({ url: 'http://127.0.0.1:8081/sse', transport: 'sse' });
 * new Client({ command: ['my-server', '--stdio'], env: { LOG_LEVEL: 'warn' }, stderr: 'log' });
 */
export type Target =
  | string
  | {
      url: string;
      /** `"sse"` is HTTP+SSE of revision 2024-11-05. Default `"streamable-http"`. */
      transport?: 'streamable-http' | 'sse';
    }
  | {
      /** The program and its arguments; a string is split at spaces. Each session is a process. */
      command: string | string[];
      /** Added to k6's own environment. */
      env?: Record<string, string>;
      /** Working folder of the program. */
      cwd?: string;
      /** What becomes of its standard error. Default `"discard"`. */
      stderr?: 'discard' | 'log';
    };

/**
 * How requests are authorised. A token of `client_credentials` is fetched once for all VUs that have the same
 * credentials, and again before it expires.
 *
 * @example
 * new Client(url, { auth: { type: 'bearer', token: __ENV.TOKEN } });
 * new Client(url, {
 *   auth: { type: 'client_credentials', tokenUrl, clientId: 'k6', clientSecret: __ENV.SECRET, scope: 'mcp' },
 * });
 */
export type Auth =
  | { type: 'bearer'; token: string }
  | {
      type: 'client_credentials';
      tokenUrl: string;
      clientId: string;
      clientSecret: string;
      scope?: string;
      audience?: string;
      resource?: string;
      /** How the credentials are sent: in the Authorization header, or in the body. Default `"basic"`. */
      style?: 'basic' | 'post';
      /** A token is fetched anew this long before it expires. */
      refreshBefore?: Duration;
    };

/**
 * The answer to a request of the server, sent without the script: `result` or `error`, or a built-in `result` for
 * `sampling/createMessage`, `elicitation/create` and `roots/list`. From revision 2026-07-28 on a server asks in its reply, and
 * the call is made again with the answers, as the protocol has it; the reply that the script gets is the last one.
 *
 * @example
 * new Client(url, {
 *   replies: {
 *     'sampling/createMessage': { delay: '800ms' }, // a built-in text, after the time of a model
 *     'elicitation/create': { result: { action: 'accept', content: { name: 'k6' } } },
 *     'roots/list': true,
 *   },
 * });
 */
export interface CannedReply {
  result?: JsonObject;
  error?: { code: number; message: string; data?: Json };
  /** Stands for the time of a model or a person. */
  delay?: Duration;
}

/**
 * Options of a {@link Client}. An unknown key is an error.
 *
 * @example
 * const client = new Client(url, { headers: { 'X-Tenant': 'load' }, timeout: '5s', tags: { server: 'go' } });
 */
export interface ClientOptions {
  /** The revision to offer; the server may choose an older one. Default `"2025-11-25"`. */
  protocolVersion?: ProtocolVersion;
  /** What the server is told about the client. */
  clientInfo?: { name: string; version: string; title?: string };
  /** Default: what {@link ClientOptions.replies} needs. */
  capabilities?: JsonObject;
  /** Sent with every HTTP request. The headers of the protocol itself win over them. */
  headers?: Record<string, string>;
  auth?: Auth;
  /** Added to every sample of this client. */
  tags?: Tags;
  /** Of one exchange, from the call to the decoded reply. Default `"60s"`. */
  timeout?: Duration;
  /** Bytes of one JSON body, event or line; more is an error of kind `too_large`. Default 16 MiB. */
  maxMessageSize?: number;
  /** Answers to requests of the server, by method. Others are refused, as methods that are not known. */
  replies?: Record<string, CannedReply | true>;
  /** Whether failures of calls are thrown. Default: k6's option `throw`. */
  throw?: boolean;
  /**
   * `"basic"` emits counts, failures and durations, `"phases"` adds the split of the duration and the
   * sizes, `"off"` nothing. Default `"phases"`. The histograms do not depend on it.
   */
  metrics?: 'off' | 'basic' | 'phases';
  /**
   * Folder for the histograms of all clients, written when the test ends. `K6_MCP_HISTOGRAMS` wins over it. Default: none
   * are kept.
   */
  histograms?: string;
}

/**
 * What {@link Client.connect} and others take that open or end something. An unknown key is an error.
 *
 * @example
 * client.connect({ timeout: '2s', tags: { name: 'first handshake' } });
 */
export interface ConnectParams {
  /** Sent with these requests only; they win over all others. `null` leaves a header out. */
  headers?: Record<string, string | null>;
  /** Added to the samples of this operation. A `name` replaces the one made from the tool or method. */
  tags?: Tags;
  /** Replaces {@link ClientOptions.timeout}. */
  timeout?: Duration;
}

/**
 * What every call takes. An unknown key is an error.
 *
 * @example
 * session.callTool('search', { q: 'k6' }, { tags: { name: 'first search' }, timeout: '2s' });
 */
export interface Params extends ConnectParams {
  /** Merged into `params._meta`. */
  meta?: JsonObject;
  /** Give the call up after this long and tell the server. The kind is `cancelled`, which is no failure. */
  cancelAfter?: Duration;
  /** Check the result, then drop it. Default: k6's option `discardResponseBodies`. */
  discardResult?: boolean;
  /** Whether a failure is thrown. Default: {@link ClientOptions.throw}. */
  throw?: boolean;
}

/**
 * {@link Params} of a call that may report progress.
 *
 * @example
 * await session.callToolAsync('index', {}, { onProgress: (p) => console.log(`${p.progress} of ${p.total}`) });
 */
export interface ProgressParams extends Params {
  /**
   * Asks for progress notifications. They are delivered while the call runs by the Async form, after it by the other.
   */
  onProgress?: (progress: { progress: number; total?: number; message?: string; at: number }) => void;
}

/**
 * {@link Params} of a list. Every page is a request of its own in the metrics.
 *
 * @example
 * session.listTools({ all: true, maxPages: 10 });
 */
export interface ListParams extends Params {
  /** The `nextCursor` of the page before. */
  cursor?: string;
  /** Get all pages; stops at a cursor that was there before. */
  all?: boolean;
  /** Get no more than this many. */
  maxPages?: number;
}

/**
 * Where a call failed.
 *
 * - `dns`, `connect`, `tls`: there was no connection. `reset`: there was, and it broke.
 * - `timeout`: the call's own time was up. `interrupted`: k6 ended the iteration; not counted as a failure.
 *   `cancelled`: `cancelAfter` was; not counted either.
 * - `unauthorized` (401, 403), `rate_limited` (429), `unavailable` (502, 503, 504), `session_lost` (404 in a
 *   session), `http` (any other status outside 2xx without a JSON-RPC error).
 * - `version`: no revision that both sides speak. `header_mismatch`: the server says that headers and body differ.
 * - `malformed`, `truncated`, `too_large`: what arrived was no reply to this request, not all of one, or too much.
 * - `rpc`: a JSON-RPC error. `tool`: a tool result with `isError`.
 * - `spawn`: the program could not be started. `exit`: it has ended.
 *
 * @example
 * if (reply.error?.kind === 'rate_limited') sleep(1);
 */
export type ErrorKind =
  | 'dns'
  | 'connect'
  | 'tls'
  | 'reset'
  | 'timeout'
  | 'interrupted'
  | 'cancelled'
  | 'http'
  | 'unauthorized'
  | 'rate_limited'
  | 'unavailable'
  | 'session_lost'
  | 'version'
  | 'header_mismatch'
  | 'malformed'
  | 'truncated'
  | 'too_large'
  | 'rpc'
  | 'tool'
  | 'spawn'
  | 'exit';

/**
 * Why there is no good result.
 *
 * @example
 * try { client.connect(); } catch (e) { console.error(e.kind, e.status, e.message); }
 */
export interface McpError extends Error {
  readonly name: 'McpError';
  readonly kind: ErrorKind;
  /** HTTP status, 0 when none arrived. */
  readonly status: number;
  /** JSON-RPC error code, when the server sent one. */
  readonly code?: number;
  /** The `data` of the JSON-RPC error, when it has some. */
  readonly data?: Json;
  /** The `error_code` by which k6/http tags the same failure, such as 1212 for a refused connection. */
  readonly k6Code?: number;
}

/**
 * Milliseconds. As in k6/http, `duration` is `sending + waiting + receiving`, and getting a connection
 * (`blocked`, which contains `connecting` and `tlsHandshaking`) stands outside it.
 *
 * @example
 * console.log(session.ping().timings.waiting);
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

/**
 * What came back. Everything is made when it is first read: `ok` costs nothing.
 *
 * @example
 * const reply = session.request('resources/read', { uri: 'file:///a' });
 * check(reply, { read: (r) => r.ok, 'in time': (r) => r.timings.duration < 100 });
 */
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
  /**
   * The `result` member as it arrived, `""` when there is none.
   *
   * @example
   * console.log(reply.raw());
   */
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
  /**
   * The text blocks, joined by line breaks.
   *
   * @example
   * check(reply, { 'says so': (r) => r.text().includes('55') });
   */
  text(): string;
  /**
   * `structuredContent`, or else the text parsed as JSON; throws a SyntaxError when it is none.
   *
   * @example
   * reply.json().result; // 55
   */
  // biome-ignore lint/suspicious/noExplicitAny: as JSON.parse
  json(): any;
}

/**
 * Reply of {@link Session.sendRaw}.
 *
 * @example
 * console.log(session.sendRaw('[]').body);
 */
export interface RawReply extends Reply {
  /** What came back, whatever it is. */
  readonly body: string;
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

/** A resource as the server describes it. */
export interface Resource {
  uri: string;
  name: string;
  title?: string;
  mimeType?: string;
  size?: number;
  [key: string]: unknown;
}

/** A template of resources as the server describes it. */
export interface ResourceTemplate {
  uriTemplate: string;
  name: string;
  [key: string]: unknown;
}

/** A prompt as the server describes it. */
export interface Prompt {
  name: string;
  title?: string;
  description?: string;
  arguments?: { name: string; description?: string; required?: boolean }[];
  [key: string]: unknown;
}

/** The part of a resource that was read. */
export interface ResourceContents {
  uri: string;
  mimeType?: string;
  text?: string;
  blob?: string;
  [key: string]: unknown;
}

/**
 * One page of a list, or all of them.
 *
 * @example
 * let page = session.listTools();
 * while (page.nextCursor) page = session.listTools({ cursor: page.nextCursor });
 */
export interface Page<T> extends Reply {
  /** Those of all pages that arrived. */
  readonly items: T[];
  /** Of the next page; `undefined` on the last one. */
  readonly nextCursor?: string;
  /** How many requests were made. */
  readonly pages: number;
}

/**
 * One request of {@link Session.parallel} or {@link Session.batch}.
 *
 * @example
 * const ops = [{ tool: 'echo', args: { text: 'x' } }, { resource: 'file:///a' }, { prompt: 'greet' }, { method: 'ping' }];
 */
export type Operation =
  | { tool: string; args?: object; params?: Params }
  | { resource: string; params?: Params }
  | { prompt: string; args?: Record<string, string> | Encoded; params?: Params }
  | { method: string; body?: object; params?: Params };

/** A notification of the server. */
export interface Notification {
  method: string;
  params?: JsonObject;
  /** When it came, in milliseconds since 1970. */
  at: number;
  /** Whether it came on the stream of a {@link Listener} or on that of a reply. */
  stream: 'listen' | 'reply';
}

/**
 * What a {@link Listener} takes.
 *
 * @example
 * session.listen({ queue: 10_000 });
 * session.listen({ notifications: { resourceSubscriptions: ['file:///a'] } }); // revision 2026-07-28
 */
export interface ListenParams extends ConnectParams {
  /** How many notifications wait to be taken; those that find it full are dropped and counted. Default 1000. */
  queue?: number;
  /** Ask for what came after this event of an earlier stream. Before 2026-07-28. */
  lastEventId?: string;
  /** What the server shall send. From 2026-07-28 on; default: changes of the three lists. */
  notifications?: JsonObject;
}

/**
 * A stream of notifications. It is not tied to an iteration: what comes between two iterations is queued.
 *
 * @example
 * const listener = session.listen();
 * session.subscribe('file:///a');
 * const changed = await listener.next({ method: 'notifications/resources/updated', timeout: '10s' });
 */
export interface Listener {
  readonly open: boolean;
  /** How many notifications have come. */
  readonly received: number;
  /** How many of them were lost, because the queue was full. */
  readonly dropped: number;
  /** Id of the last event that had one. */
  readonly lastEventId: string;
  /**
   * Takes all that is queued, without waiting.
   *
   * @example
   * for (const n of listener.drain()) console.log(n.method);
   */
  drain(): Notification[];
  /**
   * Waits for the next notification, or the next one of a method; others are passed over. Rejects with a
   * {@link McpError} of kind `timeout`, or when the stream ends. Without a timeout it waits for the iteration's end.
   *
   * @example
   * const n = await listener.next({ method: 'notifications/tools/list_changed', timeout: '5s' });
   */
  next(params?: { method?: string; timeout?: Duration }): Promise<Notification>;
  /**
   * Calls a function with each notification. As with a WebSocket, the iteration goes on until the stream is closed
   * or k6 ends it; the next iteration sets its own.
   *
   * @example
   * listener.onNotification((n) => console.log(n.method));
   */
  onNotification(fn: (n: Notification) => void): void;
  /**
   * Calls a function when the stream has ended. The iteration goes on until then.
   *
   * @example
   * listener.onClose(({ kind }) => console.log(kind));
   */
  onClose(fn: (why: { kind: ErrorKind | 'closed' }) => void): void;
  /**
   * Ends the stream.
   *
   * @example
   * listener.close();
   */
  close(): void;
}

/**
 * Many sessions in one VU. It takes a fraction of the memory of as many VUs.
 *
 * @example
 * const pool = await client.pool(10_000, { listen: true });
 * sleep(60);
 * check(pool, { 'none is lost': (p) => p.streams === 10_000 });
 * await pool.close();
 */
export interface Pool {
  /** How many sessions were opened. */
  readonly size: number;
  /** How many could not be opened. */
  readonly failed: number;
  /** How many of them are neither closed nor lost. */
  readonly alive: number;
  /** How many streams are open. */
  readonly streams: number;
  /** How many notifications have come on all streams; they are counted and dropped. */
  readonly received: number;
  /**
   * A session, counted from 0; `undefined` when there is none.
   *
   * @example
   * pool.at(0)?.ping();
   */
  at(index: number): Session | undefined;
  /**
   * Calls a function with each session.
   *
   * @example
   * pool.each((session) => session.subscribe('file:///a'));
   */
  each(fn: (session: Session, index: number) => void): void;
  /**
   * Opens a stream on each session and resolves with how many are open.
   *
   * @example
   * const open = await pool.listenAll();
   */
  listenAll(params?: ConnectParams & Pick<ListenParams, 'notifications'>): Promise<number>;
  /**
   * Ends all sessions.
   *
   * @example
   * await pool.close();
   */
  close(): Promise<void>;
}

/**
 * {@link ConnectParams} of a {@link Pool}.
 *
 * @example
 * await client.pool(1000, { rate: 100, concurrency: 10 });
 */
export interface PoolParams extends ConnectParams, Pick<ListenParams, 'notifications'> {
  /** Sessions per second at most. Default: no limit. */
  rate?: number;
  /** Sessions that are being opened at the same time. Default 50. */
  concurrency?: number;
  /** Open a stream on each of them. */
  listen?: boolean;
}

/**
 * One conversation with a server, or what stands for it from revision 2026-07-28 on, which has no sessions. Those
 * that are still open are ended when the test ends.
 *
 * @example
 * const session = client.session();
 */
export interface Session {
  /** The server's session id, `""` when it keeps no session. */
  readonly id: string;
  /** The revision that both sides agreed on. */
  readonly protocolVersion: string;
  readonly transport: 'streamable-http' | 'sse' | 'stdio';
  /** Whether the revision has no sessions. */
  readonly stateless: boolean;
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
  callTool(name: string, args?: object, params?: ProgressParams): ToolReply;
  /**
   * The same as a promise.
   *
   * @example
   * const reply = await session.callToolAsync('calculate_fibonacci', { n: 10 });
   */
  callToolAsync(name: string, args?: object, params?: ProgressParams): Promise<ToolReply>;
  /**
   * Gets a page of tools, or all of them.
   *
   * @example
   * session.listTools({ all: true }).items.map((tool) => tool.name);
   */
  listTools(params?: ListParams): Page<Tool>;
  /**
   * The same as a promise.
   *
   * @example
   * const page = await session.listToolsAsync({ all: true });
   */
  listToolsAsync(params?: ListParams): Promise<Page<Tool>>;
  /**
   * Gets a page of resources, or all of them.
   *
   * @example
   * session.listResources().items.map((resource) => resource.uri);
   */
  listResources(params?: ListParams): Page<Resource>;
  /**
   * The same as a promise.
   *
   * @example
   * const page = await session.listResourcesAsync();
   */
  listResourcesAsync(params?: ListParams): Promise<Page<Resource>>;
  /**
   * Gets a page of templates of resources, or all of them.
   *
   * @example
   * session.listResourceTemplates().items[0]?.uriTemplate;
   */
  listResourceTemplates(params?: ListParams): Page<ResourceTemplate>;
  /**
   * The same as a promise.
   *
   * @example
   * const page = await session.listResourceTemplatesAsync();
   */
  listResourceTemplatesAsync(params?: ListParams): Promise<Page<ResourceTemplate>>;
  /**
   * Reads a resource. The tag `name` is its URI, for the first 200 of them.
   *
   * @example
   * session.readResource('file:///a').result?.contents[0].text;
   */
  readResource(uri: string, params?: Params): Reply<{ contents: ResourceContents[] }>;
  /**
   * The same as a promise.
   *
   * @example
   * const reply = await session.readResourceAsync('file:///a');
   */
  readResourceAsync(uri: string, params?: Params): Promise<Reply<{ contents: ResourceContents[] }>>;
  /**
   * Asks for notifications when a resource changes; see {@link Session.listen}. Before 2026-07-28.
   *
   * @example
   * session.subscribe('file:///a').ok;
   */
  subscribe(uri: string, params?: Params): Reply;
  /**
   * The same as a promise.
   *
   * @example
   * const reply = await session.subscribeAsync('file:///a');
   */
  subscribeAsync(uri: string, params?: Params): Promise<Reply>;
  /**
   * Takes that back.
   *
   * @example
   * session.unsubscribe('file:///a').ok;
   */
  unsubscribe(uri: string, params?: Params): Reply;
  /**
   * The same as a promise.
   *
   * @example
   * const reply = await session.unsubscribeAsync('file:///a');
   */
  unsubscribeAsync(uri: string, params?: Params): Promise<Reply>;
  /**
   * Gets a page of prompts, or all of them.
   *
   * @example
   * session.listPrompts().items.map((prompt) => prompt.name);
   */
  listPrompts(params?: ListParams): Page<Prompt>;
  /**
   * The same as a promise.
   *
   * @example
   * const page = await session.listPromptsAsync();
   */
  listPromptsAsync(params?: ListParams): Promise<Page<Prompt>>;
  /**
   * Gets a prompt with its arguments filled in.
   *
   * @example
   * session.getPrompt('greet', { who: 'k6' }).result?.messages;
   */
  getPrompt(
    name: string,
    args?: Record<string, string> | Encoded,
    params?: Params,
  ): Reply<{ description?: string; messages: { role: string; content: Content }[] }>;
  /**
   * The same as a promise.
   *
   * @example
   * const reply = await session.getPromptAsync('greet', { who: 'k6' });
   */
  getPromptAsync(
    name: string,
    args?: Record<string, string> | Encoded,
    params?: Params,
  ): Promise<Reply<{ description?: string; messages: { role: string; content: Content }[] }>>;
  /**
   * Asks for completions of an argument of a prompt or of a template of resources.
   *
   * @example
   * session.complete({ prompt: 'greet' }, { name: 'who', value: 'k' }).result?.completion.values;
   */
  complete(
    ref: { prompt: string } | { resource: string },
    argument: { name: string; value: string },
    params?: Params,
  ): Reply<{ completion: { values: string[]; total?: number; hasMore?: boolean } }>;
  /**
   * The same as a promise.
   *
   * @example
   * const reply = await session.completeAsync({ prompt: 'greet' }, { name: 'who', value: 'k' });
   */
  completeAsync(
    ref: { prompt: string } | { resource: string },
    argument: { name: string; value: string },
    params?: Params,
  ): Promise<Reply<{ completion: { values: string[]; total?: number; hasMore?: boolean } }>>;
  /**
   * Asks for log messages from this level on. Before 2026-07-28.
   *
   * @example
   * session.setLogLevel('warning').ok;
   */
  setLogLevel(level: string, params?: Params): Reply;
  /**
   * The same as a promise.
   *
   * @example
   * const reply = await session.setLogLevelAsync('warning');
   */
  setLogLevelAsync(level: string, params?: Params): Promise<Reply>;
  /**
   * Asks whether the server is there. Before 2026-07-28.
   *
   * @example
   * session.ping({ timeout: '1s' }).ok;
   */
  ping(params?: Params): Reply;
  /**
   * The same as a promise.
   *
   * @example
   * const reply = await session.pingAsync({ timeout: '1s' });
   */
  pingAsync(params?: Params): Promise<Reply>;
  /**
   * Sends any request, with `body` as its `params`.
   *
   * @example
   * session.request('resources/read', { uri: 'file:///a' }).result;
   */
  request(method: string, body?: object, params?: ProgressParams): Reply;
  /**
   * The same as a promise.
   *
   * @example
   * const reply = await session.requestAsync('resources/read', { uri: 'file:///a' });
   */
  requestAsync(method: string, body?: object, params?: ProgressParams): Promise<Reply>;
  /**
   * Sends a notification. `ok` says that the server took it: over HTTP, with a status in 2xx.
   *
   * @example
   * session.notify('notifications/roots/list_changed').ok;
   */
  notify(method: string, body?: object, params?: Params): Reply;
  /**
   * The same as a promise.
   *
   * @example
   * const reply = await session.notifyAsync('notifications/roots/list_changed');
   */
  notifyAsync(method: string, body?: object, params?: Params): Promise<Reply>;
  /**
   * Sends bytes as they are, with the headers of a request, for negative tests. `ok` and `error` read the answer as that to the
   * request, if it is one.
   *
   * @example
   * session.sendRaw('{"jsonrpc":').status; // 400
   */
  sendRaw(body: string | ArrayBuffer, params?: Params): RawReply;
  /**
   * The same as a promise.
   *
   * @example
   * const reply = await session.sendRawAsync('{"jsonrpc":');
   */
  sendRawAsync(body: string | ArrayBuffer, params?: Params): Promise<RawReply>;
  /**
   * Sends several requests at once, at most `concurrency` of them at the same time. The replies are in their order; those to tools
   * are {@link ToolReply}.
   *
   * @example
   * session.parallel([{ tool: 'a' }, { tool: 'b' }], { concurrency: 2 }).every((r) => r.ok);
   */
  parallel(ops: Operation[], params?: { concurrency?: number }): Reply[];
  /**
   * The same as a promise.
   *
   * @example
   * const replies = await session.parallelAsync([{ tool: 'a' }, { tool: 'b' }], { concurrency: 2 });
   */
  parallelAsync(ops: Operation[], params?: { concurrency?: number }): Promise<Reply[]>;
  /**
   * Sends several requests as one JSON-RPC array. Revision 2025-03-26 only; throws in any other.
   *
   * @example
   * session.batch([{ method: 'ping' }, { tool: 'echo', args: { text: 'x' } }]).every((r) => r.ok);
   */
  batch(ops: Operation[], params?: Params): Reply[];
  /**
   * The same as a promise.
   *
   * @example
   * const replies = await session.batchAsync([{ method: 'ping' }, { tool: 'echo', args: { text: 'x' } }]);
   */
  batchAsync(ops: Operation[], params?: Params): Promise<Reply[]>;
  /**
   * Opens the stream on which the server sends without being asked. Throws a {@link McpError}.
   *
   * @example
   * const listener = session.listen();
   */
  listen(params?: ListenParams): Listener;
  /**
   * The same as a promise.
   *
   * @example
   * const listener = await session.listenAsync();
   */
  listenAsync(params?: ListenParams): Promise<Listener>;
  /**
   * Ends the session, with DELETE if the server keeps one, or with the end of the program. A second call does nothing; other
   * calls throw from then on.
   *
   * @example
   * session.close();
   */
  close(params?: ConnectParams): void;
  /**
   * The same as a promise.
   *
   * @example
   * await session.closeAsync();
   */
  closeAsync(params?: ConnectParams): Promise<void>;
  /**
   * Leaves without telling the server; a program is killed.
   *
   * @example
   * session.abandon();
   */
  abandon(): void;
}

declare const encoded: unique symbol;

/**
 * An object whose JSON has been made by {@link encode}. It can stand for `args` and `body` in every call.
 *
 * @example
 * const args: Encoded = encode({ data: open('data.json') });
 */
export interface Encoded {
  readonly [encoded]: true;
}

/**
 * Makes the JSON of an object once. To make it anew in each call costs the load generator as much as all the rest of the call when
 * the object is large.
 *
 * @example
 * const args = encode({ data: JSON.parse(open('data.json')) });
 * export default () => client.session().callTool('process_json_data', args);
 */
export function encode(value: object): Encoded;

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
   * Opens a new session on every call. Throws a {@link McpError}.
   *
   * @example
   * const session = client.connect({ timeout: '2s' });
   */
  connect(params?: ConnectParams): Session;
  /**
   * The same as a promise.
   *
   * @example
   * const session = await client.connectAsync();
   */
  connectAsync(params?: ConnectParams): Promise<Session>;
  /**
   * This VU's session: opened on the first call, kept across iterations, opened anew after it was closed or
   * lost. Throws a {@link McpError} when it cannot be opened. `params` are those of the opening.
   *
   * @example
   * client.session().ping();
   */
  session(params?: ConnectParams): Session;
  /**
   * A session that was opened elsewhere, for example in setup(). Nothing is sent, and it is not ended with the
   * test. Streamable HTTP only.
   *
   * @example
   * const session = client.attach({ id: data.id, protocolVersion: data.protocolVersion });
   */
  attach(state: { id: string; protocolVersion: string }): Session;
  /**
   * Opens many sessions. Those that cannot be opened are counted; rejects when there is none.
   *
   * @example
   * const pool = await client.pool(1000, { listen: true, rate: 200 });
   */
  pool(count: number, params?: PoolParams): Promise<Pool>;
}

/**
 * JSON-RPC error codes by name. Servers of newer SDKs report a resource that is not found as `invalidParams`.
 *
 * @example
 * reply.error?.code === codes.invalidParams;
 */
export const codes: Readonly<{
  parseError: -32700;
  invalidRequest: -32600;
  methodNotFound: -32601;
  invalidParams: -32602;
  internalError: -32603;
  resourceNotFound: -32002;
  headerMismatch: -32020;
  missingClientCapability: -32021;
  unsupportedProtocolVersion: -32022;
  urlElicitationRequired: -32042;
}>;

/**
 * Version of the extension.
 *
 * @example
 * console.log(`k6/x/mcp ${version}`);
 */
export const version: string;
