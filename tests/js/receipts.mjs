// Checks of receipts, proof files and headers, after docs/PROTOCOL.md. `trust` is {domain, sequencer}: yours, never the
// file's. `sequencer` is the log's only key, or the list of its keys, each as {key, from_batch}. Files are values of
// readJson, or of JSON.parse where a reader may be lenient.

import { isAddressEqual } from 'viem';
import * as p from './protocol.mjs';
import { address, decimal, flag, listOf, nullOr, refuseUnless, shape, text, u32, u64, word } from './reading.mjs';

const ACTIONS_MAX = 500;

// The forms

const words = listOf(word);
const domain = shape('domain', { chain_id: u64, verifying_contract: address });

export const header = shape('header', {
  number: u64,
  first_sequence: u64,
  count: u32,
  previous_head: word,
  head: word,
  root: word,
  history: word,
  state: word,
  sealed_at_ms: u64,
});

const batch = shape('batch', { header, signature: p.keptSignature });
const leaf = shape('leaf', { sequence: u64, timestamp_ms: u64, content: word, previous_integrity: word, integrity: word });
const receipt = shape('receipt', { version: u32, domain, leaf, leaf_index: u32, path: words, batch });
const entry = shape('entry', { index: u32, sequence: u64, timestamp_ms: u64, leaf_index: u32, previous_integrity: word });
const batchReceipt = shape('receipt', { version: u32, domain, batch, actions: listOf(entry), proof: words });
const inclusion = shape('inclusion', { leaf_index: u32, path: words });

export const checkpoint = shape('checkpoint', { batches: u64, sequence: u64, head: word, history: word, state: word, issued_at_ms: u64 });

const anchor = shape('anchor', {
  checkpoint: shape('checkpoint', { checkpoint, signature: p.keptSignature }),
  path: words,
  contract: address,
  transaction_hash: nullOr(word),
  block_number: nullOr(u64),
});

const authorship = shape('authorship', {
  signature: p.keptSignature,
  nonce: decimal,
  deadline: u64,
  atomic: flag,
  index: u32,
  salt: word,
  action_hashes: words,
});

const action = shape('action', { kind: text, target: text, payload: text, signer: address, authority: word });

const proofFile = shape(
  'proof file',
  { version: u32, domain, sequencer: address, action, leaf, inclusion, batch, anchor: nullOr(anchor) },
  { authorship },
);

/** The members that claim files share with proof files. */
export const placed = { domain, sequencer: address, inclusion, batch, anchor: nullOr(anchor) };

// The checks

function checkLog(file, version, trust) {
  refuseUnless(file.version === version, 'an unknown version');
  const { chain_id: chainId, verifying_contract: contract } = file.domain;
  const isOurs = chainId === trust.domain.chainId && isAddressEqual(contract, trust.domain.verifyingContract);
  refuseUnless(isOurs, 'another log: the domain is not the expected one');
}

/** The key that signs a batch: of the last entry that begins at or before it. */
export function keyOf(sequencer, batch) {
  if (typeof sequencer === 'string') return sequencer;
  const begun = sequencer.filter(({ from_batch: from }) => BigInt(from) <= BigInt(batch));
  refuseUnless(begun.length > 0, 'no key is known for the batch');
  return begun.at(-1).key;
}

async function checkHeader({ header: sealed, signature }, trust) {
  refuseUnless(sealed.count >= 1n && sealed.count <= ACTIONS_MAX, 'a batch holds 1 to 500 actions');
  await p.checkSigner(p.digestOf(trust.domain, 'Batch', p.headerMessage(sealed)), signature, keyOf(trust.sequencer, sealed.number), 'the header');
}

function checkPlace(sealed, { sequence, timestamp_ms: time }, index) {
  refuseUnless(index < sealed.count && sequence === sealed.first_sequence + index, 'sequence and leaf index do not fit the header');
  refuseUnless(time <= sealed.sealed_at_ms, 'the action is later than its batch');
}

function checkIntegrity({ previous_integrity: previous, content, integrity }) {
  refuseUnless(p.nextIntegrity(previous, content) === integrity, 'the integrity does not follow');
}

async function checkAnchor({ checkpoint: signed, path }, sealed, trust) {
  const { checkpoint: message, signature } = signed;
  const digest = p.digestOf(trust.domain, 'Checkpoint', p.checkpointMessage(message));
  refuseUnless(message.batches > 0n, 'the checkpoint is of an empty log');
  await p.checkSigner(digest, signature, keyOf(trust.sequencer, message.batches - 1n), 'the checkpoint');
  const last = sealed.first_sequence + sealed.count - 1n;
  refuseUnless(sealed.number < message.batches && last <= message.sequence, 'the checkpoint does not cover the batch');
  p.checkInclusion(message.history, message.batches, [sealed.number], [p.logLeaf(p.batchHash(sealed))], path);
}

