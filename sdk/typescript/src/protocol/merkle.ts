/** Merkle trees in the form of RFC 9162: roots, inclusion of one leaf or several, and consistency. */

import { refuseUnless } from '../refused.js';
import type { Hex } from './bytes.js';
import { EMPTY, hashOf } from './hash.js';

const node = (left: Hex, right: Hex): Hex => hashOf('0x01', left, right);

/** Leaf of a batch in the log tree. */
export const logLeaf = (batchHash: Hex): Hex => hashOf('0x00', batchHash);

/** Root over leaves. */
export function rootOf(leaves: readonly Hex[]): Hex {
  let layer = leaves;
  while (layer.length > 1) {
    const above: Hex[] = [];
    for (let i = 0; i < layer.length; i += 2) {
      const [left, right] = [layer[i] as Hex, layer[i + 1]];
      above.push(right === undefined ? left : node(left, right));
    }
    layer = above;
  }
  return layer[0] ?? EMPTY;
}

/** Words of a proof; each must be used exactly once. */
class Words {
  #next = 0;

  constructor(readonly words: readonly Hex[]) {}

  take(): Hex {
    const word = this.words[this.#next];
    refuseUnless(word !== undefined, 'the proof is too short');
    this.#next += 1;
    return word;
  }

  end(): void {
    refuseUnless(this.#next === this.words.length, 'the proof is too long');
  }
}

interface Placed {
  readonly index: bigint;
  readonly hash: Hex;
}

/** Computes the next layer of a tree, above a layer of `width` nodes with some known. */
function above(layer: readonly Placed[], width: bigint, words: Words): Placed[] {
  const parents: Placed[] = [];
  for (let i = 0; i < layer.length; i += 1) {
    const { index, hash } = layer[i] as Placed;
    const next = layer[i + 1];
    let parent: Hex;
    if (index % 2n === 1n) parent = node(words.take(), hash);
    else if (index + 1n === width) parent = hash;
    else if (next?.index === index + 1n) {
      parent = node(hash, next.hash);
      i += 1;
    } else parent = node(hash, words.take());
    parents.push({ index: index / 2n, hash: parent });
  }
  return parents;
}

/**
 * Verifies a path (one index) or a multiproof of leaves at these indices, in a tree of `count` leaves with this root.
 * Refuses a proof of the wrong length.
 */
export function checkInclusion(root: Hex, count: bigint, indices: readonly bigint[], leaves: readonly Hex[], proof: readonly Hex[]): void {
  refuseUnless(indices.length > 0 && indices.length === leaves.length, 'there must be one leaf for each index, and at least one');
  let layer: Placed[] = indices.map((index, i) => ({ index, hash: leaves[i] as Hex }));
  refuseUnless(
    indices.every((index, i) => i === 0 || (indices[i - 1] as bigint) < index),
    'the indices do not rise',
  );
  refuseUnless((indices[indices.length - 1] as bigint) < count, 'an index is not below the count');
  const words = new Words(proof);
  for (let width = count; width > 1n; width = (width + 1n) / 2n) layer = above(layer, width, words);
  words.end();
  refuseUnless((layer[0] as Placed).hash === root, 'the proof leads to another root');
}

/**
 * Verifies that the tree of `from` leaves with root `first` is a prefix of the tree of `to` leaves with root `second`.
 */
export function checkConsistency(from: bigint, to: bigint, first: Hex, second: Hex, proof: readonly Hex[]): void {
  refuseUnless(from >= 1n && from <= to, 'sizes are at least 1 and do not fall');
  if (from === to) {
    refuseUnless(proof.length === 0, 'the proof is too long');
    refuseUnless(first === second, 'trees of one size have one root');
    return;
  }
  const [start, ...words] = (from & (from - 1n)) === 0n ? [first, ...proof] : proof;
  refuseUnless(start !== undefined, 'the proof is too short');
  let [f, s] = [from - 1n, to - 1n];
  const halve = (): void => {
    f >>= 1n;
    s >>= 1n;
  };
  while (f % 2n === 1n) halve();
  let [a, b] = [start, start];
  for (const word of words) {
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
