// Evidence of faults as docs/PROTOCOL.md tells it, written from that page alone. A Refused says why nothing is proven.

import { isAddressEqual } from 'viem';
import * as p from './protocol.mjs';

const BYTES_MAX = 128 * 1024;
const PATH_MAX = 65;
const LEAVES_MAX = 500;
const U32_MAX = 2n ** 32n - 1n;
const U64_MAX = 2n ** 64n - 1n;

function refuseUnless(holds, why) {
  if (!holds) throw new p.Refused(why);
}

function members(value, ...names) {
  refuseUnless(value !== null && typeof value === 'object' && !Array.isArray(value), 'no object');
  refuseUnless(Object.keys(value).sort().join() === names.sort().join(), `other members than ${names.join()}`);
  return value;
}

/** Numbers become bigints: some are above 2^53. No text of a file holds what looks like one behind a colon. */
function parsed(text) {
  refuseUnless(Buffer.byteLength(text) <= BYTES_MAX, 'too long for evidence');
  const spelled = text.replace(/(:\s*)(\d{16,20})(?=\s*[,}])/g, '$1"$2n"');
  const read = (_, value) => {
    if (typeof value === 'string' && /^\d{16,20}n$/.test(value)) return BigInt(value.slice(0, -1));
    return Number.isSafeInteger(value) ? BigInt(value) : value;
  };
  try {
    return JSON.parse(spelled, read);
  } catch {
    throw new p.Refused('no JSON');
  }
}

function number(value, most = U64_MAX) {
  refuseUnless(typeof value === 'bigint' && value >= 0n && value <= most, 'no number of its size');
  return value;
}

function word(value) {
  refuseUnless(typeof value === 'string' && /^0x[0-9a-f]{64}$/.test(value), 'no word');
  return value;
}

function words(list, most) {
  refuseUnless(Array.isArray(list) && list.length <= most, 'no list of so many words');
  return list.map(word);
}

const path = (list) => words(list, PATH_MAX);

function readHeader(value) {
  const names = ['number', 'first_sequence', 'count', 'previous_head', 'head', 'root', 'history', 'state', 'sealed_at_ms'];
  const read = members(value, ...names);
  for (const name of ['number', 'first_sequence', 'sealed_at_ms']) number(read[name]);
  number(read.count, U32_MAX);
  for (const name of ['previous_head', 'head', 'root', 'history', 'state']) word(read[name]);
  return read;
}

function signature(value) {
  members(value, 'signature', 'key_index');
  return { signature: p.keptSignature(value.signature), keyIndex: number(value.key_index, U32_MAX) };
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
    const history = this.trust.anchored.get(number(batches));
    refuseUnless(history !== undefined, 'no such checkpoint is anchored');
    return history;
  }

  async header(value) {
    members(value, 'header', 'standing');
    const header = readHeader(value.header);
    const [[kind, standing]] = Object.entries(members(value.standing, Object.keys(value.standing)[0] ?? ''));
    const hash = p.batchHash(header);
    if (kind === 'signed') {
      await this.signer(p.digestOf(this.domain, 'Batch', p.headerMessage(header)), header.number, signature(standing));
    } else {
      refuseUnless(kind === 'anchored', 'neither signed nor anchored');
      members(standing, 'batches', 'path');
      p.checkInclusion(this.anchored(standing.batches), standing.batches, [header.number], [p.logLeaf(hash)], path(standing.path));
    }
    return { ...header, hash };
  }

  async checkpoint(value) {
    const { checkpoint, ...signed } = members(value, 'checkpoint', 'signature', 'key_index');
    members(checkpoint, 'batches', 'sequence', 'head', 'history', 'state', 'issued_at_ms');
    for (const name of ['batches', 'sequence', 'issued_at_ms']) number(checkpoint[name]);
    for (const name of ['head', 'history', 'state']) word(checkpoint[name]);
    refuseUnless(checkpoint.batches > 0n, 'a checkpoint of nothing');
    const digest = p.digestOf(this.domain, 'Checkpoint', p.checkpointMessage(checkpoint));
    await this.signer(digest, checkpoint.batches - 1n, signature(signed));
    return checkpoint;
  }

  async leaf(value) {
    const { leaf, index, path: way, batch } = members(value, 'leaf', 'index', 'path', 'batch');
    members(leaf, 'sequence', 'timestamp_ms', 'content', 'integrity');
    number(leaf.sequence);
    number(leaf.timestamp_ms);
    word(leaf.content);
    word(leaf.integrity);
    const header = await this.header(batch);
    p.checkInclusion(header.root, header.count, [number(index, U32_MAX)], [p.leafOf(leaf)], path(way));
    return { ...leaf, index, header };
  }

  beginning(size, batches, root, proof) {
    const history = this.anchored(batches);
    if (size === 0n) refuseUnless(proof.length === 0 && root === p.EMPTY, 'every log begins with nothing');
    else p.checkConsistency(size, batches, root, history, proof);
  }
}

const after = (header) => header.first_sequence + header.count;

// One function a fault: whether the records, which all hold, contradict.
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
    return held !== header.hash;
  }],
  false_checkpoint: [['signed', 'last', 'path'], async (judge, { signed, last, path: way }) => {
    const checkpoint = await judge.checkpoint(signed);
    const header = readHeader(last);
    p.checkInclusion(checkpoint.history, checkpoint.batches, [checkpoint.batches - 1n], [p.logLeaf(p.batchHash(header))], path(way));
    return checkpoint.head !== header.head || checkpoint.sequence + 1n !== after(header);
  }],
  false_history: [['batch', 'anchored_batches', 'beginning', 'proof'], async (judge, { batch, anchored_batches, beginning, proof }) => {
    const header = await judge.header(batch);
    judge.beginning(header.number, anchored_batches, word(beginning), path(proof));
    return header.history !== beginning;
  }],
  false_checkpoint_history: [['signed', 'anchored_batches', 'beginning', 'proof'], async (judge, { signed, anchored_batches, beginning, proof }) => {
    const checkpoint = await judge.checkpoint(signed);
    judge.beginning(checkpoint.batches, anchored_batches, word(beginning), path(proof));
    return checkpoint.history !== beginning;
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
    return previous !== p.ZERO && one.sequence !== two.sequence && extend;
  }],
};

/**
 * The fault that an evidence file shows, for a log that the caller trusts: {domain: {chain_id, verifying_contract},
 * keys: [{key, from_batch}], anchored: Map of bigint to history}.
 */
export async function verifyEvidence(text, trust) {
  const file = members(parsed(text), 'format', 'version', 'domain', 'evidence');
  refuseUnless(file.format === 'kedge.evidence' && file.version === 1n, 'another format or version');
  const { chain_id, verifying_contract } = members(file.domain, 'chain_id', 'verifying_contract');
  const { domain } = trust;
  refuseUnless(chain_id === BigInt(domain.chain_id) && isAddressEqual(verifying_contract, domain.verifying_contract), 'another log');
  const { fault, ...records } = file.evidence;
  refuseUnless(Object.hasOwn(FAULTS, fault), 'no fault of that name');
  const [names, contradict] = FAULTS[fault];
  refuseUnless(await contradict(new Judge(trust), members(records, ...names)), 'nothing contradicts');
  return fault;
}
