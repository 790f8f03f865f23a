import { Pool } from 'undici';
import { ToolError } from './error.ts';

const MAX_BODY_BYTES = 1024 * 1024;
const TIMEOUT_MS = 5000;

/** The service that fetch_external_data asks, over one pool of keep-alive connections for the process. */
export class Upstream {
  readonly #pool: Pool;
  readonly #basePath: string;

  /** The base URL has no final slash. */
  constructor(baseUrl: string) {
    const { origin } = new URL(baseUrl);
    this.#pool = new Pool(origin);
    this.#basePath = new URL(baseUrl).pathname.replace(/\/$/, '');
  }

  /** fetch_external_data. Any HTTP status is an answer; a ToolError says that the upstream gave none. */
  readonly fetchExternalData = async ({ endpoint }: { endpoint: string }) => {
    try {
      // One signal for the whole exchange: undici's own timeouts cover its parts only.
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const answer = await this.#pool.request({ method: 'GET', path: this.#basePath + endpoint, signal });
      return { endpoint, status: answer.statusCode, body: parse(await readAll(answer.body)) };
    } catch (error) {
      throw new ToolError(`the upstream gave no answer for ${endpoint}: ${reason(error)}`);
    }
  };

  /** Closes the idle connections, after the calls that are in flight. */
  close(): Promise<void> {
    return this.#pool.close();
  }
}

async function readAll(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Leaving the loop early destroys the body, so that a huge one is given up and not read.
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) {
      throw new Error(`its body is larger than ${MAX_BODY_BYTES} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    throw new Error('its body is not JSON');
  }
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) {
    return String(error);
  }
  return error.name === 'TimeoutError' ? `it took longer than ${TIMEOUT_MS} ms` : error.message;
}
