// The client's own code against crates/protocol/vectors: values to produce, and inputs to refuse.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { concat, isAddressEqual, keccak256, numberToHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import * as p from './protocol.mjs';
import { checkNextHeader } from './receipts.mjs';

const read = (name) => JSON.parse(readFileSync(new URL(`../../crates/protocol/vectors/${name}.json`, import.meta.url), 'utf8'));
const number = (value) => Number(value);

const headerJson = (message) => ({
  number: number(message.number),
  first_sequence: number(message.firstSequence),
  count: message.count,
  previous_head: message.previousHead,
  head: message.head,
  root: message.root,
  history: message.history,
  state: message.state,
  sealed_at_ms: number(message.sealedAt),
});

const refuses = (call, why) => assert.throws(call, p.Refused, why);
const refusesLater = (promise, why) => assert.rejects(promise, p.Refused, why);

test('EIP-712: domains, requests, headers and checkpoints', async () => {
  const vectors = read('eip712');
  const domains = vectors.domains.map(({ chainId, verifyingContract }) => p.domainOf(chainId, verifyingContract));
  domains.forEach((domain, i) => assert.equal(p.separator(domain), vectors.domains[i].separator));
  for (const request of vectors.requests) {
    const { message, domain } = request;
    const digest = p.digestOf(domains[domain], 'ActionRequest', message);
    assert.deepEqual(message.actions.map(p.actionHash), request.action_hashes, request.label);
    assert.deepEqual(message.actions.map((_, i) => p.saltOf(request.salt_seed, i)), message.actions.map(({ salt }) => salt));
    assert.equal(digest, request.digest, request.label);
    const account = privateKeyToAccount(vectors.keys[request.signer].private);
    assert.equal(await account.sign({ hash: digest }), request.signature, request.label);
    assert.deepEqual(message.actions.map(({ salt }) => p.authorityOf(request.signature, salt)), request.authorities);
  }
  for (const [type, list] of [['Batch', vectors.headers], ['Checkpoint', vectors.checkpoints]]) {
    for (const { message, domain, struct_hash, digest, signature } of list) {
      assert.equal(p.structHash(type, message), struct_hash);
      assert.equal(p.digestOf(domains[domain], type, message), digest);
      assert.equal(await p.recoverSigner(digest, signature), vectors.keys.sequencer.address);
    }
  }
});

test('signatures: spellings that are taken, and those that are refused', async () => {
  const vectors = read('eip712');
  const domains = vectors.domains.map(({ chainId, verifyingContract }) => p.domainOf(chainId, verifyingContract));
  for (const { received, kept, kept_hash } of vectors.spellings) {
    assert.equal(p.keptSignature(received), kept);
    assert.equal(keccak256(p.keptSignature(received)), kept_hash);
  }
  const accept = async ({ domain, message, signature }) => {
    const found = await p.recoverSigner(p.digestOf(domains[domain], 'ActionRequest', message), signature);
    if (!isAddressEqual(found, message.signer)) throw new p.Refused('another signer');
  };
  await accept(vectors.must_refuse.good);
  for (const bad of vectors.must_refuse.refused) await refusesLater(accept(bad), bad.why);
});

test('chain: what one action makes starts with integrities of their own', () => {
  const { content, integrity } = read('spec').second_resources;
  integrity.forEach((first, index) => assert.equal(p.firstIntegrity(content, index), first));
});

