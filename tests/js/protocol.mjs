// Hashing, signing and verifying as docs/PROTOCOL.md tells it. Written from that page alone: nothing here is shared with
// the server or with the Rust client. Verifiers throw a Refused with the reason; what they return, they have checked.

import { bytesToHex, concat, hashStruct, hashTypedData, hexToBytes, isAddressEqual, keccak256, numberToHex, pad, recoverAddress, sha256, stringToBytes } from 'viem';

export class Refused extends Error {}

function refuseUnless(holds, why) {
  if (!holds) throw new Refused(why);
}

export const ZERO = `0x${'00'.repeat(32)}`;
export const EMPTY = keccak256('0x');
const ACTIONS_MAX = 500;
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

const u16 = (n) => numberToHex(n, { size: 2 });
const u32 = (n) => numberToHex(n, { size: 4 });
const u64 = (n) => numberToHex(n, { size: 8 });
const textHash = (text) => keccak256(stringToBytes(text));
const join = (...parts) => keccak256(concat(parts));

export const DOMAIN_TYPE = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
];

export const TYPES = {
  EIP712Domain: DOMAIN_TYPE,
  ActionRequest: [
    { name: 'signer', type: 'address' },
    { name: 'nonce', type: 'uint64' },
    { name: 'deadline', type: 'uint64' },
    { name: 'atomic', type: 'bool' },
    { name: 'actions', type: 'Action[]' },
  ],
  Action: [
    { name: 'kind', type: 'string' },
    { name: 'target', type: 'string' },
    { name: 'payload', type: 'string' },
    { name: 'salt', type: 'bytes32' },
  ],
  Batch: [
    { name: 'number', type: 'uint64' },
    { name: 'firstSequence', type: 'uint64' },
    { name: 'count', type: 'uint32' },
    { name: 'previousHead', type: 'bytes32' },
    { name: 'head', type: 'bytes32' },
    { name: 'root', type: 'bytes32' },
    { name: 'history', type: 'bytes32' },
    { name: 'state', type: 'bytes32' },
    { name: 'sealedAt', type: 'uint64' },
  ],
  Checkpoint: [
    { name: 'batches', type: 'uint64' },
    { name: 'sequence', type: 'uint64' },
    { name: 'head', type: 'bytes32' },
    { name: 'history', type: 'bytes32' },
    { name: 'state', type: 'bytes32' },
    { name: 'issuedAt', type: 'uint64' },
  ],
};

export const domainOf = (chainId, verifyingContract) => ({ name: 'Digital Object Service', version: '3', chainId: BigInt(chainId), verifyingContract });
export const separator = (domain) => hashStruct({ data: domain, primaryType: 'EIP712Domain', types: TYPES });
export const structHash = (primaryType, data) => hashStruct({ data, primaryType, types: TYPES });
export const digestOf = (domain, primaryType, message) => hashTypedData({ domain, types: TYPES, primaryType, message });
export const saltOf = (seed, index) => join(seed, u16(index));
export const actionHash = (action) => structHash('Action', action);

/** The kept form of a signature (v 27 or 28); refuses every form that is not allowed. */
export function keptSignature(signature) {
  refuseUnless(/^0x[0-9a-fA-F]{130}$/.test(signature), 'a signature is 65 bytes');
  const bytes = hexToBytes(signature);
  if (bytes[64] < 2) bytes[64] += 27;
  refuseUnless(bytes[64] === 27 || bytes[64] === 28, 'v is 0, 1, 27 or 28');
  refuseUnless(BigInt(bytesToHex(bytes.slice(32, 64))) <= HALF_ORDER, 's is at most half the order');
  return bytesToHex(bytes);
}

export async function recoverSigner(digest, signature) {
  const kept = keptSignature(signature);
  try {
    return await recoverAddress({ hash: digest, signature: kept });
  } catch {
    throw new Refused('the signature recovers to no key');
  }
}

async function checkSigner(digest, signature, expected, what) {
  const found = await recoverSigner(digest, signature);
  refuseUnless(isAddressEqual(found, expected), `${what} was signed by ${found}, not by ${expected}`);
}

export const digestText = (bytes) => `sha-256=:${Buffer.from(hexToBytes(sha256(bytes))).toString('base64')}:`;

