import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';

/** An answer that a vector wants from a tool call: one of these. */
export interface Expect {
  readonly result?: string;
  readonly tool_error?: string;
  readonly rpc_error?: readonly number[];
  readonly bad_request?: boolean;
  readonly any_of?: readonly Expect[];
}

interface Step {
  readonly call?: { readonly tool: string; readonly arguments?: string };
  readonly expect?: Expect;
}

interface RawVector extends Step {
  readonly name: string;
  readonly sessions?: string;
  readonly upstream?: string;
  readonly parallel?: number;
  readonly min_ms?: number;
  readonly steps?: readonly Step[];
}

/** A vector whose steps are tool calls only. */
export interface CallVector {
  readonly name: string;
  readonly upstreamIsStopped: boolean;
  readonly parallel: number;
  readonly minMs: number;
  readonly steps: readonly Required<Step>[];
}

const FOLDER = new URL('../../../../contract/vectors/', import.meta.url);

/** Reads the contract's vectors that are about tool calls. Those about HTTP or about sessions need a client: see the gate. */
export function loadCallVectors(): CallVector[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.yaml'))
    .flatMap((file) => {
      const { group, vectors } = parse(readFileSync(new URL(file, FOLDER), 'utf8')) as {
        group: string;
        vectors: RawVector[];
      };
      return vectors
        .filter((vector) => vector.sessions === undefined && (vector.steps ?? [vector]).every((step) => step.call))
        .map((vector) => ({
          name: `${group}/${vector.name}`,
          upstreamIsStopped: vector.upstream === 'stopped',
          parallel: vector.parallel ?? 1,
          minMs: vector.min_ms ?? 0,
          steps: (vector.steps ?? [vector]).map((step) => expandStep(step as Required<Step>)),
        }));
    });
}

function expandStep({ call, expect }: Required<Step>): Required<Step> {
  return {
    call: { tool: call.tool, ...(call.arguments !== undefined && { arguments: expand(call.arguments) }) },
    expect: { ...expect, ...(expect.result !== undefined && { result: expand(expect.result) }) },
  };
}

/** Expands the templates that the vectors use. Throws on any other. */
function expand(text: string): string {
  const expanded = text
    .replace(/\{\{range \$i := seq (\d+)\}\}\{\{if \$i\}\},\{\{end\}\}(.*)\{\{end\}\}/, (_, count, item: string) =>
      Array.from({ length: Number(count) }, (_, i) =>
        item
          .replaceAll('{{$i}}', String(i))
          .replace(/\{\{mod \(mul \$i (\d+)\) (\d+)\}\}/, (_, factor, modulus) =>
            String((i * Number(factor)) % Number(modulus)),
          ),
      ).join(','),
    )
    .replace(/\{\{repeat ("(?:[^"\\]|\\.)*") (\d+)\}\}/g, (_, literal, count) =>
      (JSON.parse(literal) as string).repeat(Number(count)),
    );
  if (expanded.includes('{{')) {
    throw new Error(`this test does not know the template in ${expanded.slice(0, 200)}; teach it to expand()`);
  }
  return expanded;
}
