/** Verification of single sequencer signatures: of a batch's header, and of a checkpoint. */

import { keptSignature, sameAddress } from '../protocol/curve.js';
import type { Checkpoint, Header } from '../protocol/domain.js';
import { refuseUnless } from '../refused.js';
import { readStrictly } from '../reading/json.js';
import { address, fileOf, some } from '../reading/shapes.js';
import * as forms from './forms.js';
import { checkCheckpoint, checkCheckpointSigner, checkHeader } from './placed.js';
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

const statedCheckpoint = some('checkpoint', { checkpoint: forms.checkpoint, signature: keptSignature, domain: forms.domain, sequencer: address });

/** Verifies the answer of `GET /checkpoint`. Returns the checkpoint, which may be of an empty log or without a root. */
export function verifyStatedCheckpoint(answer: string, trust: Trust): Checkpoint {
  const { sequencer, domain: { chain_id: chainId, verifying_contract: contract }, ...signed } = statedCheckpoint(readStrictly(answer));
  refuseUnless(chainId === trust.domain.chainId && sameAddress(contract, trust.domain.verifyingContract), 'the domain is another log than the trusted one');
  const key = checkCheckpointSigner(signed, trust);
  refuseUnless(sameAddress(sequencer, key), "the stated key is not that of the checkpoint's last batch");
  return signed.checkpoint;
}
