// Hashing, signing and verifying, written from docs/PROTOCOL.md alone: nothing here is shared with the server or the
// Rust client. Verifiers throw a Refused with the reason, and return only what they have checked.

import { bytesToHex, concat, hashStruct, hashTypedData, hexToBytes, isAddressEqual, keccak256, numberToHex, pad, recoverAddress, sha256, stringToBytes } from 'viem';
import { Refused, refuseUnless } from './reading.mjs';
import { treesOf } from './trees.mjs';

export { Refused };

export const ZERO = `0x${'00'.repeat(32)}`;
export const EMPTY = keccak256('0x');
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
  TlogCheckpoint: [
    { name: 'batches', type: 'uint64' },
    { name: 'root', type: 'bytes32' },
    { name: 'history', type: 'bytes32' },
  ],
};

export const domainOf = (chainId, verifyingContract) => ({ name: 'Digital Object Service', version: '3', chainId: BigInt(chainId), verifyingContract });
export const separator = (domain) => hashStruct({ data: domain, primaryType: 'EIP712Domain', types: TYPES });
export const structHash = (primaryType, data) => hashStruct({ data, primaryType, types: TYPES });
export const digestOf = (domain, primaryType, message) => hashTypedData({ domain, types: TYPES, primaryType, message });
export const saltOf = (seed, index) => join(seed, u16(index));
export const actionHash = (action) => structHash('Action', action);

/** The stored form of a signature (v 27 or 28); refuses every form that is not allowed. */
export function keptSignature(signature) {
  refuseUnless(typeof signature === 'string' && /^0x[0-9a-fA-F]{130}$/.test(signature), 'a signature is 65 bytes');
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

export async function checkSigner(digest, signature, expected, what) {
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
/** The initial integrity of the index-th resource that one action makes. */
export const firstIntegrity = (content, index) => join(ZERO, index === 0 ? content : join(content, u32(index)));
export const nextHead = (previous, leaf) => join(previous, leaf);
export const leafOf = ({ sequence, timestamp_ms, content, integrity }) => join('0x00', u64(sequence), u64(timestamp_ms), content, integrity);

export const PREFIXES = 'wal org key tpl var obj act bat anc evt fil whk dlv dsp'.split(' ');
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
  const match = /^([a-z]{3})_([0-7][0-9a-hjkmnp-tv-z]{25})$/.exec(text);
  refuseUnless(match !== null && PREFIXES.includes(match[1]), 'no id');
  let number = 0n;
  for (const digit of match[2]) number = (number << 5n) | BigInt(DIGITS.indexOf(digit));
  return numberToHex(number, { size: 16 });
}

// Layer 3

export const logLeaf = (batchHash) => join('0x00', batchHash);
export const { rootOf, checkInclusion, checkConsistency } = treesOf(join);

// Messages and digests of the JSON forms

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

/** A request's digest from action hashes alone: typed data needs the texts of all actions, which are not always shown. */
export function requestDigest(domain, { signer, nonce, deadline, atomic }, hashes) {
  const typehash = textHash(
    'ActionRequest(address signer,uint64 nonce,uint64 deadline,bool atomic,Action[] actions)Action(string kind,string target,string payload,bytes32 salt)',
  );
  const word = (number) => numberToHex(number, { size: 32 });
  const requestHash = join(typehash, pad(signer, { size: 32 }).toLowerCase(), word(BigInt(nonce)), word(deadline), word(atomic ? 1 : 0), join(...hashes));
  return join('0x1901', separator(domain), requestHash);
}
