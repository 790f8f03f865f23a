import { loadToolDefinitions } from '../contract.ts';
import { Toolbox } from '../toolbox.ts';
import type { Upstream } from './fetch.ts';
import { calculateFibonacci } from './fibonacci.ts';
import { processJsonData } from './process.ts';
import { simulateDbQuery } from './query.ts';

/** Joins the contract's definitions with the functions here. */
export function createToolbox(upstream: Upstream): Toolbox {
  return new Toolbox(loadToolDefinitions(), {
    calculate_fibonacci: calculateFibonacci,
    fetch_external_data: upstream.fetchExternalData,
    process_json_data: processJsonData,
    simulate_db_query: simulateDbQuery,
  });
}
