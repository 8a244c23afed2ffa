// The sequencer's keys over time, and headers that contradict each other, on a small log that the test signs itself.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Contradiction, type Domain, Refused, type Trust, contentOf, domainOf, followSequencerKeys, generateKey, signerOf, verifyExport, verifyReceipt, writeJson } from '@kedge/sdk';
import { HeaderWatch } from '#dist/client/header-watch.js';
import { TrustKeeper } from '#dist/client/trust-keeper.js';
import { fromHex } from '#dist/protocol/bytes.js';
import { type ActionWords, authorityOf, firstIntegrity, leafOf, nextHead } from '#dist/protocol/chain.js';
import { signDigest, signerUnless } from '#dist/protocol/curve.js';
import { type Header, actionHash, batchHash, checkpointHash, digestOf, requestDigest, saltOf, separatorOf } from '#dist/protocol/domain.js';
import { EMPTY, ZERO } from '#dist/protocol/hash.js';
import { logLeaf } from '#dist/protocol/merkle.js';

type Hex = `0x${string}`;

const domain: Domain = domainOf(31337, '0x5FbDB2315678afecb367f032d93F642f64180aa3');
const keys = [generateKey(), generateKey(), generateKey()] as [Hex, Hex, Hex];
const addresses = keys.map((key) => signerOf(key).address) as [Hex, Hex, Hex];
const trust: Trust = { domain, sequencer: addresses[0] };

/** A batch of one action, with its proof file and its receipt. */
function batchOf(number: number, action: { kind: string; target: string; payload: string }, key: Hex, changes: Partial<Header> = {}, by = { signer: addresses[2], authority: ZERO }) {
  const words: ActionWords = { ...action, ...by };
  const content = contentOf(words);
  const leaf = { sequence: BigInt(number + 1), timestamp_ms: 5n, content, previous_integrity: ZERO, integrity: firstIntegrity(content, 0) };
  const root = leafOf(leaf);
  const start = separatorOf(domain);
  const header: Header = {
    number: BigInt(number),
    first_sequence: leaf.sequence,
    count: 1n,
    previous_head: start,
    head: nextHead(start, root),
    root,
    history: EMPTY,
    state: ZERO,
    sealed_at_ms: 9n,
    ...changes,
  };
  const batch = { header, signature: signDigest(digestOf(domain, batchHash(header)), fromHex(key)) };
  const log = { version: 1n, domain: { chain_id: domain.chainId, verifying_contract: domain.verifyingContract } };
  const proof = { ...log, sequencer: addresses[0], action: words, leaf, inclusion: { leaf_index: 0n, path: [] }, batch, anchor: null };
  return { proof, receipt: { ...log, leaf, leaf_index: 0n, path: [], batch }, content, batch, leaf, root, hash: batchHash(header) };
}

const naming = (target: string, from: number) => ({ kind: 'system.sequencer_key', target, payload: `{"from_batch":${from}}` });
const first = { key: addresses[0], from_batch: 0, proof: null };
const second = { key: addresses[1], from_batch: 2, proof: batchOf(1, naming(addresses[1], 2), keys[0]).proof };

test('keys are followed as the log names them, and no others', () => {
  const followed = followSequencerKeys([first, second], trust);
  assert.equal(followed.sequencer.length, 2);
  const later = batchOf(7, { kind: 'mint', target: 'tpl', payload: '{}' }, keys[1]);
  assert.equal(verifyReceipt(later.receipt, followed, later.content).batch, 7n);
  assert.throws(() => verifyReceipt(later.receipt, trust, later.content), /signed by/);
  // A key that the contract alone names is not the log's to show.
  assert.equal(followSequencerKeys([first, { ...second, proof: null }], trust).sequencer.length, 1);
  const refused: [string, unknown][] = [
    ['another first key', [{ ...first, key: addresses[1] }]],
    ['a proof under a key that is not trusted', [first, { ...second, proof: batchOf(1, naming(addresses[1], 2), keys[1]).proof }]],
    ['another key than the proof names', [first, { ...second, key: addresses[2] }]],
    ['another batch than the proof names', [first, { ...second, from_batch: 3 }]],
    ['an action of another kind', [first, { ...second, proof: batchOf(1, { ...naming(addresses[1], 2), kind: 'emit' }, keys[0]).proof }]],
    ['a key that signs its own naming', [first, { ...second, from_batch: 1, proof: batchOf(1, naming(addresses[1], 1), keys[0]).proof }]],
  ];
  for (const [why, items] of refused) assert.throws(() => followSequencerKeys(items as unknown[], trust), Refused, why);
});

