import { setTimeout as sleep } from 'node:timers/promises';
import { ToolError } from './error.ts';

/** One made-up row. */
export interface Row {
  id: number;
  name: string;
  value: number;
}

/** simulate_db_query. The wait holds up nothing but this call. */
export async function simulateDbQuery(args: { query: string; delay_ms: number; rows: number }) {
  const arrived = performance.now();
  if (!args.query.isWellFormed()) {
    throw new ToolError('query must not have a lone surrogate');
  }
  // A timer may fire up to a millisecond early, because the event loop counts in whole milliseconds.
  for (let left = args.delay_ms; left > 0; left = args.delay_ms - (performance.now() - arrived)) {
    await sleep(Math.ceil(left));
  }
  return { query: args.query, delay_ms: args.delay_ms, rows: Array.from({ length: args.rows }, row) };
}

function row(_: unknown, id: number): Row {
  return { id, name: `row-${id}`, value: (id * 37) % 1000 };
}
