// The state: entries, and proofs in the trie under a checkpoint's root. Written from the protocol's text with viem's RLP:
// what is decoded must encode to the same bytes, so that only the canonical form is read.

import { fromRlp, hexToString, keccak256, size, stringToHex, toRlp } from 'viem';
import { PREFIXES, ZERO } from './protocol.mjs';
import { Refused, refuseUnless } from './reading.mjs';

/** The root of the trie that holds nothing. */
export const EMPTY_TRIE = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421';

const NOTHING = '0x';
const PATH = 64;
const ID = /^[a-z]{3}_[0-7][0-9a-hjkmnp-tv-z]{25}$/;

/** Nested lists of hex. Refuses every form but the canonical one. */
export function decodeRlp(bytes) {
  let item;
  try {
    item = fromRlp(bytes);
    if (toRlp(item) === bytes) return item;
  } catch {
    // Cut off, or nested past the stack: both are no node and no entry.
  }
  throw new Refused('not in canonical RLP');
}

// Entries

const isText = (item) => typeof item === 'string';
const bytes = (length) => (item) => {
  refuseUnless(isText(item) && size(item) === length, `not ${length} bytes`);
  return item;
};
const word = bytes(32);
const account = bytes(20);

const number = (below = 2n ** 64n) => (item) => {
  refuseUnless(isText(item) && size(item) <= 8 && !item.startsWith('0x00'), 'no number');
  const value = item === NOTHING ? 0n : BigInt(item);
  refuseUnless(value < below, 'a number out of its range');
  return value;
};
const count = number();
const flag = (item) => number(2n)(item) === 1n;

const id = (...prefixes) => (item) => {
  const text = isText(item) && size(item) === 30 ? hexToString(item) : '';
  refuseUnless(ID.test(text) && prefixes.includes(text.slice(0, 3)), 'no id of its type');
  return text;
};
const organization = id('org');

const list = (reader) => (items) => {
  refuseUnless(Array.isArray(items), 'no list');
  return items.map(reader);
};

const keys = (items) => {
  const read = list(account)(items);
  refuseUnless(read.every((key, i) => i === 0 || read[i - 1] < key), 'keys that do not ascend');
  return read;
};

const optional = (items) => {
  refuseUnless(Array.isArray(items) && items.length <= 1, 'no optional number');
  return items.length === 0 ? null : count(items[0]);
};

const fatal = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const rule = (items) => {
  refuseUnless(Array.isArray(items) && items.length === 3 && isText(items[0]), 'no rule');
  try {
    fatal.decode(Buffer.from(items[0].slice(2), 'hex'));
  } catch {
    throw new Refused('a kind that is no text');
  }
  return { kindHash: keccak256(items[0]), who: number(3n)(items[1]), schemaHash: word(items[2]) };
};

// The members of each type, in order.
const MEMBERS = {
  obj: {
    organization, template: id('tpl'), variation: (item) => (item === NOTHING ? '' : id('var')(item)), serial: count, owner: id('wal'), ownerAddress: account,
    status: number(3n), properties: word,
  },
  wal: { organization, address: account, role: number(3n), keys },
  org: {},
  tpl: {
    organization, publicAccess: flag, maxSupply: optional, minted: count, burned: count, variations: count, properties: word, schema: word, rules: list(rule),
  },
  var: { organization, template: id('tpl'), index: count, name: word, properties: word },
  key: { organization, deleted: flag },
  whk: { organization, active: flag, deleted: flag },
  fil: { organization, wallet: id('wal'), sha256: word, size: count },
  dsp: { organization, subject: id(...PREFIXES) },
  act: { address: account, fromBatch: count },
};

const RULES = {
  obj: ({ serial }) => serial > 0n,
  tpl: ({ minted, burned, maxSupply }) => burned <= minted && (maxSupply === null || minted <= maxSupply),
  var: ({ version }) => version === 1n,
};

