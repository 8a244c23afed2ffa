// The table of files that all checkers share: receipts, proof files and claims. This client reaches the same verdicts.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { checkClaim, endProofs, keyHash } from './claim.mjs';
import { Refused, domainOf } from './protocol.mjs';
import { readJson } from './reading.mjs';
import { checkBatchReceipt, checkProofFile, checkReceipt } from './receipts.mjs';

const read = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const [first, , ...lines] = read('crates/protocol/vectors/files.json').split('\n');
const state = JSON.parse(`${first.replace(/,$/, '')}}`);
const trust = { domain: domainOf(state.domain.chain_id, state.domain.verifying_contract), sequencer: state.sequencer };
const key = JSON.parse(read('crates/prover/keys/dev-insecure.json'));

// One case per line, the file last, which is read as it is spelled.
const cases = lines.slice(0, -2).map((line) => {
  const whole = line.replace(/,$/, '');
  const entry = JSON.parse(whole);
  return { ...entry, text: entry.text ?? whole.slice(whole.indexOf('"file":') + 7, -1) };
});

const CHECKS = {
  receipt: (file, [content]) => checkReceipt(file, trust, content),
  receipts: (file, contents) => checkBatchReceipt(file, trust, contents),
  proof: (file) => checkProofFile(file, trust),
  claim: (file) => checkClaim(file, trust, key),
};

after(endProofs);

for (const [kind, check] of Object.entries(CHECKS)) {
  // Holds invariant 70.
  test(`every ${kind} of the table has its verdict`, async () => {
    const ofKind = cases.filter((entry) => entry.kind === kind);
    assert.ok(ofKind.filter(({ valid }) => valid).length >= 7 && ofKind.length >= 40, 'there are cases');
    for (const { name, valid, text, contents } of ofKind) {
      const verdict = (async () => check(readJson(text), contents))();
      if (valid) await assert.doesNotReject(verdict, name);
      else await assert.rejects(verdict, Refused, name);
    }
  });
}

test('a point of another group is refused as such, whatever its pairing', async () => {
  const { text } = cases.find(({ name }) => name.endsWith('a point of another group'));
  await assert.rejects(checkClaim(readJson(text), trust, key), /no point of its group/);
});

test('a key with a public secret counts on test chains alone, and no other key is taken for it', async () => {
  const good = cases.find(({ kind, valid }) => kind === 'claim' && valid);
  const elsewhere = { ...trust, domain: { ...trust.domain, chainId: 1n } };
  await assert.rejects(checkClaim(readJson(good.text), elsewhere, key), /anybody can prove anything/);
  const other = { ...key, IC: [...key.IC.slice(1), key.IC[0]] };
  assert.notEqual(keyHash(other), keyHash(key));
  await assert.rejects(checkClaim(readJson(good.text), trust, other), /another key/);
});