test('a client follows the keys when a receipt is signed with a new one', async () => {
  let asked = 0;
  const source = {
    domain: () => Promise.reject(new Error('the trust was given')),
    sequencerKeys: async () => {
      asked += 1;
      return [first, second];
    },
  };
  const keeper = new TrustKeeper(source, trust);
  const [early, later] = [batchOf(0, naming('a', 9), keys[0]), batchOf(7, naming('b', 9), keys[1])];
  await keeper.receipt(early.receipt, early.content);
  assert.equal(asked, 0);
  await keeper.receipt(later.receipt, later.content);
  await keeper.receipt(later.receipt, later.content);
  assert.equal(asked, 1);
  const forged = batchOf(8, naming('c', 9), keys[2]);
  await assert.rejects(keeper.receipt(forged.receipt, forged.content), Refused);
});

test('two headers that contradict each other are evidence', () => {
  const { batch, hash } = batchOf(3, naming('a', 9), keys[0]);
  const watch = new HeaderWatch();
  watch.add(batch, hash);
  assert.ok(watch.has(batch, hash));
  assert.equal(watch.has({ ...batch, signature: '0x' }, hash), false);
  const twin = batchOf(3, naming('b', 9), keys[0]);
  assert.throws(() => watch.add(twin.batch, twin.hash), (error) => error instanceof Contradiction && error.evidence.length === 2);
  const joined = batchOf(4, naming('c', 9), keys[0], { previous_head: batch.header.head });
  const torn = batchOf(4, naming('c', 9), keys[0]);
  assert.throws(() => watch.add(torn.batch, torn.hash), Contradiction);
  watch.add(joined.batch, joined.hash);
  const early = batchOf(2, naming('d', 9), keys[0]);
  assert.throws(() => watch.add(early.batch, early.hash), Contradiction);
  for (let number = 100; number < 1200; number += 2) watch.add(batchOf(3, naming('a', 9), keys[0], { number: BigInt(number) }).batch, hash);
});

test('a key that signs often is checked against its table, as strictly', () => {
  const [key, address] = [keys[0], addresses[0]];
  for (let n = 0; n < 40; n += 1) {
    const digest = batchOf(n, naming('a', 9), key).hash;
    const signature = signDigest(digest, fromHex(key));
    assert.equal(signerUnless(address, digest, signature), null);
    const otherV = `${signature.slice(0, -2)}${signature.endsWith('1b') ? '1c' : '1b'}`;
    assert.notEqual(signerUnless(address, digest, otherV), null, 'v is part of the signature');
    assert.notEqual(signerUnless(address, batchOf(n + 1, naming('a', 9), key).hash, signature), null);
    assert.notEqual(signerUnless(addresses[1], digest, signature), null);
  }
  const zeros = `0x${'00'.repeat(64)}1b`;
  assert.throws(() => signerUnless(address, ZERO, zeros), Refused);
});

/** An export of one batch of one action, whose request `signer` claims to have signed and `key` signed. */
function exportOf(signer: Hex, key: Hex): string {
  const [seed, head] = [`0x${'07'.repeat(32)}` as Hex, { signer, nonce: 1n, deadline: 1n, atomic: false }];
  const [action, salt] = [{ kind: 'mint', target: 'tpl', payload: '{}' }, saltOf(seed, 0)];
  const signature = signDigest(requestDigest(domain, head, [actionHash({ ...action, salt })]), fromHex(key));
  const { batch, leaf, root } = batchOf(0, action, keys[0], {}, { signer, authority: authorityOf(signature, salt) });
  const { head: last, sealed_at_ms: issued_at_ms } = batch.header;
  const checkpoint = { batches: 1n, sequence: 1n, head: last, history: logLeaf(batchHash(batch.header)), state: ZERO, issued_at_ms };
  const request = { ...head, nonce: '1', signature, salt_seed: seed, first_sequence: 1n, timestamp_ms: leaf.timestamp_ms, failed: [] };
  const lines = [
    { type: 'log', version: 1, domain: { chain_id: 31337, verifying_contract: domain.verifyingContract }, from: 0, head: separatorOf(domain), sequencer: addresses[0] },
    { type: 'batch', batch, leaves: [root] },
    { type: 'request', ...request, actions: [{ index: 0, ...action, previous_integrity: ZERO }] },
    { type: 'checkpoint', checkpoint, signature: signDigest(digestOf(domain, checkpointHash(checkpoint)), fromHex(keys[0])) },
  ];
  return lines.map((line) => `${writeJson(line)}\n`).join('');
}

test('an export in which the sequencer made an action up is refused', async () => {
  assert.equal((await verifyExport(exportOf(addresses[2], keys[2]), trust)).opened, 1);
  await assert.rejects(verifyExport(exportOf(addresses[2], keys[1]), trust), /the request was signed by/);
});