// Layer 2

export const authorityOf = (signature, salt) => join(keccak256(keptSignature(signature)), salt);

export function contentOf({ kind, target, payload, signer, authority }) {
  return sha256(concat([textHash(kind), textHash(target), textHash(payload), pad(signer, { size: 32 }).toLowerCase(), authority]));
}

export const nextIntegrity = (previous, content) => join(previous, content);
export const nextHead = (previous, leaf) => join(previous, leaf);
export const leafOf = ({ sequence, timestamp_ms, content, integrity }) => join('0x00', u64(sequence), u64(timestamp_ms), content, integrity);

const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';

export function idText(prefix, hash) {
  let number = BigInt(hash.slice(0, 34));
  let digits = '';
  for (let i = 0; i < 26; i += 1) {
    digits = DIGITS[Number(number & 31n)] + digits;
    number >>= 5n;
  }
  return `${prefix}_${digits}`;
}

export const madeId = (prefix, content, index) => idText(prefix, join(content, u32(index)));

/** The 16 bytes of an id; refuses every other spelling. */
export function idBytes(text) {
  const prefixes = 'wal org key tpl var obj act bat anc evt fil whk dlv dsp'.split(' ');
  const match = /^([a-z]{3})_([0-7][0-9a-hjkmnp-tv-z]{25})$/.exec(text);
  refuseUnless(match !== null && prefixes.includes(match[1]), 'no id');
  let number = 0n;
  for (const digit of match[2]) number = (number << 5n) | BigInt(DIGITS.indexOf(digit));
  return numberToHex(number, { size: 16 });
}

// Layer 3

const node = (left, right) => join('0x01', left, right);
export const logLeaf = (batchHash) => join('0x00', batchHash);

export function rootOf(leaves) {
  if (leaves.length === 0) return EMPTY;
  let layer = leaves;
  while (layer.length > 1) {
    const above = [];
    for (let i = 0; i < layer.length; i += 2) above.push(i + 1 < layer.length ? node(layer[i], layer[i + 1]) : layer[i]);
    layer = above;
  }
  return layer[0];
}

/** Checks a path (one index) or a multiproof. Indices and count are numbers or bigints. */
export function checkInclusion(root, count, indices, leaves, proof) {
  refuseUnless(indices.length > 0 && indices.length === leaves.length, 'one leaf for each index, and at least one');
  let width = BigInt(count);
  let layer = indices.map((index, i) => ({ index: BigInt(index), hash: leaves[i] }));
  refuseUnless(layer.every(({ index }, i) => i === 0 || layer[i - 1].index < index), 'indices rise strictly');
  refuseUnless(layer[layer.length - 1].index < width, 'indices lie below the count');
  const words = [...proof];
  const take = () => {
    refuseUnless(words.length > 0, 'the proof is too short');
    return words.shift();
  };
  while (width > 1n) {
    const above = [];
    for (let i = 0; i < layer.length; i += 1) {
      const { index, hash } = layer[i];
      let parent;
      if (index % 2n === 1n) parent = node(take(), hash);
      else if (index + 1n === width) parent = hash;
      else if (i + 1 < layer.length && layer[i + 1].index === index + 1n) parent = node(hash, layer[(i += 1)].hash);
      else parent = node(hash, take());
      above.push({ index: index / 2n, hash: parent });
    }
    layer = above;
    width = (width + 1n) / 2n;
  }
  refuseUnless(words.length === 0, 'the proof is too long');
  refuseUnless(layer[0].hash === root, 'the proof leads to another root');
}

export function checkConsistency(from, to, first, second, proof) {
  const [m, n] = [BigInt(from), BigInt(to)];
  refuseUnless(m >= 1n && m <= n, 'sizes are at least 1 and do not fall');
  if (m === n) {
    refuseUnless(proof.length === 0, 'the proof is too long');
    refuseUnless(first === second, 'equal sizes have equal roots');
    return;
  }
  const words = (m & (m - 1n)) === 0n ? [first, ...proof] : [...proof];
  refuseUnless(words.length > 0, 'the proof is too short');
  let [f, s] = [m - 1n, n - 1n];
  const halve = () => {
    f >>= 1n;
    s >>= 1n;
  };
  while (f % 2n === 1n) halve();
  let a = words[0];
  let b = words[0];
  for (const word of words.slice(1)) {
    refuseUnless(s !== 0n, 'the proof is too long');
    if (f % 2n === 1n || f === s) {
      a = node(word, a);
      b = node(word, b);
      while (f % 2n === 0n && f !== 0n) halve();
    } else {
      b = node(b, word);
    }
    halve();
  }
  refuseUnless(s === 0n, 'the proof is too short');
  refuseUnless(a === first && b === second, 'the proof leads to other roots');
}

