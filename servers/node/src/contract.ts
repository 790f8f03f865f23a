import { readdirSync, readFileSync } from 'node:fs';
import type { Tool } from '@modelcontextprotocol/server';

/** A tool as contract/tools/*.json defines it. */
export type ToolDefinition = Tool;

// The same number of steps in the repository, in the image and in a build made elsewhere: all keep the repository's layout.
const TOOLS = new URL('../../../../contract/tools/', import.meta.url);

/** Reads the contract's tool definitions, sorted by name. Throws if the folder is missing or a file is not JSON. */
export function loadToolDefinitions(): readonly ToolDefinition[] {
  return readdirSync(TOOLS)
    .filter((file) => file.endsWith('.json'))
    .sort()
    .map((file) => JSON.parse(readFileSync(new URL(file, TOOLS), 'utf8')) as ToolDefinition);
}
