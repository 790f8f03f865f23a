import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { byCodePoint } from '../src/tools/process.ts';

describe('byCodePoint', () => {
  it('sorts as UTF-8 does', () => {
    const keys = ['😁', '😀', '～', 'a', '', 'ab', '\u{10ffff}', '\ue000', 'é', '😀a', '\u0000', 'Z'];
    const asUtf8 = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    assert.deepEqual(keys.toSorted(byCodePoint), asUtf8);
    assert.notDeepEqual(keys.toSorted(), asUtf8, 'these keys must tell the two orders apart');
  });
});
