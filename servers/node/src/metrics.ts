import cluster from 'node:cluster';
import { AggregatorRegistry, collectDefaultMetrics, Gauge, type PrometheusContentType, Registry } from 'prom-client';

/** Returns a registry with the runtime's metrics, and the number of sessions where there are sessions. */
export function createMetrics(countSessions?: () => number): Registry<PrometheusContentType> {
  const registry = new Registry<PrometheusContentType>();
  collectDefaultMetrics({ register: registry });
  if (countSessions) {
    new Gauge({
      name: 'mcp_sessions',
      help: 'Sessions that are open.',
      registers: [registry],
      collect() {
        this.set(countSessions());
      },
    });
  }
  if (cluster.isWorker) {
    // Making one is what lets a worker answer the primary process when it gathers the metrics of all.
    new AggregatorRegistry();
    AggregatorRegistry.setRegistries(registry);
  }
  return registry;
}
