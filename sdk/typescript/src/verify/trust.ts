/**
 * What a verifier trusts: the log's domain, and the keys of its sequencer. They never come from the file that is
 * checked.
 */

import type { Domain } from '../protocol/domain.js';
import { refuseUnless } from '../refused.js';
import type { Hex } from '../protocol/bytes.js';

/** One key of the sequencer, and the first batch that it signs. */
export interface SequencerKey {
  /** The key's address. */
  readonly key: string;
  /** The number of the first batch that it signs. */
  readonly from_batch: number | bigint;
}

/** A log that the caller trusts. */
export interface Trust {
  /** The log's domain, as the contract's `eip712Domain()` gives it. */
  readonly domain: Domain;
  /**
   * The log's only key, or all of its keys in the order of their batches, as the contract's `sequencerKeyAt` gives
   * them.
   */
  readonly sequencer: string | readonly SequencerKey[];
}

/** The key that signs a batch: that of the last entry that begins at it or earlier. */
export function keyOf(sequencer: Trust['sequencer'], batch: bigint): Hex {
  if (typeof sequencer === 'string') return sequencer.toLowerCase() as Hex;
  const begun = sequencer.filter(({ from_batch: from }) => BigInt(from) <= batch);
  const last = begun.at(-1);
  refuseUnless(last !== undefined, `no key is known for batch ${batch}`);
  return last.key.toLowerCase() as Hex;
}
