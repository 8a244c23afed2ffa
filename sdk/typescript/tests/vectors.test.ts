// The SDK's hashing and signing against crates/protocol/vectors: what it must make, and what it must refuse.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Follower, Refused, checkConsistency, checkInclusion, contentOf, domainOf, firstIntegrity, idBytes, madeId, rootOf, separatorOf, signConsent, signRequest, signerOf } from '@kedge/sdk';
import { toHex } from '#dist/protocol/bytes.js';
import { authorityOf, idOf, leafOf, nextHead, nextIntegrity } from '#dist/protocol/chain.js';
import { keptSignature, recoverAddress } from '#dist/protocol/curve.js';
import { type Header, actionHash, batchHash, checkpointHash, consentDigest, digestOf, requestDigest, saltOf } from '#dist/protocol/domain.js';
import { hashOf, u64 } from '#dist/protocol/hash.js';
import { logLeaf } from '#dist/protocol/merkle.js';
import { repository } from './setup.js';

// Vectors are read as they are: their types are what README.md of the folder states.
// eslint-disable-next-line
type Vectors = any;
type Hex = `0x${string}`;

const read = (name: string): Vectors => JSON.parse(readFileSync(new URL(`crates/protocol/vectors/${name}.json`, repository), 'utf8'));

const headerOf = (message: Vectors): Header => ({
  number: BigInt(message.number),
  first_sequence: BigInt(message.firstSequence),
  count: BigInt(message.count),
  previous_head: message.previousHead,
  head: message.head,
  root: message.root,
  history: message.history,
  state: message.state,
  sealed_at_ms: BigInt(message.sealedAt),
});

const checkpointOf = (message: Vectors): Parameters<typeof checkpointHash>[0] => ({
  ...message,
  batches: BigInt(message.batches),
  sequence: BigInt(message.sequence),
  issued_at_ms: BigInt(message.issuedAt),
});

const headOf = (message: Vectors) => ({ signer: message.signer as Hex, nonce: BigInt(message.nonce), deadline: BigInt(message.deadline), atomic: message.atomic });

test('requests, headers and checkpoints have the digests and signatures of the vectors', async () => {
  const vectors = read('eip712');
  const domains = vectors.domains.map((domain: Vectors) => domainOf(BigInt(domain.chainId), domain.verifyingContract));
  domains.forEach((domain: Vectors, i: number) => assert.equal(separatorOf(domain), vectors.domains[i].separator));
  for (const { label, message, domain, salt_seed: seed, ...expected } of vectors.requests) {
    const hashes = message.actions.map(actionHash);
    assert.deepEqual(hashes, expected.action_hashes, label);
    assert.equal(requestDigest(domains[domain], headOf(message), hashes), expected.digest, label);
    const signer = signerOf(vectors.keys[expected.signer].private);
    assert.equal(signer.address, message.signer);
    const actions = message.actions.map(({ kind, target, payload }: Vectors) => ({ kind, target, payload }));
    const signed = await signRequest(signer, domains[domain], actions, { ...headOf(message), seed });
    assert.equal(signed.signature, expected.signature, label);
    assert.deepEqual(message.actions.map(({ salt }: Vectors) => authorityOf(signed.signature, salt)), expected.authorities);
    message.actions.forEach(({ salt }: Vectors, i: number) => assert.equal(saltOf(seed, i), salt));
  }
  for (const [list, hash] of [
    [vectors.headers, (message: Vectors) => batchHash(headerOf(message))],
    [vectors.checkpoints, (message: Vectors) => checkpointHash(checkpointOf(message))],
  ] as const) {
    for (const { message, domain, struct_hash, digest, signature } of list) {
      assert.equal(hash(message), struct_hash);
      assert.equal(digestOf(domains[domain], hash(message)), digest);
      assert.equal(recoverAddress(digest, signature), vectors.keys.sequencer.address.toLowerCase());
    }
  }
});

test('signatures are kept in one form, and the others are refused', () => {
  const vectors = read('eip712');
  for (const { received, kept } of vectors.spellings) assert.equal(keptSignature(received), kept);
  const accept = ({ domain, message, signature }: Vectors): void => {
    const { chainId, verifyingContract } = vectors.domains[domain];
    const digest = requestDigest(domainOf(BigInt(chainId), verifyingContract), headOf(message), message.actions.map(actionHash));
    if (recoverAddress(digest, signature) !== message.signer.toLowerCase()) throw new Refused('another signer');
  };
  accept(vectors.must_refuse.good);
  for (const bad of vectors.must_refuse.refused) assert.throws(() => accept(bad), Refused, bad.why);
});

test('the consents of keys to join a wallet', async () => {
  const vectors = read('possession');
  const domain = domainOf(BigInt(vectors.domain.chainId), vectors.domain.verifyingContract);
  const accept = ({ message: { wallet, key }, signature }: Vectors): void => {
    if (recoverAddress(consentDigest(domain, wallet, key), keptSignature(signature)) !== key.toLowerCase()) throw new Refused('another signer');
  };
  for (const good of vectors.good) {
    const { wallet, key } = good.message;
    assert.equal(consentDigest(domain, wallet, key), good.digest);
    accept(good);
    const made = await signConsent(signerOf(vectors.keys.carol.private), domain, wallet);
    assert.deepEqual(made, { address: key, possession: keptSignature(good.signature) });
  }
  for (const bad of vectors.must_refuse) assert.throws(() => accept(bad), Refused, bad.why);
});

