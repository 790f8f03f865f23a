import { EventEmitter, once } from 'node:events';
import { type CallToolResult, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { type ErrorObject, Ajv2020 as JsonSchema } from 'ajv/dist/2020.js';
import type { ToolDefinition } from './contract.ts';
import { ToolError } from './tools/error.ts';

/** What a tool does with arguments that satisfy its input schema, defaults filled in. */
export type ToolFunction = (args: never) => object | Promise<object>;

/** The tools, ready to be listed and called; made once for the process. */
export class Toolbox {
  readonly definitions: readonly ToolDefinition[];
  readonly #calls = new Map<string, (args: unknown) => Promise<CallToolResult>>();

  readonly #idle = new EventEmitter();
  #running = 0;

  /** Compiles the schemas. Throws if a definition has no function or a function no definition. */
  constructor(definitions: readonly ToolDefinition[], functions: Readonly<Record<string, ToolFunction>>) {
    this.definitions = definitions;
    // allErrors stays off: the first wrong argument is enough, and a long list could be made to cost a lot.
    const schemas = new JsonSchema({ useDefaults: true, strictTypes: false });
    for (const { name, inputSchema } of definitions) {
      const run = functions[name];
      if (!run) {
        throw new Error(`the contract's tool ${name} has no function here`);
      }
      const validate = schemas.compile(inputSchema);
      this.#calls.set(name, async (args) => {
        if (!validate(args)) {
          return failure(describe(validate.errors?.[0]));
        }
        try {
          return success(await run(args as never)); // the schema has just proven the type
        } catch (error) {
          if (error instanceof ToolError) {
            return failure(error.message);
          }
          throw error;
        }
      });
    }
    for (const name of Object.keys(functions)) {
      if (!this.#calls.has(name)) {
        throw new Error(`the function ${name} has no tool in the contract`);
      }
    }
  }

  /** Calls a tool. Throws a ProtocolError (−32602) where the request itself is wrong, as the contract's table says. */
  async call(name: unknown, args: unknown = {}): Promise<CallToolResult> {
    if (typeof name !== 'string') {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'params.name must be a string');
    }
    const call = this.#calls.get(name);
    if (!call) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name}`);
    }
    if (typeof args !== 'object' || args === null || Array.isArray(args)) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'params.arguments must be an object');
    }
    this.#running++;
    try {
      return await call(args);
    } finally {
      this.#running--;
      if (this.#running === 0) {
        this.#idle.emit('idle');
      }
    }
  }

  /** Resolves when no call is running. */
  async idle(): Promise<void> {
    if (this.#running > 0) {
      await once(this.#idle, 'idle');
    }
  }
}

function success(result: object): CallToolResult {
  return {
    content: [{ type: 'text', text: JSON.stringify(result) }],
    structuredContent: result as Record<string, unknown>,
  };
}

function failure(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true };
}

/** Says what is wrong with which argument. The path of the validator's error is empty where a member is missing or extra. */
function describe(error: ErrorObject | undefined): string {
  if (error?.keyword === 'required') {
    return `the argument ${error.params.missingProperty} is missing`;
  }
  if (error?.keyword === 'additionalProperties') {
    return `the argument ${error.params.additionalProperty} is not known`;
  }
  return `the argument ${error?.instancePath.slice(1)} ${error?.message}`;
}
