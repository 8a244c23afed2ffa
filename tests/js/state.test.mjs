// State proofs and entries against crates/protocol/vectors/state.json.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Refused } from './protocol.mjs';
import { EMPTY_TRIE, checkStateProof, decodeRlp, entryOf } from './state.mjs';

const vectors = JSON.parse(readFileSync(new URL('../../crates/protocol/vectors/state.json', import.meta.url), 'utf8'));

// Holds invariant 253.
test('entries and absences are shown, wrong proofs and malformed entries are refused', () => {
  let shown = 0;
  const types = new Set();
  for (const { root, present, absent } of vectors.cases) {
    for (const { key, entry, nodes } of present) {
      checkStateProof(root, key, entry, nodes);
      types.add(entryOf(key, entry, 5_000_000n).type);
    }
    for (const { key, nodes } of absent) checkStateProof(root, key, '0x', nodes);
    shown += present.length + absent.length;
  }
  assert.deepEqual([vectors.cases.length, shown, types.size], [5, 31, 10]);
  assert.equal(vectors.empty_root, EMPTY_TRIE);
  for (const { why, root, key, entry, nodes } of vectors.must_refuse) assert.throws(() => checkStateProof(root, key, entry, nodes), Refused, why);
  assert.equal(vectors.must_refuse.length, 18);
  for (const { why, root, key, entry, nodes, checkpoint_sequence: last } of vectors.malformed) {
    checkStateProof(root, key, entry, nodes);
    assert.throws(() => entryOf(key, entry, BigInt(last)), Refused, why);
  }
  assert.equal(vectors.malformed.length, 25);
});

test('what no encoder writes is refused', () => {
  for (const bytes of ['0x', '0x8100', '0xb801ff', '0xc1', '0xc0c0', '0xbfffffffffffffffff', `0x${'c1'.repeat(100_000)}c0`]) {
    assert.throws(() => decodeRlp(bytes), Refused, bytes.slice(0, 20));
  }
});
