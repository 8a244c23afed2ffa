// Signed notes of the log: the log's own lines, cosignatures of witnesses, policies, bodies of add-checkpoint and
// .tlog-proof files. Written from the protocol's text and C2SP's documents.
//
// `trust` is {domain, sequencer, known}: `sequencer` as in receipts.mjs, `known` a list of verifier keys, the log's and those
// of witnesses. The line of the sequencer's key needs no verifier key.

import { createPublicKey, verify } from 'node:crypto';
import { ml_dsa44 } from '@noble/post-quantum/ml-dsa.js';
import { bytesToHex, concat, hexToBytes, isAddressEqual, numberToHex, sha256, stringToHex } from 'viem';
import { digestOf, keptSignature, recoverSigner } from './protocol.mjs';
import { decimal, refuseUnless } from './reading.mjs';
import { keyOf } from './receipts.mjs';
import { checkConsistency, checkInclusion, checkOrigin, headerOfEntry, leafOf } from './tlog.mjs';

const NOTE_BYTES_MAX = 512 * 1024;
// What stands before a note in a file is shorter than a note.
const FILE_BYTES_MAX = 2 * NOTE_BYTES_MAX;
const LINES_MAX = 100;
const PROOF_WORDS_MAX = 63;
const TIME_MAX = 2n ** 63n - 1n;
const OUR_TYPE = concat(['0xff', stringToHex('kedge-tlog-v1')]);
const PROOF_FILE = 'c2sp.org/tlog-proof@v1';
// RFC 8410: what stands before an Ed25519 key in SPKI.
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');

// Texts

/** UTF-8 without control characters but for the line feed; a text that is given must be well-formed. */
function textOf(bytes, most = NOTE_BYTES_MAX) {
  let text = bytes;
  if (typeof text === 'string') refuseUnless(text.isWellFormed(), 'a text with half a character');
  else {
    try {
      text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      refuseUnless(false, 'no UTF-8');
    }
  }
  refuseUnless(Buffer.byteLength(text) <= most, 'too long');
  refuseUnless(!/[\0-\x09\x0b-\x1f]/.test(text), 'control characters');
  return text;
}

/** The bytes of a base64 text in its one form: padded, without surplus bits. */
function base64(text) {
  const bytes = Buffer.from(text, 'base64');
  refuseUnless(bytes.toString('base64') === text, 'another base64');
  return bytesToHex(bytes);
}

function base64Word(text) {
  const word = base64(text);
  refuseUnless(word.length === 66, 'no 32 bytes');
  return word;
}

const toBase64 = (hex) => Buffer.from(hexToBytes(hex)).toString('base64');
const idOf = (name, type, key) => sha256(concat([stringToHex(`${name}\n`), type, key])).slice(2, 10);

// Keys

/** The id of the line that the sequencer's key signs. */
export const ourId = (origin, address) => idOf(origin, OUR_TYPE, address.toLowerCase());

/** The verifier key of that line. */
export const ourKey = (origin, address) => `${origin}+${ourId(origin, address)}+${toBase64(concat([OUR_TYPE, address.toLowerCase()]))}`;

const KEY_BYTES = { '01': 32, '04': 32, '06': ml_dsa44.lengths.publicKey };

/** A verifier key: {name, id, type, key}. Refuses types that notes of the log or of its witnesses do not have. */
export function verifierKey(text) {
  const match = /^([^+\p{White_Space}]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+=*)$/u.exec(text);
  refuseUnless(match !== null, 'no verifier key');
  const [, name, id, material] = match;
  const bytes = base64(material);
  const type = bytes.slice(2, 4);
  const key = `0x${bytes.slice(4)}`;
  refuseUnless(Object.hasOwn(KEY_BYTES, type) && key.length === 2 + 2 * KEY_BYTES[type], 'no key of a known type');
  refuseUnless(idOf(name, `0x${type}`, key) === id, 'the id is not the key\'s');
  return { name, id, type, key };
}

// Notes

const lineOf = (line) => {
  const match = /^— ([^+\p{White_Space}]+) ([A-Za-z0-9+/]+=*)$/u.exec(line);
  refuseUnless(match !== null, 'no signature line');
  const bytes = base64(match[2]);
  refuseUnless(bytes.length > 10, 'a line without a signature');
  return { name: match[1], id: bytes.slice(2, 10), signature: `0x${bytes.slice(10)}` };
};

/** The parts of a note, of which nothing is verified. */
function readNote(note) {
  const all = textOf(note);
  const end = all.lastIndexOf('\n\n');
  refuseUnless(end >= 0, 'no empty line before the signatures');
  const text = all.slice(0, end + 1);
  const [origin, size, root, ...rest] = text.split('\n');
  refuseUnless(rest.length === 1 && rest[0] === '', 'a note has three lines of text');
  const batches = decimal(size);
  refuseUnless(batches > 0n, 'an empty log has no note');
  const signed = all.slice(end + 2).split('\n');
  refuseUnless(signed.pop() === '' && signed.length > 0 && signed.length <= LINES_MAX, 'no signature lines, or too many, or no line feed at the end');
  return { text, origin, batches, root: base64Word(root), lines: signed.map(lineOf) };
}

