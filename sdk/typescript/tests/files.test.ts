// The table of files that all checkers share: receipts, proof files and claims. The SDK comes to the same verdicts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  Refused,
  verificationKeyHash,
  verifyBatchReceipt,
  verifyCheckpoint,
  verifyClaim,
  verifyHeader,
  verifyProofFile,
  verifyReceipt,
} from '@kedge/sdk/verify';
import { accelerate } from '@kedge/sdk/node';
import { javascriptCurve, replaceCurve } from '#dist/protocol/curve.js';
import { type Case, cases, read, trust } from './cases.js';

type Hex = `0x${string}`;

const key = JSON.parse(read('crates/prover/keys/dev-insecure.json'));

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

/** The steps that began in the check of a file, and whether it holds. */
function stepsOf(kind: string, name: string): { steps: string[]; valid: boolean } {
  const entry = cases.find((one) => one.kind === kind && one.name === name) as Case;
  const steps: string[] = [];
  const onStep = (step: string): void => void steps.push(step);
  try {
    if (kind === 'receipt') verifyReceipt(entry.text, trust, entry.contents[0] as Hex, undefined, onStep);
    else if (kind === 'receipts') verifyBatchReceipt(entry.text, trust, entry.contents, undefined, onStep);
    else if (kind === 'proof') verifyProofFile(entry.text, trust, onStep);
    else verifyClaim(entry.text, trust, key, onStep);
    return { steps, valid: true };
  } catch (error) {
    assert.ok(error instanceof Refused);
    return { steps, valid: false };
  }
}

test('a check reports each step as it begins, and ends with the one that does not hold', () => {
  const placed = ['log', 'leaf', 'path', 'header'];
  const whole = {
    receipt: { of: 'the receipt of action 9', steps: ['form', 'words', ...placed] },
    receipts: { of: 'the receipt of request 7', steps: ['form', 'log', 'header', 'leaf', 'path'] },
    proof: { of: 'who did action 10', steps: ['form', 'words', ...placed, 'history', 'authorship'] },
  };
  for (const [kind, { of, steps }] of Object.entries(whole)) assert.deepEqual(stepsOf(kind, of), { steps, valid: true });
  const claim = cases.find((entry) => entry.kind === 'claim' && entry.valid) as Case;
  const shown = stepsOf('claim', claim.name);
  assert.deepEqual([shown.valid, shown.steps.slice(0, 2), shown.steps.at(-1)], [true, ['form', 'words'], 'proof']);
  const faults: [string, string, string][] = [
    ['receipt', 'the receipt of action 9: cut off', 'form'],
    ['receipt', "another action's receipt: held against this one", 'words'],
    ['receipt', 'the receipt of action 9: domain.chain_id turned', 'log'],
    ['receipt', 'the receipt of action 9: leaf.integrity turned', 'leaf'],
    ['receipt', 'the receipt of action 9: path.0 turned', 'path'],
    ['receipt', 'the receipt of action 9: signed by somebody else', 'header'],
    ['receipts', 'the receipt of request 7: proof.0 turned', 'path'],
    ['proof', 'who did action 10: another payload', 'words'],
  ];
  for (const [kind, name, last] of faults) {
    const { steps, valid } = stepsOf(kind, name);
    assert.deepEqual([valid, steps.at(-1)], [false, last], name);
  }
});

test('headers and checkpoints are checked alone', () => {
  const { text } = cases.find(({ name }) => name === 'who did action 10') as Case;
  const { batch, anchor } = JSON.parse(text);
  assert.equal(verifyHeader(batch, trust).number, BigInt(batch.header.number));
  assert.equal(verifyCheckpoint(JSON.stringify(anchor.checkpoint), trust).history, anchor.checkpoint.checkpoint.history);
  const later = { ...batch, header: { ...batch.header, sealed_at_ms: batch.header.sealed_at_ms + 1 } };
  assert.throws(() => verifyHeader(later, trust), /header of batch .* was signed by/);
  const longer = { ...anchor.checkpoint, checkpoint: { ...anchor.checkpoint.checkpoint, sequence: anchor.checkpoint.checkpoint.sequence + 1 } };
  assert.throws(() => verifyCheckpoint(longer, trust), /checkpoint was signed by/);
  assert.throws(() => verifyHeader({ header: batch.header }, trust), Refused);
});