test('chain: contents, integrities, leaves, heads, ids and proofs of a log', async () => {
  const vectors = read('chain');
  const trust = { domain: p.domainOf(vectors.domain.chainId, vectors.domain.verifyingContract), sequencer: vectors.keys.sequencer.address };
  let head = p.separator(trust.domain);
  assert.equal(head, vectors.domain_separator);
  const leaves = vectors.batches.map(() => []);
  const lastTimes = [];
  for (const record of vectors.records) {
    const request = vectors.requests[record.request];
    const action = request.message.actions[record.index];
    const authority = p.authorityOf(request.signature, action.salt);
    const content = p.contentOf({ ...action, signer: request.message.signer, authority });
    const integrity = p.nextIntegrity(record.previous_integrity, content);
    const leaf = p.leafOf({ sequence: record.sequence, timestamp_ms: record.timestamp_ms, content, integrity });
    head = p.nextHead(head, leaf);
    const found = { authority, content, integrity, leaf, head, id: p.idText('act', content) };
    for (const [name, value] of Object.entries(found)) assert.equal(value, record[name], `${name} of ${record.sequence}`);
    for (const { prefix, index, id, integrity: first } of record.made) {
      assert.equal(p.madeId(prefix, content, index), id);
      if (first !== undefined) assert.equal(p.firstIntegrity(content, index), first);
    }
    leaves[record.batch].push(leaf);
    lastTimes[record.batch] = number(record.timestamp_ms);
    const { root, count } = vectors.batches[record.batch].message;
    p.checkInclusion(root, count, [record.leaf_index], [leaf], record.path);
  }
  for (const request of vectors.requests.filter(({ leaf_indices: indices }) => indices.length > 0)) {
    const { root, count } = vectors.batches[request.batch].message;
    p.checkInclusion(root, count, request.leaf_indices, request.leaf_indices.map((i) => leaves[request.batch][i]), request.multiproof);
  }
  const hashes = vectors.batches.map((batch) => batch.batch_hash);
  let previous = null;
  for (const [i, batch] of vectors.batches.entries()) {
    const header = headerJson(batch.message);
    assert.equal(p.batchHash(header), batch.batch_hash);
    assert.equal(p.idText('bat', batch.batch_hash), batch.id);
    await checkNextHeader({ header, signature: batch.signature }, leaves[i], lastTimes[i], previous, hashes.slice(0, i), trust);
    previous = header;
  }
  for (const { message, struct_hash, anchor_id, digest, signature, batch_paths } of vectors.checkpoints) {
    assert.equal(p.structHash('Checkpoint', message), struct_hash);
    assert.equal(p.idText('anc', struct_hash), anchor_id);
    assert.equal(await p.recoverSigner(digest, signature), trust.sequencer);
    batch_paths.forEach((path, i) => p.checkInclusion(message.history, message.batches, [i], [p.logLeaf(hashes[i])], path));
  }
  const root = (size) => p.rootOf(hashes.slice(0, size).map(p.logLeaf));
  for (const { from, to, proof } of vectors.consistency) p.checkConsistency(from, to, root(from), root(to), proof);
  const { after_batch: after, headers } = vectors.must_refuse;
  for (const bad of headers) {
    const batch = { header: headerJson(bad.message), signature: bad.signature };
    const before = headerJson(vectors.batches[after].message);
    await refusesLater(checkNextHeader(batch, leaves[after + 1], lastTimes[after + 1], before, hashes.slice(0, after + 1), trust), bad.why);
  }
});

test('ids: spellings', () => {
  const { ids } = read('chain');
  for (const { bytes, id } of ids.text) {
    assert.equal(p.idBytes(id), bytes);
    assert.equal(p.idText(id.slice(0, 3), `${bytes}${'00'.repeat(16)}`), id);
  }
  for (const { prefix, index, id } of ids.made) assert.equal(p.madeId(prefix, ids.content, index), id);
  for (const bad of ids.must_refuse) refuses(() => p.idBytes(bad), bad);
});

test('trees: roots, paths, multiproofs, consistency, and those that are refused', () => {
  const vectors = read('trees');
  const u64 = (n) => numberToHex(n, { size: 8 });
  const leafAt = (i) => keccak256(concat(['0x00', u64(i)]));
  const logLeafAt = (i) => p.logLeaf(keccak256(u64(i)));
  const list = (size, of) => Array.from({ length: size }, (_, i) => of(i));
  for (const { size, root, paths, multiproofs } of vectors.batch_trees) {
    assert.equal(p.rootOf(list(size, leafAt)), root, `size ${size}`);
    for (const [index, path] of Object.entries(paths)) p.checkInclusion(root, size, [index], [leafAt(Number(index))], path);
    for (const { indices, proof } of multiproofs ?? []) p.checkInclusion(root, size, indices, indices.map(leafAt), proof);
  }
  for (const { size, root, last_path: path, consistency } of vectors.log_trees) {
    assert.equal(p.rootOf(list(size, logLeafAt)), root, `log of ${size}`);
    if (size > 0) p.checkInclusion(root, size, [size - 1], [logLeafAt(size - 1)], path);
    for (const [from, proof] of Object.entries(consistency ?? {})) {
      p.checkConsistency(from, size, p.rootOf(list(Number(from), logLeafAt)), root, proof);
    }
  }
  for (const { why, root, size, index, leaf, proof } of vectors.must_refuse.paths) refuses(() => p.checkInclusion(root, size, [index], [leaf], proof), why);
  for (const { why, root, size, indices, leaves, proof } of vectors.must_refuse.multiproofs) refuses(() => p.checkInclusion(root, size, indices, leaves, proof), why);
  for (const { why, from, to, first, second, proof } of vectors.must_refuse.consistency) refuses(() => p.checkConsistency(from, to, first, second, proof), why);
});
