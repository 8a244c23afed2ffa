// The table of verdicts that all checkers share: this client reaches the same ones.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { verifyEvidence } from './evidence.mjs';
import { EMPTY, Refused } from './protocol.mjs';

const text = readFileSync(new URL('../../crates/protocol/vectors/verdicts.json', import.meta.url), 'utf8');
const table = JSON.parse(text);
// One case per line; the files stay text, because their numbers go up to 2^64.
const CASE = /"name":"([^"]*)","proven":(true|false),.*?"file":(\{.*\}),"calldata":/;
const cases = text.split('\n').map((line) => CASE.exec(line)).filter(Boolean);
const trust = {
  domain: table.domain,
  keys: table.keys,
  anchored: new Map(table.checkpoints.map(({ checkpoint }) => [BigInt(checkpoint.batches), checkpoint.history])).set(0n, EMPTY),
};

// Holds invariant 70.
test('every case of the table has its verdict', async () => {
  assert.equal(cases.length, table.cases.length);
  assert.ok(cases.length >= 60);
  for (const [, name, proven, file] of cases) {
    const verdict = verifyEvidence(file, trust);
    if (proven === 'true') assert.equal(await verdict, JSON.parse(file).evidence.fault, name);
    else await assert.rejects(verdict, Refused, name);
  }
});

// Holds invariant 70.
test('files of another form, or of another log, prove nothing', async () => {
  const [, , , good] = cases.find(([, , proven]) => proven === 'true');
  const edited = (edit) => {
    const file = JSON.parse(good);
    edit(file);
    return JSON.stringify(file);
  };
  const spoiled = [
    edited((file) => { file.format = 'kedge.other'; }),
    edited((file) => { file.version = 2; }),
    edited((file) => { file.domain.chain_id = 1; }),
    edited((file) => { file.surplus = 1; }),
    edited((file) => { file.evidence.surplus = 1; }),
    edited((file) => { file.evidence.first.header.number = 0.5; }),
    edited((file) => { file.evidence.fault = 'toString'; }),
    `${good}${' '.repeat(128 * 1024)}`,
    '{',
  ];
  for (const file of spoiled) await assert.rejects(verifyEvidence(file, trust), Refused, file.slice(0, 200));
  assert.equal(await verifyEvidence(good, trust), JSON.parse(good).evidence.fault);
});
