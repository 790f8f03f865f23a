import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import type { Server } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Logger } from './log.ts';
import type { Toolbox } from './toolbox.ts';

/**
 * Serves one client on standard input and output until the input ends or the signal is aborted, and the calls in flight
 * are answered.
 */
export async function runStdio(
  createServer: () => Server,
  toolbox: Toolbox,
  log: Logger,
  stopped: AbortSignal,
): Promise<void> {
  // The SDK's transport drops the calls in flight as soon as its input ends, so it gets an input that ends later.
  const input = new PassThrough();
  process.stdin.pipe(input, { end: false });
  const transport = new StdioServerTransport(input, process.stdout);
  const closed = new Promise<void>((resolve) => {
    input.on('close', resolve);
  });
  const end = async () => {
    process.stdin.unpipe(input);
    await turn();
    await toolbox.idle();
    await turn();
    input.end();
  };
  process.stdin.once('end', () => void end());
  stopped.addEventListener('abort', () => void end());

  serveStdio(createServer, { transport, onerror: (error) => log.debug('protocol error', error) });
  await closed;
}