// The JSON forms

function checkShape(value, what, members) {
  refuseUnless(value !== null && typeof value === 'object' && !Array.isArray(value), `${what} is no object`);
  const found = Object.keys(value).sort().join();
  refuseUnless(found === [...members].sort().join(), `${what} has the members ${found}`);
}

function checkNumbers(value, what, members) {
  for (const member of members) refuseUnless(Number.isSafeInteger(value[member]) && value[member] >= 0, `${what}: ${member} is no number that can be read here`);
}

const isWord = (value) => typeof value === 'string' && /^0x[0-9a-f]{64}$/.test(value);

function checkWords(value, what, members) {
  for (const member of members) refuseUnless(isWord(value[member]), `${what}: ${member} is no word`);
}

function checkWordList(list, what) {
  refuseUnless(Array.isArray(list) && list.every(isWord), `${what} is no list of words`);
}

const HEADER_NUMBERS = ['number', 'first_sequence', 'count', 'sealed_at_ms'];
const HEADER_WORDS = ['previous_head', 'head', 'root', 'history', 'state'];

export const headerMessage = (header) => ({
  number: BigInt(header.number),
  firstSequence: BigInt(header.first_sequence),
  count: header.count,
  previousHead: header.previous_head,
  head: header.head,
  root: header.root,
  history: header.history,
  state: header.state,
  sealedAt: BigInt(header.sealed_at_ms),
});

export const batchHash = (header) => structHash('Batch', headerMessage(header));

export const checkpointMessage = (checkpoint) => ({
  batches: BigInt(checkpoint.batches),
  sequence: BigInt(checkpoint.sequence),
  head: checkpoint.head,
  history: checkpoint.history,
  state: checkpoint.state,
  issuedAt: BigInt(checkpoint.issued_at_ms),
});

function checkDomain(found, domain) {
  checkShape(found, 'domain', ['chain_id', 'verifying_contract']);
  refuseUnless(BigInt(found.chain_id) === domain.chainId && isAddressEqual(found.verifying_contract, domain.verifyingContract), 'another log: the domain is not the expected one');
}

async function checkHeader(batch, trust) {
  checkShape(batch, 'batch', ['header', 'signature']);
  const { header, signature } = batch;
  checkShape(header, 'header', [...HEADER_NUMBERS, ...HEADER_WORDS]);
  checkNumbers(header, 'header', HEADER_NUMBERS);
  checkWords(header, 'header', HEADER_WORDS);
  refuseUnless(header.count >= 1 && header.count <= ACTIONS_MAX, 'a batch holds 1 to 500 actions');
  await checkSigner(digestOf(trust.domain, 'Batch', headerMessage(header)), signature, trust.sequencer, 'the header');
}

function checkPlace(header, { sequence, timestamp_ms, leaf_index }) {
  refuseUnless(leaf_index < header.count && sequence === header.first_sequence + leaf_index, 'sequence and leaf index do not fit the header');
  refuseUnless(timestamp_ms <= header.sealed_at_ms, 'the action is later than its batch');
}

const LEAF_NUMBERS = ['sequence', 'timestamp_ms'];
const LEAF_WORDS = ['content', 'previous_integrity', 'integrity'];

function checkLeaf(leaf) {
  checkShape(leaf, 'leaf', [...LEAF_NUMBERS, ...LEAF_WORDS]);
  checkNumbers(leaf, 'leaf', LEAF_NUMBERS);
  checkWords(leaf, 'leaf', LEAF_WORDS);
  refuseUnless(nextIntegrity(leaf.previous_integrity, leaf.content) === leaf.integrity, 'the integrity does not follow');
  return leafOf(leaf);
}

