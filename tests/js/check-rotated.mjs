// Checks the files of a log with a rotated sequencer's key: `node check-rotated.mjs cases.json`. With the list of keys
// all of them hold; with the first key alone, those that later keys signed do not.

import { readFile } from 'node:fs/promises';
import assert from 'node:assert/strict';
import { checkExport } from './export.mjs';
import { domainOf } from './protocol.mjs';
import { readJson } from './reading.mjs';
import { checkProofFile, checkReceipt } from './receipts.mjs';

const stated = JSON.parse(await readFile(process.argv[2], 'utf8'));
const domain = domainOf(stated.domain.chain_id, stated.domain.verifying_contract);
const trust = { domain, sequencer: stated.keys };
const first = { domain, sequencer: stated.keys[0].key };
assert.ok(stated.keys.length > 1 && stated.cases.length === stated.keys.length);
for (const [i, { receipt, content, proof }] of stated.cases.entries()) {
  await checkReceipt(readJson(receipt), trust, content);
  const shown = await checkProofFile(readJson(proof), trust);
  assert.ok(shown.anchored && shown.authorship);
  if (i === 0) continue;
  await assert.rejects(checkReceipt(readJson(receipt), first, content), /header/);
  await assert.rejects(checkProofFile(readJson(proof), first), /header/);
}
const text = await readFile(stated.export, 'utf8');
const { checkpoint } = await checkExport(text, trust);
assert.ok(checkpoint.batches > stated.keys.at(-1).from_batch);
await assert.rejects(checkExport(text, first));
