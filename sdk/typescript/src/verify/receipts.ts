/** Offline verification of receipts and proof files. */

import { refuseUnless } from '../refused.js';
import type { Hex } from '../protocol/bytes.js';
import { type ActionWords, authorityOf, contentOf, leafOf, nextIntegrity } from '../protocol/chain.js';
import { actionHash, requestDigest } from '../protocol/domain.js';
import { checkInclusion } from '../protocol/merkle.js';
import { readStrictly } from '../reading/json.js';
import { fileOf } from '../reading/shapes.js';
import * as forms from './forms.js';
import { ACTIONS_MAX, type SeenHeaders, checkHeader, checkIntegrity, checkLog, checkPlace, checkPlaced, checkSigner } from './placed.js';
import { type OnStep, unseen } from './steps.js';
import type { Trust } from './trust.js';

/** Facts about one action, shown by a valid receipt. */
export interface ReceiptFacts {
  /** Position of the action in the log. */
  readonly sequence: bigint;
  /** Time of the action, milliseconds since 1970. */
  readonly timestampMs: bigint;
  /** Number of the batch. */
  readonly batch: bigint;
  /** Content hash: SHA-256 of the action's five words. */
  readonly content: Hex;
}

/**
 * Verifies the receipt of one action. `content` is the sender's own computation (see {@link contentOf}): without it,
 * the receipt could be for another action.
 *
 * @param file the receipt: its text, or parsed JSON whose numbers are exact
 * @throws Refused if the receipt is invalid
 */
export function verifyReceipt(file: string | object, trust: Trust, content: Hex, seen?: SeenHeaders, onStep: OnStep = unseen): ReceiptFacts {
  onStep('form');
  const { leaf_index: index, path, ...read } = forms.receipt(fileOf(file, readStrictly));
  onStep('words');
  refuseUnless(read.leaf.content === content.toLowerCase(), 'the receipt is for another action');
  checkPlaced({ ...read, inclusion: { leaf_index: index, path }, anchor: null }, trust, { onStep, seen, checkLeaf: () => checkIntegrity(read.leaf) });
  return { sequence: read.leaf.sequence, timestampMs: read.leaf.timestamp_ms, batch: read.batch.header.number, content };
}

/**
 * Verifies the receipt of a request of many actions. `contents` are those of all its actions, in request order. Returns
 * an entry for each completed action, with its index in the request.
 *
 * @throws Refused if the receipt is invalid
 */
export function verifyBatchReceipt(
  file: string | object,
  trust: Trust,
  contents: readonly Hex[],
  seen?: SeenHeaders,
  onStep: OnStep = unseen,
): Map<number, ReceiptFacts> {
  onStep('form');
  const read = forms.batchReceipt(fileOf(file, readStrictly));
  onStep('log');
  checkLog(read, trust);
  onStep('header');
  checkHeader(read.batch, trust, seen);
  const { header } = read.batch;
  onStep('leaf');
  const facts = new Map<number, ReceiptFacts>();
  const leaves = read.actions.map((done, i) => {
    const before = read.actions[i - 1];
    refuseUnless(before === undefined || before.index < done.index, 'the entries are not in request order');
    const content = contents[Number(done.index)];
    refuseUnless(content !== undefined, `the request has no action ${done.index}`);
    checkPlace(header, done, done.leaf_index);
    facts.set(Number(done.index), { sequence: done.sequence, timestampMs: done.timestamp_ms, batch: header.number, content });
    return leafOf({ ...done, content, integrity: nextIntegrity(done.previous_integrity, content) });
  });
  onStep('path');
  checkInclusion(header.root, header.count, read.actions.map((done) => done.leaf_index), leaves, read.proof);
  return facts;
}

function checkAuthorship(shown: forms.Authorship, action: ActionWords, time: bigint, trust: Trust): void {
  const { signature, salt, action_hashes: hashes } = shown;
  refuseUnless(hashes.length <= ACTIONS_MAX, 'a request holds at most 500 actions');
  refuseUnless(hashes[Number(shown.index)] === actionHash({ ...action, salt }), 'the action is not at its index');
  refuseUnless(authorityOf(signature, salt) === action.authority, 'the authority is not made from this signature');
  checkSigner(requestDigest(trust.domain, { ...shown, signer: action.signer }, hashes), signature, action.signer, 'the request');
  refuseUnless(time <= shown.deadline * 1000n, 'the action was placed after the deadline');
}

/** Facts shown by a valid proof file. */
export interface ProofFacts extends ReceiptFacts {
  /** The opened action. */
  readonly action: ActionWords;
  /** Whether an anchored checkpoint, according to the file, covers the action. Only the contract can confirm it. */
  readonly anchored: boolean;
  /** History and number of batches, to compare with the contract's `checkpoint(batches)`; null if not anchored. */
  readonly checkpoint: { readonly batches: bigint; readonly history: Hex; readonly sequence: bigint } | null;
  /** Whether the file shows the signer's signature. */
  readonly authorship: boolean;
}

/**
 * Verifies a proof file offline: steps 1 to 5 of the protocol. Only an Ethereum node can confirm the anchor.
 *
 * @throws Refused if the file is invalid
 */
export function verifyProofFile(file: string | object, trust: Trust, onStep: OnStep = unseen): ProofFacts {
  onStep('form');
  const read = forms.proofFile(fileOf(file, readStrictly));
  onStep('words');
  refuseUnless(contentOf(read.action) === read.leaf.content, 'the content is not that of the words');
  checkPlaced(read, trust, { onStep, checkLeaf: () => checkIntegrity(read.leaf) });
  if (read.authorship !== undefined) {
    onStep('authorship');
    checkAuthorship(read.authorship, read.action, read.leaf.timestamp_ms, trust);
  }
  return {
    sequence: read.leaf.sequence,
    timestampMs: read.leaf.timestamp_ms,
    batch: read.batch.header.number,
    content: read.leaf.content,
    action: read.action,
    anchored: read.anchor !== null,
    checkpoint: read.anchor?.checkpoint.checkpoint ?? null,
    authorship: read.authorship !== undefined,
  };
}
