// The table of files that all checkers share: receipts, proof files and claims. The SDK comes to the same verdicts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refused, verificationKeyHash, verifyBatchReceipt, verifyClaim, verifyProofFile, verifyReceipt } from '@kedge/sdk/verify';
import { accelerate } from '@kedge/sdk/node';
import { javascriptCurve, replaceCurve } from '#dist/protocol/curve.js';
import { type Case, cases, read, trust } from './cases.js';

type Hex = `0x${string}`;

const key = JSON.parse(read('prover/keys/dev-insecure.json'));

const CHECKS: Record<string, (text: string, contents: Hex[]) => unknown> = {
  receipt: (text, [content]) => verifyReceipt(text, trust, content as Hex),
  receipts: (text, contents) => verifyBatchReceipt(text, trust, contents),
  proof: (text) => verifyProofFile(text, trust),
  claim: (text) => verifyClaim(text, trust, key),
};

function checkAll(kind: string): void {
  const ofKind = cases.filter((entry) => entry.kind === kind);
  assert.ok(ofKind.filter(({ valid }) => valid).length >= 7 && ofKind.length >= 40, 'there are cases');
  for (const { name, valid, text, contents } of ofKind) {
    const check = (): unknown => CHECKS[kind]?.(text, contents);
    if (valid) assert.doesNotThrow(check, name);
    else assert.throws(check, Refused, name);
  }
}

for (const kind of Object.keys(CHECKS)) test(`every ${kind} of the table has its verdict`, () => checkAll(kind));

test('compiled functions come to the same verdicts', async () => {
  await accelerate();
  for (const kind of ['receipt', 'receipts', 'proof']) checkAll(kind);
  replaceCurve(javascriptCurve);
});

test('a point outside the group is refused as such, whatever its pairing', () => {
  const { text } = cases.find(({ name }) => name.endsWith('a point of another group')) as Case;
  assert.throws(() => verifyClaim(text, trust, key), /no point of its group/);
});

test('a key with a public secret counts on test chains alone, and no other key is accepted for it', () => {
  const good = cases.find(({ kind, valid }) => kind === 'claim' && valid) as Case;
  const elsewhere = { ...trust, domain: { ...trust.domain, chainId: 1n } };
  assert.throws(() => verifyClaim(good.text, elsewhere, key), /anybody can prove anything/);
  const other = { ...key, IC: [...key.IC.slice(1), key.IC[0]] };
  assert.notEqual(verificationKeyHash(other), verificationKeyHash(key));
  assert.throws(() => verifyClaim(good.text, trust, other), /another key/);
});
