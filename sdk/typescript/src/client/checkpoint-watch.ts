/** Signed checkpoints seen by a client: two of one length that differ are a contradiction. */

import type { Hex } from '../protocol/bytes.js';
import { type Checkpoint, checkpointHash } from '../protocol/domain.js';
import { Contradiction } from './errors.js';

/** Number of remembered checkpoints, the latest ones. */
const CHECKPOINTS_MAX = 1024;

interface SeenCheckpoint {
  readonly checkpoint: Checkpoint;
  /** The checkpoint with its signature, as the server sent it. */
  readonly signed: unknown;
}

const COMMITTED = ['sequence', 'head', 'history', 'state'] as const;

/** Checkpoints by their number of batches. */
export class CheckpointWatch {
  readonly #seen = new Map<bigint, SeenCheckpoint>();

  /**
   * Records a checkpoint with a verified signature.
   *
   * @throws Contradiction if the sequencer signed another one over as many batches
   */
  add(checkpoint: Checkpoint, signed: unknown): void {
    const { batches } = checkpoint;
    const known = this.#seen.get(batches);
    if (known !== undefined && COMMITTED.some((name) => known.checkpoint[name] !== checkpoint[name])) {
      const hashes: [Hex, Hex] = [checkpointHash(known.checkpoint), checkpointHash(checkpoint)];
      throw new Contradiction(`two checkpoints have ${batches} batches: keep both, they are evidence of a fault`, [known.signed, signed], hashes);
    }
    if (known !== undefined) return;
    this.#seen.set(batches, { checkpoint, signed });
    const [first] = this.#seen.keys();
    if (this.#seen.size > CHECKPOINTS_MAX) this.#seen.delete(first as bigint);
  }
}
