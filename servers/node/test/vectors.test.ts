import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CallToolResult, ProtocolError } from '@modelcontextprotocol/server';
import { Ajv2020, type AnySchemaObject } from 'ajv/dist/2020.js';
import { loadToolDefinitions } from '../src/contract.ts';
import type { Toolbox } from '../src/toolbox.ts';
import { Upstream } from '../src/tools/fetch.ts';
import { createToolbox } from '../src/tools/index.ts';
import { type CallVector, type Expect, loadCallVectors } from './vectors.ts';

const vectors = loadCallVectors();

/** What the upstream must answer, by path, taken from the answers that the vectors want of fetch_external_data. */
const documents = new Map<string, { status: number; body: unknown }>(
  vectors
    .flatMap(({ steps }) => steps)
    .filter(({ call, expect }) => call.tool === 'fetch_external_data' && expect.result !== undefined)
    .map(({ expect }) => JSON.parse(expect.result ?? '') as { endpoint: string; status: number; body: unknown })
    .map(({ endpoint, status, body }) => [endpoint, { status, body }]),
);

/** Stands in for cmd/upstream, including the answers that are none. */
const upstreamServer: Server = createServer(async (req, res) => {
  const path = req.url ?? '';
  const [, kind, value] = path.split('/');
  const document = documents.get(path);
  if (kind === 'delay') {
    await sleep(Number(value));
  }
  if (document) {
    res.writeHead(document.status).end(JSON.stringify(document.body));
  } else if (kind === 'big') {
    res.end(JSON.stringify({ pad: 'a'.repeat(Number(value) - 10) }));
  } else if (kind === 'status') {
    res.writeHead(Number(value)).end();
  } else if (kind === 'notjson') {
    res.end('<p>');
  } else {
    res.destroy();
  }
});

describe('the contract', () => {
  let upstream: Upstream;
  let stoppedUpstream: Upstream;
  let toolbox: Toolbox;
  let toolboxWithoutUpstream: Toolbox;
  const outputSchemas = new Map(
    loadToolDefinitions().map(({ name, outputSchema }) => [
      name,
      new Ajv2020().compile(outputSchema as AnySchemaObject),
    ]),
  );

  before(async () => {
    await once(upstreamServer.listen(0, '127.0.0.1'), 'listening');
    upstream = new Upstream(`http://127.0.0.1:${(upstreamServer.address() as AddressInfo).port}`);
    const stopped = createServer();
    await once(stopped.listen(0, '127.0.0.1'), 'listening');
    stoppedUpstream = new Upstream(`http://127.0.0.1:${(stopped.address() as AddressInfo).port}`);
    stopped.close();
    toolbox = createToolbox(upstream);
    toolboxWithoutUpstream = createToolbox(stoppedUpstream);
  });

  after(async () => {
    upstreamServer.closeAllConnections();
    upstreamServer.close();
    await Promise.all([upstream.close(), stoppedUpstream.close()]);
  });

  it('has vectors for every tool', () => {
    const called = new Set(vectors.flatMap(({ steps }) => steps.map(({ call }) => call.tool)));
    for (const { name } of toolbox.definitions) {
      assert.ok(called.has(name), `no vector calls ${name}`);
    }
  });

  for (const vector of vectors) {
    it(vector.name, async () => {
      const tools = vector.upstreamIsStopped ? toolboxWithoutUpstream : toolbox;
      const start = performance.now();
      await Promise.all(
        Array.from({ length: vector.parallel }, async () => {
          for (const { call, expect } of vector.steps) {
            const args = call.arguments === undefined ? undefined : JSON.parse(call.arguments);
            const answer = await tools.call(call.tool, args).catch((error: unknown) => error);
            requireAnswer(answer, expect);
            if (expect.result !== undefined) {
              const isValid = outputSchemas.get(call.tool);
              assert.ok(isValid?.((answer as CallToolResult).structuredContent), 'does not satisfy the output schema');
            }
          }
        }),
      );
      requireTime(vector, performance.now() - start);
    });
  }
});

function requireAnswer(answer: unknown, expect: Expect): void {
  if (expect.any_of) {
    // A bad request is found before a tool is called; what gets here must be answered one of the other ways.
    const errors = expect.any_of.filter((one) => !one.bad_request).map((one) => failureOf(answer, one));
    assert.ok(errors.includes(undefined), errors.join('; '));
  } else if (expect.rpc_error) {
    assert.ok(answer instanceof ProtocolError, `wanted a protocol error, got ${JSON.stringify(answer)}`);
    assert.ok(expect.rpc_error.includes(answer.code), `code ${answer.code}`);
  } else {
    assert.ok(!(answer instanceof Error), String(answer));
    const { content, structuredContent, isError } = answer as CallToolResult;
    assert.equal(content.length, 1);
    const [block] = content;
    assert.ok(block?.type === 'text');
    if (expect.result === undefined) {
      assert.equal(isError, true);
      assert.equal(structuredContent, undefined);
      assert.ok(expect.tool_error !== undefined, 'the vector wants neither a result nor an error');
      assert.match(block.text, new RegExp(`\\b${expect.tool_error}\\b`));
    } else {
      assert.equal(isError, undefined, block.text.slice(0, 200));
      // Both sides through JSON: it knows no -0, and neither does the contract.
      assert.deepEqual(
        JSON.parse(JSON.stringify(structuredContent)),
        JSON.parse(JSON.stringify(JSON.parse(expect.result))),
      );
      assert.equal(block.text, JSON.stringify(structuredContent));
    }
  }
}

function failureOf(answer: unknown, expect: Expect): string | undefined {
  try {
    requireAnswer(answer, expect);
    return undefined;
  } catch (error) {
    return String(error);
  }
}

function requireTime({ minMs, parallel }: CallVector, ms: number): void {
  assert.ok(ms >= minMs, `took ${ms} ms, wanted at least ${minMs}`);
  if (parallel > 1 && minMs > 0) {
    assert.ok(ms < parallel * minMs, `took ${ms} ms: ${parallel} calls of ${minMs} ms ran one after the other`);
  }
}