function verifiesEd25519(key, message, signature) {
  const publicKey = createPublicKey({ key: Buffer.concat([SPKI, hexToBytes(key)]), format: 'der', type: 'spki' });
  return verify(null, message, publicKey, hexToBytes(signature));
}

/** What an ML-DSA-44 line signs. */
export function cosignedMessage({ origin, batches, root }, name, time) {
  const opaque = (text) => concat([numberToHex(Buffer.byteLength(text), { size: 1 }), stringToHex(text)]);
  const u64 = (number) => numberToHex(number, { size: 8 });
  return concat([stringToHex('subtree/v1\n\0'), opaque(name), u64(time), opaque(origin), u64(0n), u64(batches), root]);
}

/** Verifies the line of a known key, and returns its time, or null for a line without one. */
function checkLine(note, { name, signature }, { type, key, id }) {
  const fails = `the line of ${name} ${id} fails`;
  if (type === '01') {
    refuseUnless(signature.length === 130 && verifiesEd25519(key, Buffer.from(note.text), signature), fails);
    return null;
  }
  const time = BigInt(signature.slice(0, 18));
  const rest = `0x${signature.slice(18)}`;
  // Two nodes of a log make the same line: it names no time.
  refuseUnless(signature.length > 18 && time <= (name === note.origin ? 0n : TIME_MAX), fails);
  if (type === '04') {
    const message = Buffer.from(`cosignature/v1\ntime ${time}\n${note.text}`);
    refuseUnless(rest.length === 130 && verifiesEd25519(key, message, rest), fails);
  } else {
    refuseUnless(rest.length === 2 + 2 * ml_dsa44.lengths.signature && Buffer.byteLength(name) <= 255, fails);
    const message = hexToBytes(cosignedMessage(note, name, time));
    refuseUnless(ml_dsa44.verify(hexToBytes(rest), message, hexToBytes(key)), fails);
  }
  return time;
}

/** Checks a signature over a TlogCheckpoint: 65 bytes by the sequencer key of its last batch, v 27 or 28. */
export async function checkTlogSignature({ batches, root, history, signature }, trust) {
  refuseUnless(batches > 0n, 'no key signs an empty log');
  refuseUnless(keptSignature(signature) === signature.toLowerCase(), 'v is 27 or 28');
  const signer = await recoverSigner(digestOf(trust.domain, 'TlogCheckpoint', { batches, root, history }), signature);
  refuseUnless(isAddressEqual(signer, keyOf(trust.sequencer, batches - 1n)), 'not signed by the sequencer key of its last batch');
}

/** The history and signature in the one line of the sequencer's key. */
async function checkOurLine(note, trust) {
  const id = ourId(note.origin, keyOf(trust.sequencer, note.batches - 1n));
  const ours = note.lines.filter((line) => line.name === note.origin && line.id === id);
  refuseUnless(ours.length === 1, `${ours.length} lines of the sequencer's key`);
  refuseUnless(ours[0].signature.length === 2 + 2 * 97, 'the line of the sequencer\'s key has 97 bytes');
  const history = ours[0].signature.slice(0, 66);
  const signature = `0x${ours[0].signature.slice(66)}`;
  await checkTlogSignature({ ...note, history, signature }, trust);
  return { history, signature };
}

/**
 * Verifies a note: {text, origin, batches, root, history, signature, lines, verified}. `verified` lists the lines of known
 * keys as {name, id, type, time}; lines of other keys are ignored.
 */
export async function verifyNote(bytes, trust) {
  const note = readNote(bytes);
  checkOrigin(note.origin, trust.domain);
  const known = new Map(trust.known.map(verifierKey).map((key) => [`${key.name}+${key.id}`, key]));
  const verified = [];
  for (const line of note.lines) {
    const key = known.get(`${line.name}+${line.id}`);
    if (key !== undefined) verified.push({ name: line.name, id: line.id, type: key.type, time: checkLine(note, line, key) });
  }
  return { ...note, ...(await checkOurLine(note, trust)), verified };
}

/** Refuses a verified note that is not what the headers give: their roots, by number of batches. */
export function checkAgainstLog(note, roots, histories) {
  refuseUnless(roots(note.batches) === note.root, 'the log has another root');
  refuseUnless(histories(note.batches) === note.history, 'the log has another history');
}

// Policies

const DEFINED = { log: [2, 3], witness: [3, 4], group: [4, Infinity], quorum: [2, 2] };

function thresholdOf(text, members) {
  if (text === 'any') return 1;
  if (text === 'all') return members;
  const least = Number(decimal(text));
  refuseUnless(least >= 1 && least <= members, 'a threshold out of range');
  return least;
}

