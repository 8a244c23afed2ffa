/** Verification of single sequencer signatures: of a batch's header, and of a checkpoint. */

import type { Checkpoint, Header } from '../protocol/domain.js';
import { readStrictly } from '../reading/json.js';
import { fileOf } from '../reading/shapes.js';
import * as forms from './forms.js';
import { checkCheckpoint, checkHeader } from './placed.js';
import type { Trust } from './trust.js';

/**
 * Verifies that the sequencer signed a header: `{header, signature}`, as in receipts. Returns the header.
 *
 * @throws Refused if it did not
 */
export function verifyHeader(file: string | object, trust: Trust): Header {
  const batch = forms.signedBatch(fileOf(file, readStrictly));
  checkHeader(batch, trust);
  return batch.header;
}

/**
 * Verifies that the sequencer signed a checkpoint: `{checkpoint, signature}`, as in proof files. Returns the
 * checkpoint.
 *
 * @throws Refused if it did not
 */
export function verifyCheckpoint(file: string | object, trust: Trust): Checkpoint {
  const signed = forms.signedCheckpoint(fileOf(file, readStrictly));
  checkCheckpoint(signed, trust);
  return signed.checkpoint;
}
