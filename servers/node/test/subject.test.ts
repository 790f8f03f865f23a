import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { parse } from 'yaml';

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

describe('the SDK', () => {
  const subject = parse(read('subject.yaml')) as { sdk: { name: string; version: string } };

  it('is the installed one', () => {
    const { version } = JSON.parse(read(`node_modules/${subject.sdk.name}/package.json`));
    assert.equal(version, subject.sdk.version);
  });

  it('is the locked one', () => {
    const lock = JSON.parse(read('package-lock.json'));
    assert.equal(lock.packages[`node_modules/${subject.sdk.name}`].version, subject.sdk.version);
  });

  it('is the one on the image', () => {
    const labels = read('Dockerfile');
    assert.ok(labels.includes(`io.mcp-parity.sdk="${subject.sdk.name}"`));
    assert.ok(labels.includes(`io.mcp-parity.sdk-version="${subject.sdk.version}"`));
  });
});
