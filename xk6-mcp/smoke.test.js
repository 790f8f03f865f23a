// Passes with no server: the module loads, and says no to what cannot work.
import { check } from 'k6';
import { Client, codes, version } from 'k6/x/mcp';

export const options = { thresholds: { checks: ['rate==1'] } };

const client = new Client('http://127.0.0.1:9/mcp', { timeout: '1s' });

/**
 * @param {() => unknown} fn
 * @returns {import('k6/x/mcp').McpError | undefined}
 */
function thrown(fn) {
  try {
    fn();
  } catch (e) {
    return /** @type {import('k6/x/mcp').McpError} */ (e);
  }
  return undefined;
}

const inInit = thrown(() => client.connect());

export default function () {
  check(null, {
    'has a version': () => /^\d+\.\d+\.\d+$/.test(version),
    'has the codes of errors': () => codes.invalidParams === -32602,
    'does not connect in the init context': () => /init context/.test(inInit?.message ?? ''),
    'names an unknown option': () =>
      // @ts-expect-error: this is the point
      /"no_such"/.test(thrown(() => new Client('http://h/', { no_such: 1 }))?.message ?? ''),
    'says why it cannot connect': () => thrown(() => client.connect())?.kind === 'connect',
  });
}
