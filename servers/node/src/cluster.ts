import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { AggregatorRegistry, type RegistryContentType } from 'prom-client';
import type { Logger } from './log.ts';

/** What a worker and the primary process say to each other about /metrics. */
interface MetricsMessage {
  readonly type: 'metrics';
  readonly text?: string;
  readonly error?: string;
}

/**
 * Starts this program once more for each worker; all serve the same port. Stops them when this process is told to stop,
 * and returns the exit code: 1 if one ended unasked, because a run with fewer processes than it says must not go on.
 */
export async function runPrimary(workers: number, log: Logger): Promise<number> {
  const aggregator = new AggregatorRegistry();
  cluster.on('message', (worker, message: unknown) => {
    if (isMetricsMessage(message)) {
      void gather(aggregator).then((answer) => worker.send(answer));
    }
  });

  let stopping = false;
  const stop = () => {
    stopping = true;
    for (const worker of Object.values(cluster.workers ?? {})) {
      worker?.process.kill('SIGTERM');
    }
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);

  const codes = Array.from({ length: workers }, async () => {
    const worker: Worker = cluster.fork();
    const [code, signal] = (await once(worker, 'exit')) as [number | null, string | null];
    if (!stopping) {
      log.error(`worker ${worker.process.pid} ended with ${signal ?? `exit code ${code}`}; stopping the others`);
      stop();
      return code || 1;
    }
    return code ?? 1;
  });
  return Math.max(...(await Promise.all(codes)));
}

/** In a worker: asks the primary process for the metrics of all workers, added up. */
export async function clusterMetrics(): Promise<string> {
  const answered = new Promise<MetricsMessage>((resolve) => {
    const listen = (message: unknown) => {
      if (isMetricsMessage(message)) {
        process.off('message', listen);
        resolve(message);
      }
    };
    process.on('message', listen);
  });
  process.send?.({ type: 'metrics' } satisfies MetricsMessage);
  const { text, error } = await answered;
  if (text === undefined) {
    throw new Error(`the primary process could not gather the metrics: ${error}`);
  }
  return text;
}

async function gather(aggregator: AggregatorRegistry<RegistryContentType>): Promise<MetricsMessage> {
  try {
    return { type: 'metrics', text: await aggregator.clusterMetrics() };
  } catch (error) {
    return { type: 'metrics', error: String(error) };
  }
}

function isMetricsMessage(message: unknown): message is MetricsMessage {
  return typeof message === 'object' && message !== null && 'type' in message && message.type === 'metrics';
}
