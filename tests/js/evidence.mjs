// Checks of evidence of faults, written from docs/PROTOCOL.md alone. A Refused says why nothing is proven.

import { isAddressEqual } from 'viem';
import * as p from './protocol.mjs';
import { address, listOf, readJson, refuseUnless, shape, text, u32, u64, word } from './reading.mjs';
import { checkpoint as checkpointOf, header as headerOf } from './receipts.mjs';

const BYTES_MAX = 128 * 1024;
const PATH_MAX = 65;
const LEAVES_MAX = 500;

/** The members of an object with exactly these. */
function members(value, ...names) {
  return shape('record', Object.fromEntries(names.map((name) => [name, (member) => member])))(value);
}

const words = (list, most) => listOf(word, most)(list);
const path = (list) => words(list, PATH_MAX);

const evidenceFile = shape('file', {
  format: text,
  version: u32,
  domain: shape('domain', { chain_id: u64, verifying_contract: address }),
  evidence: (value) => {
    refuseUnless(value !== null && typeof value === 'object', 'no object');
    return value;
  },
});
const leafOf = shape('leaf', { sequence: u64, timestamp_ms: u64, content: word, integrity: word });

function signature(value) {
  const { signature: signed, key_index: index } = members(value, 'signature', 'key_index');
  return { signature: p.keptSignature(signed), keyIndex: u32(index) };
}

class Judge {
  constructor(trust) {
    this.trust = trust;
    this.domain = p.domainOf(trust.domain.chain_id, trust.domain.verifying_contract);
  }

  async signer(digest, batch, { signature: signed, keyIndex }) {
    const found = await p.recoverSigner(digest, signed);
    const term = this.trust.keys[Number(keyIndex)];
    refuseUnless(term !== undefined, 'no such key');
    refuseUnless(isAddressEqual(found, term.key) && batch >= BigInt(term.from_batch), 'signed by none that could sign it');
  }

  anchored(batches) {
    const history = this.trust.anchored.get(u64(batches));
    refuseUnless(history !== undefined, 'no such checkpoint is anchored');
    return history;
  }

  async header(value) {
    const { header: record, standing: stands } = members(value, 'header', 'standing');
    const header = headerOf(record);
    const [[kind, standing]] = Object.entries(members(stands, Object.keys(Object(stands))[0] ?? ''));
    const hash = p.batchHash(header);
    if (kind === 'signed') {
      await this.signer(p.digestOf(this.domain, 'Batch', p.headerMessage(header)), header.number, signature(standing));
    } else {
      refuseUnless(kind === 'anchored', 'neither signed nor anchored');
      const { batches, path: way } = members(standing, 'batches', 'path');
      p.checkInclusion(this.anchored(batches), batches, [header.number], [p.logLeaf(hash)], path(way));
    }
    return { ...header, hash };
  }

  async checkpoint(value) {
    const { checkpoint: record, ...signed } = members(value, 'checkpoint', 'signature', 'key_index');
    const checkpoint = checkpointOf(record);
    refuseUnless(checkpoint.batches > 0n, 'a checkpoint of nothing');
    const digest = p.digestOf(this.domain, 'Checkpoint', p.checkpointMessage(checkpoint));
    await this.signer(digest, checkpoint.batches - 1n, signature(signed));
    return checkpoint;
  }

  async leaf(value) {
    const { leaf: record, index: place, path: way, batch } = members(value, 'leaf', 'index', 'path', 'batch');
    const leaf = leafOf(record);
    const index = u32(place);
    const header = await this.header(batch);
    p.checkInclusion(header.root, header.count, [index], [p.leafOf(leaf)], path(way));
    return { ...leaf, index, header };
  }

  beginning(size, batches, root, proof) {
    const history = this.anchored(batches);
    if (size === 0n) refuseUnless(proof.length === 0 && root === p.EMPTY, 'every log begins with nothing');
    else p.checkConsistency(size, batches, root, history, proof);
  }
}

const after = (header) => header.first_sequence + header.count;