/** Checks a receipt of one action; `trust` is {domain, sequencer}, `content` what the sender computed. */
export async function checkReceipt(receipt, trust, content) {
  checkShape(receipt, 'receipt', ['version', 'domain', 'leaf', 'leaf_index', 'path', 'batch']);
  refuseUnless(receipt.version === 1, 'an unknown version');
  checkDomain(receipt.domain, trust.domain);
  checkNumbers(receipt, 'receipt', ['leaf_index']);
  checkWordList(receipt.path, 'path');
  await checkHeader(receipt.batch, trust);
  const leaf = checkLeaf(receipt.leaf);
  checkPlace(receipt.batch.header, { ...receipt.leaf, leaf_index: receipt.leaf_index });
  checkInclusion(receipt.batch.header.root, receipt.batch.header.count, [receipt.leaf_index], [leaf], receipt.path);
  refuseUnless(receipt.leaf.content === content, 'the receipt is of another action');
}

const ENTRY_NUMBERS = ['index', 'sequence', 'timestamp_ms', 'leaf_index'];

/** Checks the receipt of a request of many actions; `contents` are those of all its actions. */
export async function checkBatchReceipt(receipt, trust, contents) {
  checkShape(receipt, 'receipt', ['version', 'domain', 'batch', 'actions', 'proof']);
  refuseUnless(receipt.version === 1, 'an unknown version');
  checkDomain(receipt.domain, trust.domain);
  checkWordList(receipt.proof, 'proof');
  await checkHeader(receipt.batch, trust);
  refuseUnless(Array.isArray(receipt.actions), 'actions is no list');
  const leaves = receipt.actions.map((entry, i) => {
    checkShape(entry, 'entry', [...ENTRY_NUMBERS, 'previous_integrity']);
    checkNumbers(entry, 'entry', ENTRY_NUMBERS);
    checkWords(entry, 'entry', ['previous_integrity']);
    refuseUnless(i === 0 || receipt.actions[i - 1].index < entry.index, 'entries stand in request order');
    refuseUnless(entry.index < contents.length, 'the request has no such action');
    checkPlace(receipt.batch.header, entry);
    const content = contents[entry.index];
    return leafOf({ ...entry, content, integrity: nextIntegrity(entry.previous_integrity, content) });
  });
  const indices = receipt.actions.map((entry) => entry.leaf_index);
  checkInclusion(receipt.batch.header.root, receipt.batch.header.count, indices, leaves, receipt.proof);
}

async function checkAnchor(anchor, batch, trust) {
  checkShape(anchor, 'anchor', ['checkpoint', 'path', 'contract', 'transaction_hash', 'block_number']);
  checkShape(anchor.checkpoint, 'checkpoint', ['checkpoint', 'signature']);
  checkWordList(anchor.path, 'path');
  const { checkpoint, signature } = anchor.checkpoint;
  checkShape(checkpoint, 'checkpoint', ['batches', 'sequence', 'head', 'history', 'state', 'issued_at_ms']);
  checkNumbers(checkpoint, 'checkpoint', ['batches', 'sequence', 'issued_at_ms']);
  checkWords(checkpoint, 'checkpoint', ['head', 'history', 'state']);
  await checkSigner(digestOf(trust.domain, 'Checkpoint', checkpointMessage(checkpoint)), signature, trust.sequencer, 'the checkpoint');
  const { header } = batch;
  refuseUnless(header.number < checkpoint.batches && header.first_sequence + header.count - 1 <= checkpoint.sequence, 'the checkpoint does not cover the batch');
  checkInclusion(checkpoint.history, checkpoint.batches, [header.number], [logLeaf(batchHash(header))], anchor.path);
}

/** A request's digest from action hashes alone: typed data needs the texts of all actions, which are not always shown. */
export function requestDigest(domain, { signer, nonce, deadline, atomic }, hashes) {
  const typehash = textHash(
    'ActionRequest(address signer,uint64 nonce,uint64 deadline,bool atomic,Action[] actions)Action(string kind,string target,string payload,bytes32 salt)',
  );
  const word = (number) => numberToHex(number, { size: 32 });
  const requestHash = join(typehash, pad(signer, { size: 32 }).toLowerCase(), word(BigInt(nonce)), word(deadline), word(atomic ? 1 : 0), join(...hashes));
  return join('0x1901', separator(domain), requestHash);
}

