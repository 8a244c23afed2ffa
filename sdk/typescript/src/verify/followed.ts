/** Incremental verification of the log: each header with its leaves after the previous one. */

import { refuseUnless } from '../refused.js';
import type { Hex } from '../protocol/bytes.js';
import { nextHead } from '../protocol/chain.js';
import { type Header, separatorOf } from '../protocol/domain.js';
import { ZERO } from '../protocol/hash.js';
import { rootOf } from '../protocol/merkle.js';
import * as forms from './forms.js';
import { LogTree } from './log-tree.js';
import { checkHeader } from './placed.js';
import type { Trust } from './trust.js';

/** Follows a log from its first batch on. All accepted batches are verified. */
export class Follower {
  readonly tree = new LogTree();
  #last: Header | null = null;

  /** @param trust the trusted log */
  constructor(readonly trust: Trust) {}

  /** The last accepted header, or null before the first one. */
  get last(): Header | null {
    return this.#last;
  }

  /**
   * Accepts the next batch: a signed header, all its leaf hashes, and optionally the time of its last leaf.
   *
   * @throws Refused if the batch does not continue the log
   */
  accept(batch: unknown, leaves: readonly Hex[], lastTimeMs = 0n): Header {
    const read = forms.signedBatch(batch);
    const hash = checkHeader(read, this.trust);
    const { header } = read;
    const start = { number: -1n, first_sequence: 1n, count: 0n, head: separatorOf(this.trust.domain), sealed_at_ms: 0n };
    const before = this.#last ?? start;
    refuseUnless(header.number === before.number + 1n, 'the number does not follow');
    refuseUnless(header.first_sequence === before.first_sequence + before.count, 'the sequences have a gap');
    refuseUnless(header.previous_head === before.head, 'the heads do not join');
    refuseUnless(header.sealed_at_ms >= before.sealed_at_ms, 'the time falls');
    refuseUnless(lastTimeMs <= header.sealed_at_ms, 'a leaf is later than the batch');
    refuseUnless(header.history === this.tree.root(), 'the history is not the root over the batches before');
    refuseUnless(header.state === ZERO, 'the state is not zero');
    refuseUnless(BigInt(leaves.length) === header.count, 'there are not as many leaves as the header counts');
    refuseUnless(rootOf(leaves) === header.root, 'the leaves do not lead to the root');
    refuseUnless(leaves.reduce(nextHead, header.previous_head) === header.head, 'the leaves do not lead to the head');
    this.tree.append(hash);
    this.#last = header;
    return header;
  }
}
