import {
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerOptions,
  type StandardSchemaV1,
} from '@modelcontextprotocol/server';
import type { Logger } from './log.ts';
import { packageInfo } from './package.ts';
import type { Toolbox } from './toolbox.ts';

/** The revisions with an initialize handshake, the preferred one first. The SDK's own list has 2024-10-07 too. */
export const HANDSHAKE_REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];

const IDENTITY = { name: packageInfo.name, version: packageInfo.version };
const OPTIONS: ServerOptions = { capabilities: { tools: {} }, supportedProtocolVersions: HANDSHAKE_REVISIONS };

interface Params {
  readonly [name: string]: unknown;
}

/**
 * Hands the params to the handler as they came. With the SDK's schemas instead, a wrong type in tools/list would be
 * answered with −32603, and an argument named __proto__ would vanish without a word.
 */
const ANY_PARAMS: StandardSchemaV1<unknown, Params> = {
  '~standard': { version: 1, vendor: 'mcp-parity', validate: (value) => ({ value: value as Params }) },
};

/**
 * Returns a factory of SDK servers, one for each request or session: an instance that is shared between clients sends
 * answers to the wrong one (GHSA-345p-7cg4-v4c7). Instances are cheap, because the tools are compiled before.
 */
export function createServerFactory(toolbox: Toolbox, log: Logger): () => Server {
  const list = { tools: [...toolbox.definitions] };
  return () => {
    // Server and not McpServer, which converts each tool's schema again in each instance (typescript-sdk#2838).
    const server = new Server(IDENTITY, OPTIONS);
    server.onerror = (error) => log.debug('protocol error', error);
    server.setRequestHandler('tools/list', { params: ANY_PARAMS }, ({ cursor }) => {
      if (cursor !== undefined) {
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Invalid cursor: there is one page only');
      }
      return list;
    });
    server.setRequestHandler('tools/call', { params: ANY_PARAMS }, async (params) => {
      try {
        return await toolbox.call(params.name, params.arguments);
      } catch (error) {
        if (!(error instanceof ProtocolError)) {
          log.error(`the tool ${params.name} has a bug`, error);
        }
        throw error;
      }
    });
    return server;
  };
}
