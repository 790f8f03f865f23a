import { availableLevels, type LogLevel } from './log.ts';

const TRANSPORTS = ['http', 'stdio'] as const;
const SESSION_MODES = ['stateless', 'stateful'] as const;

/** What the environment asks of the server. See contract/README.md, section 3. */
export interface Config {
  /** Address or host name to listen on. */
  readonly host: string;
  /** Port to listen on; 0 lets the system choose one. */
  readonly port: number;
  /** Base URL for fetch_external_data, without a final slash. */
  readonly upstreamUrl: string;
  readonly sessions: (typeof SESSION_MODES)[number];
  readonly transport: (typeof TRANSPORTS)[number];
  /** Number of processes that serve the port. */
  readonly workers: number;
  readonly logLevel: LogLevel;
}

/** A variable has a value that the server cannot work with. The message names it, its value and what is allowed. */
export class ConfigError extends Error {
  override name = 'ConfigError';

  constructor(variable: string, value: string, allowed: string) {
    super(`${variable}=${JSON.stringify(value)} is not allowed: ${allowed}`);
  }
}

/** Reads the environment. Throws a ConfigError for the first wrong value. */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const config: Config = {
    host: host(env.HOST ?? '127.0.0.1'),
    port: port(env.PORT ?? '8083'),
    upstreamUrl: upstreamUrl(env.UPSTREAM_URL ?? 'http://127.0.0.1:8090'),
    sessions: oneOf('MCP_SESSIONS', env.MCP_SESSIONS ?? 'stateless', SESSION_MODES),
    transport: transport(env.MCP_TRANSPORT ?? 'http'),
    workers: workers(env.WORKERS ?? '1'),
    logLevel: oneOf('LOG_LEVEL', env.LOG_LEVEL ?? 'info', availableLevels),
  };
  if (config.workers > 1 && config.transport === 'stdio') {
    throw new ConfigError('WORKERS', String(config.workers), 'use 1 with MCP_TRANSPORT=stdio, which has one client');
  }
  if (config.workers > 1 && config.sessions === 'stateful') {
    const reason = 'use 1 with MCP_SESSIONS=stateful, because a session lives in one process';
    throw new ConfigError('WORKERS', String(config.workers), reason);
  }
  return config;
}

function host(value: string): string {
  if (value === '' || /[\s/]/.test(value)) {
    throw new ConfigError('HOST', value, 'use an address such as 127.0.0.1, 0.0.0.0 or ::1');
  }
  return value;
}

function port(value: string): number {
  if (!/^\d{1,5}$/.test(value) || Number(value) > 65535) {
    throw new ConfigError('PORT', value, 'use an integer from 0 to 65535, where 0 lets the system choose');
  }
  return Number(value);
}

function upstreamUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const plain = url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !/[?#]/.test(value);
  if (!plain || value.endsWith('/')) {
    throw new ConfigError('UPSTREAM_URL', value, 'use an http or https URL without query and final slash');
  }
  return value;
}

function transport(value: string): Config['transport'] {
  if (value === 'sse') {
    const reason = 'use http or stdio; the TypeScript SDK no longer has a server for HTTP+SSE of 2024-11-05';
    throw new ConfigError('MCP_TRANSPORT', value, reason);
  }
  return oneOf('MCP_TRANSPORT', value, TRANSPORTS);
}

function workers(value: string): number {
  if (!/^[1-9]\d{0,3}$/.test(value)) {
    throw new ConfigError('WORKERS', value, 'use an integer from 1 to 9999');
  }
  return Number(value);
}

function oneOf<T extends string>(variable: string, value: string, allowed: readonly T[]): T {
  const found = allowed.find((candidate) => candidate === value);
  if (found === undefined) {
    throw new ConfigError(variable, value, `use ${allowed.join(' or ')}`);
  }
  return found;
}
