import cluster from 'node:cluster';
import { preloadSchemas } from '@modelcontextprotocol/server';
import { clusterMetrics, runPrimary } from './cluster.ts';
import { type Config, ConfigError, readConfig } from './config.ts';
import { createEndpoint } from './endpoint.ts';
import { HttpServer } from './http.ts';
import { createLogger, type Logger } from './log.ts';
import { createServerFactory } from './mcp.ts';
import { createMetrics } from './metrics.ts';
import { Sessions } from './sessions.ts';
import { runStdio } from './stdio.ts';
import { Upstream } from './tools/fetch.ts';
import { createToolbox } from './tools/index.ts';

const SESSION_IDLE_MS = 5 * 60_000;

try {
  const config = readConfig(process.env);
  process.exitCode = await run(config, createLogger(config.logLevel));
} catch (error) {
  process.stderr.write(`${error instanceof ConfigError ? error.message : (error as Error).stack}\n`);
  process.exitCode = error instanceof ConfigError ? 2 : 1;
}

async function run(config: Config, log: Logger): Promise<number> {
  if (config.workers > 1 && cluster.isPrimary) {
    return runPrimary(config.workers, log);
  }
  const stopped = new AbortController();
  process.on('SIGTERM', () => stopped.abort());
  process.on('SIGINT', () => stopped.abort());

  const upstream = new Upstream(config.upstreamUrl);
  const toolbox = createToolbox(upstream);
  const createServer = createServerFactory(toolbox, log);
  preloadSchemas(); // the SDK would make its own schemas within the first request otherwise

  if (config.transport === 'stdio') {
    await runStdio(createServer, toolbox, log, stopped.signal);
  } else {
    await runHttp(config, createServer, log, stopped.signal);
  }
  await upstream.close();
  cluster.worker?.disconnect(); // the channel to the primary process would keep this one alive
  return 0;
}

async function runHttp(
  config: Config,
  createServer: ReturnType<typeof createServerFactory>,
  log: Logger,
  stopped: AbortSignal,
): Promise<void> {
  const sessions = config.sessions === 'stateful' ? new Sessions(createServer, SESSION_IDLE_MS) : undefined;
  const registry = createMetrics(sessions && (() => sessions.size));
  const server = new HttpServer({
    mcp: createEndpoint({ host: config.host, createServer, sessions, log }),
    metrics: async () => ({
      contentType: registry.contentType,
      text: await (cluster.isWorker ? clusterMetrics() : registry.metrics()),
    }),
    log,
  });
  const port = await listen(server, config);
  log.info(`${config.sessions} on http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}/mcp`);
  await new Promise((resolve) => stopped.addEventListener('abort', resolve, { once: true }));
  sessions?.closeStreams();
  await server.drain();
}

async function listen(server: HttpServer, { port, host }: Config): Promise<number> {
  try {
    return await server.listen(port, host);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
      throw new ConfigError('HOST', host, `use an address of this machine (${code})`);
    }
    throw error;
  }
}