test('contents, integrities, leaves, heads and ids of a log', () => {
  const vectors = read('chain');
  const domain = domainOf(BigInt(vectors.domain.chainId), vectors.domain.verifyingContract);
  let head: Hex = separatorOf(domain);
  const leaves: Hex[][] = vectors.batches.map(() => []);
  const lastTimes: bigint[] = [];
  for (const record of vectors.records) {
    const request = vectors.requests[record.request];
    const action = request.message.actions[record.index];
    const authority = authorityOf(request.signature, action.salt);
    const content = contentOf({ ...action, signer: request.message.signer, authority });
    const integrity = nextIntegrity(record.previous_integrity, content);
    const leaf = leafOf({ sequence: BigInt(record.sequence), timestamp_ms: BigInt(record.timestamp_ms), content, integrity });
    head = nextHead(head, leaf);
    for (const [name, value] of Object.entries({ authority, content, integrity, leaf, head, id: idOf('act', content) })) assert.equal(value, record[name], name);
    for (const { prefix, index, id, integrity: first } of record.made) {
      assert.equal(madeId(prefix, content, index), id);
      if (first !== undefined) assert.equal(firstIntegrity(content, index), first);
    }
    leaves[record.batch]?.push(leaf);
    lastTimes[record.batch] = BigInt(record.timestamp_ms);
    const { root, count } = vectors.batches[record.batch].message;
    checkInclusion(root, BigInt(count), [BigInt(record.leaf_index)], [leaf], record.path);
  }
  const trust = { domain, sequencer: vectors.keys.sequencer.address };
  const signed = (message: Vectors, signature: string): object => ({ header: { ...headerOf(message) }, signature });
  const followed = (batches: number): Follower => {
    const follower = new Follower(trust);
    for (let i = 0; i < batches; i += 1) follower.accept(signed(vectors.batches[i].message, vectors.batches[i].signature), leaves[i] as Hex[], lastTimes[i]);
    return follower;
  };
  followed(vectors.batches.length);
  const { after_batch: after, headers } = vectors.must_refuse;
  for (const { message, signature, why } of headers) {
    const follower = followed(after + 1);
    assert.throws(() => follower.accept(signed(message, signature), leaves[after + 1] as Hex[], lastTimes[after + 1]), Refused, why);
  }
  const hashes: Hex[] = vectors.batches.map((batch: Vectors) => batch.batch_hash);
  const rootAt = (size: number): Hex => rootOf(hashes.slice(0, size).map(logLeaf));
  for (const { from, to, proof } of vectors.consistency) checkConsistency(BigInt(from), BigInt(to), rootAt(from), rootAt(to), proof);
});

test('ids are spelled in one way', () => {
  const { ids } = read('chain');
  for (const { bytes, id } of ids.text) assert.equal(idBytes(id), bytes);
  for (const { prefix, index, id } of ids.made) assert.equal(madeId(prefix, ids.content, index), id);
  for (const bad of ids.must_refuse) assert.throws(() => idBytes(bad), Refused, bad);
});

test('trees: roots, paths, multiproofs, consistency, and those that are refused', () => {
  const vectors = read('trees');
  const leafAt = (i: number): Hex => hashOf('0x00', u64(i));
  const logLeafAt = (i: number): Hex => logLeaf(hashOf(u64(i)));
  const list = (size: number, of: (i: number) => Hex): Hex[] => Array.from({ length: size }, (_, i) => of(i));
  const big = (numbers: Vectors[]): bigint[] => numbers.map(BigInt);
  for (const { size, root, paths, multiproofs } of vectors.batch_trees) {
    assert.equal(rootOf(list(size, leafAt)), root, `size ${size}`);
    for (const [index, path] of Object.entries(paths)) checkInclusion(root, BigInt(size), [BigInt(index)], [leafAt(Number(index))], path as Hex[]);
    for (const { indices, proof } of multiproofs ?? []) checkInclusion(root, BigInt(size), big(indices), indices.map(leafAt), proof);
  }
  for (const { size, root, consistency } of vectors.log_trees) {
    assert.equal(rootOf(list(size, logLeafAt)), root, `log of ${size}`);
    for (const [from, proof] of Object.entries(consistency ?? {})) checkConsistency(BigInt(from), BigInt(size), rootOf(list(Number(from), logLeafAt)), root, proof as Hex[]);
  }
  const { paths, multiproofs, consistency } = vectors.must_refuse;
  for (const { why, root, size, index, leaf, proof } of paths) assert.throws(() => checkInclusion(root, BigInt(size), [BigInt(index)], [leaf], proof), Refused, why);
  for (const { why, root, size, indices, leaves, proof } of multiproofs) assert.throws(() => checkInclusion(root, BigInt(size), big(indices), leaves, proof), Refused, why);
  for (const { why, from, to, first, second, proof } of consistency) assert.throws(() => checkConsistency(BigInt(from), BigInt(to), first, second, proof), Refused, why);
  assert.equal(toHex(new Uint8Array([1, 255])), '0x01ff');
});
