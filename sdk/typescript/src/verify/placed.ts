/** Shared checks of receipts, proof files and claims: from a leaf to a signed header, and on to a checkpoint. */

import { Refused, refuseUnless } from '../refused.js';
import type { Hex } from '../protocol/bytes.js';
import { type Leaf, leafOf, nextIntegrity } from '../protocol/chain.js';
import { sameAddress, signerUnless } from '../protocol/curve.js';
import { type Header, batchHash, checkpointHash, digestOf } from '../protocol/domain.js';
import { checkInclusion, logLeaf } from '../protocol/merkle.js';
import type { SignedBatch, anchor, domain, inclusion, signedCheckpoint } from './forms.js';
import { type OnStep, unseen } from './steps.js';
import { type Trust, keyOf } from './trust.js';

/** Limit on the actions of a batch, and of a request. */
export const ACTIONS_MAX = 500;

/** Headers with a verified signature: a client sees each header many times. */
export interface SeenHeaders {
  /** Whether this header with this signature was verified before. */
  has(batch: SignedBatch, hash: Hex): boolean;
  /** Records a header with a verified signature. */
  add(batch: SignedBatch, hash: Hex): void;
}

/** Refuses another version or another log. */
export function checkLog(file: { version: bigint; domain: ReturnType<typeof domain> }, trust: Trust): void {
  refuseUnless(file.version === 1n, 'the version is unknown');
  const { chain_id: chainId, verifying_contract: contract } = file.domain;
  const { domain: ours } = trust;
  refuseUnless(chainId === ours.chainId && sameAddress(contract, ours.verifyingContract), 'the domain is another log than the trusted one');
}

/** Refuses a signature of another key. */
export function checkSigner(digest: Hex, signature: unknown, expected: string, what: string): void {
  const other = signerUnless(expected, digest, signature);
  refuseUnless(other === null, `${what} was signed by ${other}, not by ${expected}`);
}

const checkCount = ({ count }: Header): void => refuseUnless(count >= 1n && count <= ACTIONS_MAX, 'a batch holds 1 to 500 actions');

/** Verifies a header's count and signature. Returns its hash. */
export function checkHeader(batch: SignedBatch, trust: Trust, seen?: SeenHeaders): Hex {
  const { header, signature } = batch;
  checkCount(header);
  const hash = batchHash(header);
  if (seen?.has(batch, hash)) return hash;
  checkSigner(digestOf(trust.domain, hash), signature, keyOf(trust.sequencer, header.number), `the header of batch ${header.number}`);
  seen?.add(batch, hash);
  return hash;
}

/** Refuses a position that contradicts the header. */
export function checkPlace(header: Header, at: { sequence: bigint; timestamp_ms: bigint }, index: bigint): void {
  refuseUnless(index < header.count && at.sequence === header.first_sequence + index, 'sequence and leaf index are not those of the header');
  refuseUnless(at.timestamp_ms <= header.sealed_at_ms, 'the action is later than its batch');
}

/** Refuses an integrity hash that does not follow from the previous one. */
export function checkIntegrity(leaf: { previous_integrity: Hex; content: Hex; integrity: Hex }): void {
  refuseUnless(nextIntegrity(leaf.previous_integrity, leaf.content) === leaf.integrity, 'the integrity does not follow');
}

/** Verifies the signature of a checkpoint, by the sequencer's key of its last batch. */
export function checkCheckpoint(signed: ReturnType<typeof signedCheckpoint>, trust: Trust): void {
  refuseUnless(signed.checkpoint.batches > 0n, 'the checkpoint is of an empty log');
  checkCheckpointSigner(signed, trust);
}

/** Verifies the signature of a checkpoint, also of an empty log, which the first key signs. Returns the key. */
export function checkCheckpointSigner({ checkpoint, signature }: ReturnType<typeof signedCheckpoint>, trust: Trust): Hex {
  const key = keyOf(trust.sequencer, checkpoint.batches === 0n ? 0n : checkpoint.batches - 1n);
  checkSigner(digestOf(trust.domain, checkpointHash(checkpoint)), signature, key, 'the checkpoint');
  return key;
}

function checkAnchor(file: ReturnType<typeof anchor>, header: Header, hash: Hex, trust: Trust): void {
  checkCheckpoint(file.checkpoint, trust);
  const { checkpoint } = file.checkpoint;
  const last = header.first_sequence + header.count - 1n;
  refuseUnless(header.number < checkpoint.batches && last <= checkpoint.sequence, 'the checkpoint does not cover the batch');
  checkInclusion(checkpoint.history, checkpoint.batches, [header.number], [logLeaf(hash)], file.path);
}

/** Options of a check. */
export interface PlacedOptions {
  readonly onStep?: OnStep | undefined;
  readonly seen?: SeenHeaders | undefined;
  readonly checkLeaf?: () => void;
}

/** Path from a leaf to a header and an anchor. */
export interface Placed {
  readonly version: bigint;
  readonly domain: ReturnType<typeof domain>;
  readonly leaf: Leaf;
  readonly inclusion: ReturnType<typeof inclusion>;
  readonly batch: SignedBatch;
  readonly anchor: ReturnType<typeof anchor> | null;
}

/** Verifies a leaf's position in the log. `checkLeaf` checks further statements of the file about the leaf. */
export function checkPlaced(file: Placed, trust: Trust, { onStep = unseen, seen, checkLeaf }: PlacedOptions = {}): void {
  onStep('log');
  checkLog(file, trust);
  const { header } = file.batch;
  const { leaf_index: index, path } = file.inclusion;
  onStep('leaf');
  checkLeaf?.();
  checkCount(header);
  checkPlace(header, file.leaf, index);
  onStep('path');
  checkInclusion(header.root, header.count, [index], [leafOf(file.leaf)], path);
  onStep('header');
  const hash = checkHeader(file.batch, trust, seen);
  if (file.anchor === null) return;
  onStep('history');
  checkAnchor(file.anchor, header, hash, trust);
}

/** Adds the place to errors of a check, and keeps their class. */
export function within<T>(where: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (error instanceof Refused) error.message = `${where}: ${error.message}`;
    throw error;
  }
}
