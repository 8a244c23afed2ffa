/** Log tree, stored as the roots of its complete subtrees: its root costs a few hashes at any size. */

import type { Hex } from '../protocol/bytes.js';
import { EMPTY, hashOf } from '../protocol/hash.js';
import { logLeaf } from '../protocol/merkle.js';

/** Tree over the hashes of all batches so far. */
export class LogTree {
  /** Roots of complete subtrees, largest first, with their number of batches. */
  readonly #peaks: { size: number; root: Hex }[] = [];
  #size = 0;

  /** Number of batches. */
  get size(): number {
    return this.#size;
  }

  /** Adds the next batch by its hash. */
  append(batchHash: Hex): void {
    let [size, root] = [1, logLeaf(batchHash)];
    for (let last = this.#peaks.at(-1); last?.size === size; last = this.#peaks.at(-1)) {
      this.#peaks.pop();
      root = hashOf('0x01', last.root, root);
      size *= 2;
    }
    this.#peaks.push({ size, root });
    this.#size += 1;
  }

  /** Root over all batches so far. */
  root(): Hex {
    const roots = this.#peaks.map((peak) => peak.root);
    const last = roots.pop();
    return last === undefined ? EMPTY : roots.reduceRight((right, left) => hashOf('0x01', left, right), last);
  }
}