/** Reads a tlog-policy file: {logs, accepts}. The name of its key says which witness one is. */
export function readPolicy(file) {
  refuseUnless(!/[\0-\x08\x0b-\x1f\x7f]/.test(file), 'control characters');
  const logs = [];
  const known = [];
  const holds = new Map([['none', () => true]]);
  const define = (name, isMet) => {
    refuseUnless(!holds.has(name), `${name} is defined twice`);
    holds.set(name, isMet);
  };
  const publicKeys = new Set();
  const keyIn = (text) => {
    const key = verifierKey(text);
    refuseUnless(!publicKeys.has(key.key), 'a key twice');
    publicKeys.add(key.key);
    known.push(text);
    return key;
  };
  const names = new Set();
  let quorum = null;
  for (const line of file.split('\n')) {
    const items = line.split(/[ \t]+/).filter((item) => item !== '');
    if (items.length === 0 || items[0].startsWith('#')) continue;
    const [what, name, ...rest] = items;
    const [least, most] = Object.hasOwn(DEFINED, what) ? DEFINED[what] : [1, 0];
    refuseUnless(items.length >= least && items.length <= most, `no line of a policy: ${what}`);
    if (what === 'log') {
      const key = keyIn(name);
      refuseUnless(key.type !== '04', 'no key of a log');
      logs.push(key);
    } else if (what === 'witness') {
      const key = keyIn(rest[0]);
      // Keys of one name are one witness: two such lines would count it twice.
      refuseUnless(key.type !== '01' && !names.has(key.name), 'no key of a witness, or a second one of its name');
      names.add(key.name);
      define(name, (cosigners) => cosigners.has(key.name));
    } else if (what === 'group') {
      const [count, ...members] = rest;
      const least = thresholdOf(count, members.length);
      refuseUnless(new Set(members).size === members.length, 'a member twice');
      const parts = members.map((member) => {
        refuseUnless(member !== 'none' && holds.has(member), `${member} is not defined`);
        return holds.get(member);
      });
      define(name, (cosigners) => parts.filter((isMet) => isMet(cosigners)).length >= least);
    } else {
      refuseUnless(quorum === null && holds.has(name), 'a second quorum, or one of a name that is not defined');
      quorum = holds.get(name);
    }
  }
  refuseUnless(quorum !== null, 'a policy without a quorum');
  return { logs, known, quorum };
}

/** Refuses a verified note that the policy's logs did not sign, or too few of its witnesses. */
export function checkPolicy(policy, note) {
  const signed = policy.logs.some(({ name, id }) => name === note.origin && note.verified.some((line) => line.name === name && line.id === id));
  refuseUnless(policy.logs.length === 0 || signed, 'no line of a log of the policy');
  const cosigners = new Set(note.verified.filter(({ type, name }) => type !== '01' && name !== note.origin).map(({ name }) => name));
  refuseUnless(policy.quorum(cosigners), 'too few witnesses');
}

// add-checkpoint

/** The body of add-checkpoint: a consistency proof, and the note with the log's own lines alone. */
export function addCheckpointBody(from, proof, note) {
  const all = textOf(note);
  const end = all.lastIndexOf('\n\n') + 2;
  const { origin } = readNote(note);
  const own = all.slice(end).split('\n').filter((line) => line.startsWith(`— ${origin} `));
  return [`old ${from}`, ...proof.map(toBase64), '', `${all.slice(0, end)}${own.join('\n')}\n`].join('\n');
}

/** Reads and verifies a body: {from, proof, note}. Whether the note extends what the witness has is checkExtension's. */
export async function readAddCheckpoint(body, trust) {
  const all = textOf(body, FILE_BYTES_MAX);
  const end = all.indexOf('\n\n');
  const [first, ...words] = all.slice(0, Math.max(end, 0)).split('\n');
  refuseUnless(end >= 0 && first.startsWith('old ') && words.length <= PROOF_WORDS_MAX, 'no body of add-checkpoint');
  const from = decimal(first.slice(4));
  const proof = words.map(base64Word);
  const note = await verifyNote(all.slice(end + 2), trust);
  refuseUnless(from <= note.batches, 'the old size is above the new one');
  return { from, proof, note };
}

/** Refuses a note that does not extend a tree of `from` batches with this root; `from` may be 0. */
export function checkExtension({ from, proof, note }, root) {
  if (from === 0n) refuseUnless(proof.length === 0, 'a proof from nothing');
  else checkConsistency(from, note.batches, root, note.root, proof);
}

// .tlog-proof

/** Verifies a proof of a batch: {index, header, entry, note}. With a policy, the note must meet it. */
export async function verifyTlogProof(file, trust, policy = null) {
  const all = textOf(file, FILE_BYTES_MAX);
  const end = all.indexOf('\n\n');
  const [first, extra, index, ...words] = all.slice(0, Math.max(end, 0)).split('\n');
  refuseUnless(end >= 0 && first === PROOF_FILE, 'no .tlog-proof of version 1');
  refuseUnless(extra?.startsWith('extra ') && index?.startsWith('index '), 'no extra, or no index after it');
  const number = decimal(index.slice(6));
  const entry = base64(extra.slice(6));
  const header = headerOfEntry(entry);
  refuseUnless(header.number === number, 'the header is of another batch');
  const path = words.map(base64Word);
  const note = await verifyNote(all.slice(end + 2), trust);
  checkInclusion(note.root, note.batches, [number], [leafOf(entry)], path);
  if (policy !== null) checkPolicy(policy, note);
  return { index: number, header, entry, note };
}