/** The type of entry under an id; refuses what is no key of the state. */
export function typeOf(key) {
  refuseUnless(ID.test(key) && Object.hasOwn(MEMBERS, key.slice(0, 3)), 'no key of the state');
  return key.slice(0, 3);
}

/** An entry at a checkpoint that ends with `last`; `own` are the encoded members of its type. Refuses a malformed one. */
export function entryOf(key, encoded, last) {
  const type = typeOf(key);
  const items = decodeRlp(encoded);
  const names = Object.keys(MEMBERS[type]);
  refuseUnless(Array.isArray(items) && items.length === 4 + names.length, 'another number of members');
  const [format, version, sequence, integrity, ...own] = items;
  const entry = { type, version: count(version), sequence: count(sequence), integrity: word(integrity), own };
  refuseUnless(count(format) === 1n && entry.version > 0n && entry.version <= entry.sequence && entry.sequence <= last, 'format, version or sequence');
  refuseUnless(entry.integrity !== ZERO, 'an integrity of zeros');
  names.forEach((name, i) => {
    entry[name] = MEMBERS[type][name](own[i]);
  });
  refuseUnless(RULES[type]?.(entry) ?? true, 'members that contradict each other');
  return entry;
}

// The trie

/** A node at a depth, as {children} with their nibbles, {child} or {value}, and its path. Refuses every other form. */
export function nodeOf(encoded, depth) {
  refuseUnless(size(encoded) >= 32, 'a node below 32 bytes');
  const items = decodeRlp(encoded);
  refuseUnless(Array.isArray(items) && (items.length === 17 || items.length === 2), 'no node');
  if (items.length === 17) {
    refuseUnless(items[16] === NOTHING && depth < PATH, 'a branch with a value, or below the last nibble');
    const children = items.slice(0, 16).map((item) => (item === NOTHING ? null : word(item)));
    refuseUnless(children.filter((child) => child !== null).length >= 2, 'a branch with one child');
    return { children };
  }
  refuseUnless(isText(items[0]) && /^0x(00|1.|20|3.)/.test(items[0]), 'no path, or one with another flag or pad');
  const isOdd = items[0][2] === '1' || items[0][2] === '3';
  const path = items[0].slice(isOdd ? 3 : 4);
  const end = depth + path.length;
  if (items[0][2] >= '2') {
    refuseUnless(end === PATH, 'a leaf that does not end after 64 nibbles');
    return { path, value: word(items[1]) };
  }
  refuseUnless(path.length > 0 && end < PATH, 'an extension without a path, or with one too long');
  return { path, child: word(items[1]) };
}

function valueAt(root, key, nodes) {
  if (root === EMPTY_TRIE && nodes.length === 0) return null;
  const path = keccak256(stringToHex(key)).slice(2);
  let [next, depth, isBelowExtension] = [root, 0, false];
  for (const [i, encoded] of nodes.entries()) {
    refuseUnless(next !== null && keccak256(encoded) === next, 'a node that nothing leads to');
    const node = nodeOf(encoded, depth);
    refuseUnless(!isBelowExtension || node.children, 'an extension that does not lead to a branch');
    isBelowExtension = node.child !== undefined;
    const follows = node.path === undefined || path.startsWith(node.path, depth);
    if (node.value !== undefined) {
      refuseUnless(i === nodes.length - 1, 'a node below a leaf');
      return follows ? node.value : null;
    }
    next = follows ? (node.child ?? node.children[Number.parseInt(path[depth], 16)]) : null;
    depth += node.path?.length ?? 1;
  }
  refuseUnless(next === null, 'the proof ends before its path');
  return null;
}

/** Checks that the state holds an entry under a key, or nothing (`0x`). */
export function checkStateProof(root, key, entry, nodes) {
  typeOf(key);
  refuseUnless(root !== ZERO, 'a checkpoint without a root');
  const value = entry === NOTHING ? null : keccak256(entry);
  refuseUnless(valueAt(root, key, nodes) === value, 'the state holds something else');
}
