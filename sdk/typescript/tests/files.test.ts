// The table of files that all checkers share: receipts, proof files and claims. The SDK comes to the same verdicts.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Refused, domainOf, verificationKeyHash, verifyBatchReceipt, verifyClaim, verifyProofFile, verifyReceipt } from '@kedge/sdk/verify';
import { accelerate } from '@kedge/sdk/node';
import { javascriptCurve, replaceCurve } from '#dist/protocol/curve.js';
import { repository } from './setup.js';

type Hex = `0x${string}`;
interface Case {
  name: string;
  kind: string;
  valid: boolean;
  contents: Hex[];
  text: string;
}

const read = (path: string): string => readFileSync(new URL(path, repository), 'utf8');
const [first = '', , ...lines] = read('protocol/vectors/files.json').split('\n');
const state = JSON.parse(`${first.replace(/,$/, '')}}`);
const trust = { domain: domainOf(BigInt(state.domain.chain_id), state.domain.verifying_contract), sequencer: state.sequencer };
const key = JSON.parse(read('prover/keys/dev-insecure.json'));

// A case a line, and the file last: it is read as it is spelled.
const cases: Case[] = lines.slice(0, -2).map((line) => {
  const whole = line.replace(/,$/, '');
  const entry = JSON.parse(whole);
  return { ...entry, text: entry.text ?? whole.slice(whole.indexOf('"file":') + 7, -1) };
});

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