/** Checks a leaf's place in the log: its path to a signed header, and to a checkpoint if there is one. */
export async function checkPlaced(file, version, trust) {
  checkLog(file, version, trust);
  await checkHeader(file.batch, trust);
  const { header: sealed } = file.batch;
  const { leaf_index: index, path } = file.inclusion;
  checkPlace(sealed, file.leaf, index);
  p.checkInclusion(sealed.root, sealed.count, [index], [p.leafOf(file.leaf)], path);
  if (file.anchor !== null) await checkAnchor(file.anchor, sealed, trust);
}

/** Checks a receipt of one action; `content` is what the sender computed. */
export async function checkReceipt(file, trust, content) {
  const { leaf_index: index, path, ...read } = receipt(file);
  checkIntegrity(read.leaf);
  await checkPlaced({ ...read, inclusion: { leaf_index: index, path }, anchor: null }, 1n, trust);
  refuseUnless(read.leaf.content === content, 'the receipt is of another action');
}

/** Checks the receipt of a request of many actions; `contents` are those of all its actions. */
export async function checkBatchReceipt(file, trust, contents) {
  const read = batchReceipt(file);
  checkLog(read, 1n, trust);
  await checkHeader(read.batch, trust);
  const { header: sealed } = read.batch;
  const leaves = read.actions.map((done, i) => {
    refuseUnless(i === 0 || read.actions[i - 1].index < done.index, 'entries stand in request order');
    refuseUnless(done.index < contents.length, 'the request has no such action');
    checkPlace(sealed, done, done.leaf_index);
    const content = contents[Number(done.index)];
    return p.leafOf({ ...done, content, integrity: p.nextIntegrity(done.previous_integrity, content) });
  });
  const indices = read.actions.map((done) => done.leaf_index);
  p.checkInclusion(sealed.root, sealed.count, indices, leaves, read.proof);
}

async function checkAuthorship(shown, { kind, target, payload, signer, authority }, time, trust) {
  const { signature, nonce, deadline, atomic, index, salt, action_hashes: hashes } = shown;
  refuseUnless(hashes.length <= ACTIONS_MAX, 'a request holds at most 500 actions');
  refuseUnless(hashes[Number(index)] === p.actionHash({ kind, target, payload, salt }), 'the action is not at its index');
  refuseUnless(p.authorityOf(signature, salt) === authority, 'the authority is not made from this signature');
  const digest = p.requestDigest(trust.domain, { signer, nonce, deadline, atomic }, hashes);
  await p.checkSigner(digest, signature, signer, 'the request');
  refuseUnless(time <= deadline * 1000n, 'the action was placed after the deadline');
}

/** Checks a proof file offline and returns what it shows. */
export async function checkProofFile(file, trust) {
  const read = proofFile(file);
  refuseUnless(p.contentOf(read.action) === read.leaf.content, 'the words are not those of the content');
  checkIntegrity(read.leaf);
  await checkPlaced(read, 1n, trust);
  if (read.authorship !== undefined) await checkAuthorship(read.authorship, read.action, read.leaf.timestamp_ms, trust);
  return { anchored: read.anchor !== null, authorship: read.authorship !== undefined };
}

/**
 * A follower's check of the header after `previous` (null before batch 0), given its leaves and the hashes before it.
 * `lastTime` is the time of its last leaf, if known.
 */
export async function checkNextHeader(file, leaves, lastTime, previous, hashesBefore, trust) {
  const read = batch(file);
  await checkHeader(read, trust);
  const { header: next } = read;
  const start = { number: -1n, first_sequence: 1n, count: 0n, head: p.separator(trust.domain), sealed_at_ms: 0n };
  const before = previous === null ? start : header(previous);
  refuseUnless(next.number === before.number + 1n, 'numbers rise by one');
  refuseUnless(next.first_sequence === before.first_sequence + before.count, 'sequences have no gap');
  refuseUnless(next.previous_head === before.head, 'heads join');
  refuseUnless(next.sealed_at_ms >= before.sealed_at_ms, 'time does not fall');
  refuseUnless(lastTime <= next.sealed_at_ms, 'no leaf is later than the batch');
  refuseUnless(next.history === p.rootOf(hashesBefore.map(p.logLeaf)), 'the history is the root over the batches before');
  refuseUnless(next.state === p.ZERO, 'state is not built');
  refuseUnless(BigInt(leaves.length) === next.count, 'as many leaves as the header counts');
  refuseUnless(p.rootOf(leaves) === next.root, 'the leaves lead to the root');
  refuseUnless(leaves.reduce(p.nextHead, next.previous_head) === next.head, 'the leaves lead to the head');
}