// One function per fault: whether the records, each of them valid, contradict each other.
const FAULTS = {
  conflicting_batches: [['first', 'second'], async (judge, { first, second }) => {
    const [one, other] = [await judge.header(first), await judge.header(second)];
    return one.hash !== other.hash && one.number === other.number;
  }],
  conflicting_checkpoints: [['first', 'second'], async (judge, { first, second }) => {
    const [one, other] = [await judge.checkpoint(first), await judge.checkpoint(second)];
    return one.batches === other.batches && ['sequence', 'head', 'history', 'state'].some((name) => one[name] !== other[name]);
  }],
  omitted_batch: [['left', 'anchored_batches', 'held', 'path'], async (judge, { left, anchored_batches, held, path: way }) => {
    const header = await judge.header(left);
    p.checkInclusion(judge.anchored(anchored_batches), anchored_batches, [header.number], [p.logLeaf(word(held))], path(way));
    return word(held) !== header.hash;
  }],
  false_checkpoint: [['signed', 'last', 'path'], async (judge, { signed, last, path: way }) => {
    const checkpoint = await judge.checkpoint(signed);
    const header = headerOf(last);
    p.checkInclusion(checkpoint.history, checkpoint.batches, [checkpoint.batches - 1n], [p.logLeaf(p.batchHash(header))], path(way));
    return checkpoint.head !== header.head || checkpoint.sequence + 1n !== after(header);
  }],
  false_history: [['batch', 'anchored_batches', 'beginning', 'proof'], async (judge, { batch, anchored_batches, beginning, proof }) => {
    const header = await judge.header(batch);
    judge.beginning(header.number, anchored_batches, word(beginning), path(proof));
    return header.history !== word(beginning);
  }],
  false_checkpoint_history: [['signed', 'anchored_batches', 'beginning', 'proof'], async (judge, { signed, anchored_batches, beginning, proof }) => {
    const checkpoint = await judge.checkpoint(signed);
    judge.beginning(checkpoint.batches, anchored_batches, word(beginning), path(proof));
    return checkpoint.history !== word(beginning);
  }],
  broken_link: [['before', 'next'], async (judge, { before, next }) => {
    const [one, two] = [await judge.header(before), await judge.header(next)];
    const joins = two.first_sequence === after(one) && two.previous_head === one.head && two.sealed_at_ms >= one.sealed_at_ms;
    return one.number + 1n === two.number && !joins;
  }],
  broken_header: [['batch'], async (judge, { batch }) => {
    const header = await judge.header(batch);
    const begins = header.first_sequence === 1n && header.previous_head === p.separator(judge.domain) && header.history === p.EMPTY;
    return (header.number === 0n && !begins) || header.count === 0n || header.count > 500n;
  }],
  broken_leaf: [['action'], async (judge, { action }) => {
    const { sequence, timestamp_ms, index, header } = await judge.leaf(action);
    return sequence !== header.first_sequence + index || timestamp_ms > header.sealed_at_ms;
  }],
  falling_time: [['earlier', 'later'], async (judge, { earlier, later }) => {
    const [one, two] = [await judge.leaf(earlier), await judge.leaf(later)];
    return one.sequence < two.sequence && one.timestamp_ms > two.timestamp_ms;
  }],
  broken_chain: [['batch', 'leaves'], async (judge, { batch, leaves }) => {
    const header = await judge.header(batch);
    const hashes = words(leaves, LEAVES_MAX);
    refuseUnless(hashes.length > 0 && BigInt(hashes.length) === header.count && p.rootOf(hashes) === header.root, 'other leaves');
    return hashes.reduce(p.nextHead, header.previous_head) !== header.head;
  }],
  replayed_content: [['first', 'second'], async (judge, { first, second }) => {
    const [one, two] = [await judge.leaf(first), await judge.leaf(second)];
    return one.content === two.content && one.sequence !== two.sequence;
  }],
  forked_integrity: [['first', 'second', 'previous'], async (judge, { first, second, previous }) => {
    const [one, two] = [await judge.leaf(first), await judge.leaf(second)];
    const extend = [one, two].every(({ content, integrity }) => p.nextIntegrity(word(previous), content) === integrity);
    return word(previous) !== p.ZERO && one.sequence !== two.sequence && extend;
  }],
};

/**
 * The fault that an evidence file shows, for a log that the caller trusts: {domain: {chain_id, verifying_contract},
 * keys: [{key, from_batch}], anchored: Map of bigint to history}.
 */
export async function verifyEvidence(file, trust) {
  refuseUnless(Buffer.byteLength(file) <= BYTES_MAX, 'too long for evidence');
  const read = evidenceFile(readJson(file));
  refuseUnless(read.format === 'kedge.evidence' && read.version === 1n, 'another format or version');
  const { chain_id: chainId, verifying_contract: contract } = read.domain;
  const { domain } = trust;
  refuseUnless(chainId === BigInt(domain.chain_id) && isAddressEqual(contract, domain.verifying_contract), 'another log');
  const { fault, ...records } = read.evidence;
  refuseUnless(typeof fault === 'string' && Object.hasOwn(FAULTS, fault), 'no fault of that name');
  const [names, contradict] = FAULTS[fault];
  refuseUnless(await contradict(new Judge(trust), members(records, ...names)), 'nothing contradicts');
  return fault;
}
