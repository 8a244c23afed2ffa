/** Members of receipts and proof files, and their common parts. */

import { keptSignature } from '../protocol/curve.js';
import { address, decimal, flag, listOf, nullOr, shape, text, u32, u64, word, words } from '../reading/shapes.js';

/** Domain stated by a file; a verifier compares it with the trusted one. */
export const domain = shape('domain', { chain_id: u64, verifying_contract: address });

/** A header. */
export const header = shape('header', {
  number: u64,
  first_sequence: u64,
  count: u32,
  previous_head: word,
  head: word,
  root: word,
  history: word,
  state: word,
  sealed_at_ms: u64,
});

/** A header with its signature. */
export const signedBatch = shape('batch', { header, signature: keptSignature });

/** A signed header, as read. */
export type SignedBatch = ReturnType<typeof signedBatch>;

const leaf = shape('leaf', { sequence: u64, timestamp_ms: u64, content: word, previous_integrity: word, integrity: word });

/** The receipt of one action. */
export const receipt = shape('receipt', { version: u32, domain, leaf, leaf_index: u32, path: words, batch: signedBatch });

const entry = shape('entry', { index: u32, sequence: u64, timestamp_ms: u64, leaf_index: u32, previous_integrity: word });

/** The receipt of a request of many actions. */
export const batchReceipt = shape('receipt', { version: u32, domain, batch: signedBatch, actions: listOf(entry), proof: words });

/** A leaf's place in its batch. */
export const inclusion = shape('inclusion', { leaf_index: u32, path: words });

/** A checkpoint. */
export const checkpoint = shape('checkpoint', { batches: u64, sequence: u64, head: word, history: word, state: word, issued_at_ms: u64 });

/** A checkpoint with its signature. */
export const signedCheckpoint = shape('checkpoint', { checkpoint, signature: keptSignature });

/** Path from a batch to an anchored history. */
export const anchor = shape('anchor', {
  checkpoint: signedCheckpoint,
  path: words,
  contract: address,
  transaction_hash: nullOr(word),
  block_number: nullOr(u64),
});

const authorship = shape('authorship', {
  signature: keptSignature,
  nonce: decimal,
  deadline: u64,
  atomic: flag,
  index: u32,
  salt: word,
  action_hashes: words,
});

/** Evidence that the signer signed. */
export type Authorship = ReturnType<typeof authorship>;

const action = shape('action', { kind: text, target: text, payload: text, signer: address, authority: word });

/** A proof file. */
export const proofFile = shape(
  'proof file',
  { version: u32, domain, sequencer: address, action, leaf, inclusion, batch: signedBatch, anchor: nullOr(anchor) },
  { authorship },
);

/** Common part of claims and proof files. */
export const placed = { domain, sequencer: address, inclusion, batch: signedBatch, anchor: nullOr(anchor) };
