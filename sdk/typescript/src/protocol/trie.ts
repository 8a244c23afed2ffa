/** Proofs in an Ethereum Merkle-Patricia trie whose keys are hashed and whose values are hashes of 32 bytes. */

import { refuseUnless } from '../refused.js';
import { type Hex, toHex, utf8 } from './bytes.js';
import { keccak } from './hash.js';
import { type RlpItem, decodeRlp } from './rlp.js';

/** Root of the trie that holds nothing. */
export const EMPTY_TRIE: Hex = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421';

/** Nibbles of a hashed key. */
const PATH_NIBBLES = 64;
/** Bytes of a branch with 16 children, the longest node. */
const NODE_BYTES_MAX = 532;
const HASH_BYTES = 32;

/** Most nodes of a proof: a branch for each nibble, and a leaf without a path. */
export const PROOF_NODES_MAX = PATH_NIBBLES + 1;

type NodeForm =
  | { readonly form: 'branch'; readonly children: readonly (Hex | null)[] }
  | { readonly form: 'extension'; readonly path: readonly number[]; readonly child: Hex }
  | { readonly form: 'leaf'; readonly path: readonly number[]; readonly value: Hex };

/** A node of a proof, decoded. */
export interface TrieNode {
  /** Name of the node in its parent: keccak-256 of its bytes. */
  readonly hash: Hex;
  readonly content: NodeForm;
}

function nibblesOf(bytes: Uint8Array): number[] {
  const nibbles: number[] = [];
  for (const byte of bytes) nibbles.push(byte >> 4, byte & 15);
  return nibbles;
}

function hashIn(item: RlpItem | undefined, what: string): Hex {
  refuseUnless(item instanceof Uint8Array && item.length === HASH_BYTES, `${what} is no hash of 32 bytes`);
  return toHex(item);
}

function branchOf(items: readonly RlpItem[]): NodeForm {
  const value = items[16];
  refuseUnless(value instanceof Uint8Array && value.length === 0, 'a branch has a value');
  const children = items.slice(0, 16).map((item) => (item instanceof Uint8Array && item.length === 0 ? null : hashIn(item, 'a child of a branch')));
  refuseUnless(children.filter((child) => child !== null).length >= 2, 'a branch has fewer than two children');
  return { form: 'branch', children };
}

function pathNodeOf([encoded, end]: readonly RlpItem[]): NodeForm {
  refuseUnless(encoded instanceof Uint8Array && encoded.length > 0, 'a node has no path');
  const [flag, pad, ...rest] = nibblesOf(encoded) as [number, number, ...number[]];
  refuseUnless(flag <= 3, 'the flag of a path is above 3');
  const isOdd = flag % 2 === 1;
  refuseUnless(isOdd || pad === 0, 'the pad of a path is not 0');
  const path = isOdd ? [pad, ...rest] : rest;
  if (flag >= 2) return { form: 'leaf', path, value: hashIn(end, 'the value of a leaf') };
  refuseUnless(path.length > 0, 'an extension has an empty path');
  return { form: 'extension', path, child: hashIn(end, 'the child of an extension') };
}

/**
 * Decodes a node of a proof.
 *
 * @throws Refused if it has another form than the only one that is allowed
 */
export function readNode(bytes: Uint8Array): TrieNode {
  refuseUnless(bytes.length >= HASH_BYTES, 'a node has less than 32 bytes');
  refuseUnless(bytes.length <= NODE_BYTES_MAX, 'a node is longer than a branch');
  const items = decodeRlp(bytes);
  refuseUnless(!(items instanceof Uint8Array) && (items.length === 17 || items.length === 2), 'a node is no list of 17 or 2');
  return { hash: toHex(keccak(bytes)), content: items.length === 17 ? branchOf(items) : pathNodeOf(items) };
}

/** Where a step from a node leads: to a child at a depth, or to the end of the path with the value that is there. */
type TrieStep = { readonly next: Hex; readonly depth: number; readonly onlyBranch: boolean } | { readonly value: Hex | null };

const follows = (path: readonly number[], part: readonly number[], depth: number): boolean => part.every((nibble, i) => path[depth + i] === nibble);

function stepFrom(node: NodeForm, path: readonly number[], depth: number): TrieStep {
  if (node.form === 'branch') {
    refuseUnless(depth < PATH_NIBBLES, 'the path has more than 64 nibbles');
    const next = node.children[path[depth] as number] as Hex | null;
    return next === null ? { value: null } : { next, depth: depth + 1, onlyBranch: false };
  }
  const end = depth + node.path.length;
  const isHere = follows(path, node.path, depth);
  if (node.form === 'leaf') {
    refuseUnless(end === PATH_NIBBLES, 'the path of a leaf does not end after 64 nibbles');
    return { value: isHere ? node.value : null };
  }
  refuseUnless(end < PATH_NIBBLES, 'the path of an extension leaves no nibble for the branch below it');
  return isHere ? { next: node.child, depth: end, onlyBranch: true } : { value: null };
}

/** Follows a key from the root through all of the nodes. Returns the value there, or null if the trie has none. */
function valueAt(root: Hex, key: string, nodes: readonly TrieNode[]): Hex | null {
  if (root === EMPTY_TRIE) {
    refuseUnless(nodes.length === 0, 'the empty trie has no nodes');
    return null;
  }
  const path = nibblesOf(keccak(utf8(key)));
  let at: { next: Hex; depth: number; onlyBranch: boolean } = { next: root, depth: 0, onlyBranch: false };
  for (const [i, { hash, content }] of nodes.entries()) {
    refuseUnless(hash === at.next, `node ${i} is not the one that ${i === 0 ? 'the root' : 'the node above it'} names`);
    refuseUnless(!at.onlyBranch || content.form === 'branch', 'an extension leads to another node than a branch');
    const step = stepFrom(content, path, at.depth);
    if ('value' in step) {
      refuseUnless(i === nodes.length - 1, 'a node follows the end of the path');
      return step.value;
    }
    at = step;
  }
  refuseUnless(false, 'the proof ends before its path does');
}

/**
 * Verifies that a trie holds a value under a key, or nothing (`null`). A proof has one form: the nodes from the root to
 * the end of the path, each used, in this order.
 *
 * @throws Refused if the nodes do not show it
 */
export function checkTrieProof(root: Hex, key: string, value: Hex | null, nodes: readonly TrieNode[]): void {
  const found = valueAt(root, key, nodes);
  refuseUnless(found !== null || value === null, 'the state holds nothing under this key');
  refuseUnless(found === null || value !== null, 'the state holds an entry under this key');
  refuseUnless(found === value, 'the state holds another entry under this key');
}
