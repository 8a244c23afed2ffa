/**
 * Trusted information of a verifier: the log's domain, and its sequencer's keys. They never come from the verified
 * file.
 */

import type { Domain } from '../protocol/domain.js';
import { refuseUnless } from '../refused.js';
import type { Hex } from '../protocol/bytes.js';

/** A key of the sequencer, and the first batch that it signs. */
export interface SequencerKey {
  /** Address of the key. */
  readonly key: string;
  /** Number of the first batch that it signs. */
  readonly from_batch: number | bigint;
}

/** A trusted log. */
export interface Trust {
  /** Domain of the log, as the contract's `eip712Domain()` returns it. */
  readonly domain: Domain;
  /** The log's only key, or all of its keys in the order of their batches, as in the contract's `sequencerKeyAt`. */
  readonly sequencer: string | readonly SequencerKey[];
}

/** The key of a batch: the last entry that begins at it or earlier. */
export function keyOf(sequencer: Trust['sequencer'], batch: bigint): Hex {
  if (typeof sequencer === 'string') return sequencer.toLowerCase() as Hex;
  const begun = sequencer.filter(({ from_batch: from }) => BigInt(from) <= batch);
  const last = begun.at(-1);
  refuseUnless(last !== undefined, `no key is known for batch ${batch}`);
  return last.key.toLowerCase() as Hex;
}