async function checkAuthorship(authorship, proof, trust) {
  checkShape(authorship, 'authorship', ['signature', 'nonce', 'deadline', 'atomic', 'index', 'salt', 'action_hashes']);
  checkNumbers(authorship, 'authorship', ['deadline', 'index']);
  checkWords(authorship, 'authorship', ['salt']);
  checkWordList(authorship.action_hashes, 'action_hashes');
  const { action, leaf } = proof;
  const { signature, nonce, deadline, atomic, index, salt, action_hashes: hashes } = authorship;
  refuseUnless(hashes.length <= ACTIONS_MAX, 'a request holds at most 500 actions');
  refuseUnless(hashes[index] === actionHash({ kind: action.kind, target: action.target, payload: action.payload, salt }), 'the action is not at its index');
  refuseUnless(authorityOf(signature, salt) === action.authority, 'the authority is not made from this signature');
  const digest = requestDigest(trust.domain, { signer: action.signer, nonce, deadline, atomic }, hashes);
  await checkSigner(digest, signature, action.signer, 'the request');
  refuseUnless(leaf.timestamp_ms <= deadline * 1000, 'the action was placed after the deadline');
}

/** Checks a proof file offline and tells what it shows. */
export async function checkProofFile(proof, trust) {
  const members = ['version', 'domain', 'sequencer', 'action', 'leaf', 'inclusion', 'batch', 'anchor'];
  checkShape(proof, 'proof', proof.authorship === undefined ? members : [...members, 'authorship']);
  refuseUnless(proof.version === 1, 'an unknown version');
  checkDomain(proof.domain, trust.domain);
  checkShape(proof.action, 'action', ['kind', 'target', 'payload', 'signer', 'authority']);
  refuseUnless(contentOf(proof.action) === proof.leaf.content, 'the words are not those of the content');
  checkShape(proof.inclusion, 'inclusion', ['leaf_index', 'path']);
  checkNumbers(proof.inclusion, 'inclusion', ['leaf_index']);
  checkWordList(proof.inclusion.path, 'path');
  await checkHeader(proof.batch, trust);
  const leaf = checkLeaf(proof.leaf);
  checkPlace(proof.batch.header, { ...proof.leaf, leaf_index: proof.inclusion.leaf_index });
  checkInclusion(proof.batch.header.root, proof.batch.header.count, [proof.inclusion.leaf_index], [leaf], proof.inclusion.path);
  if (proof.anchor !== null) await checkAnchor(proof.anchor, proof.batch, trust);
  if (proof.authorship !== undefined) await checkAuthorship(proof.authorship, proof, trust);
  return { anchored: proof.anchor !== null, authorship: proof.authorship !== undefined };
}

/**
 * A follower's check of the header after `previous` (null before batch 0), given its leaves and the hashes before it.
 * `lastTime` is the time of its last leaf, for those who know it.
 */
export async function checkNextHeader(batch, leaves, lastTime, previous, hashesBefore, trust) {
  await checkHeader(batch, trust);
  const { header } = batch;
  const before = previous ?? { number: -1, first_sequence: 1, count: 0, head: separator(trust.domain), sealed_at_ms: 0 };
  refuseUnless(header.number === before.number + 1, 'numbers rise by one');
  refuseUnless(header.first_sequence === before.first_sequence + before.count, 'sequences have no gap');
  refuseUnless(header.previous_head === before.head, 'heads join');
  refuseUnless(header.sealed_at_ms >= before.sealed_at_ms, 'time does not fall');
  refuseUnless(lastTime <= header.sealed_at_ms, 'no leaf is later than the batch');
  refuseUnless(header.history === rootOf(hashesBefore.map(logLeaf)), 'the history is the root over the batches before');
  refuseUnless(header.state === ZERO, 'state is not built');
  refuseUnless(leaves.length === header.count, 'as many leaves as the header counts');
  refuseUnless(rootOf(leaves) === header.root, 'the leaves lead to the root');
  refuseUnless(leaves.reduce(nextHead, header.previous_head) === header.head, 'the leaves lead to the head');
}
