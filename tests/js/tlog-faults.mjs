// Faults that the line of the sequencer's key in a note shows. A Refused says why nothing is proven. `trust` is as in
// tlog-notes.mjs; a T is {batches, root, history, signature}. What is anchored is the caller's: {batches, history}.

import { keccak256 } from 'viem';
import * as p from './protocol.mjs';
import { listOf, refuseUnless, shape, text, u32, u64, word } from './reading.mjs';
import { checkInclusion, entryOf, leafOf } from './tlog.mjs';
import { checkTlogSignature } from './tlog-notes.mjs';

const ENTRY_BYTES_MAX = 65_535;
const PATH_MAX = 65;

const path = listOf(word, PATH_MAX);
const tlogCheckpoint = shape('T', { batches: u64, root: word, history: word, signature: text });
const checkpoint = shape('anchored', { batches: u64, history: word });

function entryBytes(value) {
  refuseUnless(/^0x([0-9a-fA-F]{2})*$/.test(text(value)) && value.length <= 2 + 2 * ENTRY_BYTES_MAX, 'no bytes, or more than an entry holds');
  return value.toLowerCase();
}

const header = shape('header', {
  number: u64,
  firstSequence: u64,
  count: u32,
  previousHead: word,
  head: word,
  root: word,
  history: word,
  state: word,
  sealedAt: u64,
});

const historyHolds = (history, batches, index, held, way) => p.checkInclusion(history, batches, [index], [p.logLeaf(held)], way);

const FAULTS = {
  conflicting_tlog: [{ a: tlogCheckpoint, b: tlogCheckpoint }, async ({ a, b }, trust) => {
    await checkTlogSignature(a, trust);
    await checkTlogSignature(b, trust);
    return a.batches === b.batches && (a.root !== b.root || a.history !== b.history);
  }],
  false_tlog_history: [{ t: tlogCheckpoint, anchored: checkpoint, beginning: word, proof: path }, async ({ t, anchored, beginning, proof }, trust) => {
    await checkTlogSignature(t, trust);
    p.checkConsistency(t.batches, anchored.batches, beginning, anchored.history, proof);
    return beginning !== t.history;
  }],
  false_tlog_root: [{ t: tlogCheckpoint, index: u64, entry: entryBytes, entry_path: path, held: word, held_path: path }, async (evidence, trust) => {
    const { t, index, entry, entry_path: entryPath, held, held_path: heldPath } = evidence;
    await checkTlogSignature(t, trust);
    checkInclusion(t.root, t.batches, [index], [leafOf(entry)], entryPath);
    historyHolds(t.history, t.batches, index, held, heldPath);
    return keccak256(entry) !== held;
  }],
};

/** Returns the fault if the evidence shows it. */
export async function verifyTlogFault(fault, evidence, trust) {
  refuseUnless(Object.hasOwn(FAULTS, fault), 'no fault of that name');
  const [members, contradict] = FAULTS[fault];
  refuseUnless(await contradict(shape('evidence', members)(evidence), trust), 'nothing contradicts');
  return fault;
}

const answer = shape('answer', { t: tlogCheckpoint, index: u64, header, entry_path: path, anchored: checkpoint, held_path: path });

/**
 * Refuses a demand, unless its T is signed and the batch is anchored, and an answer whose header is not the entry. A header
 * with another number that leads to the root there answers it, and shows that the root is false.
 */
export async function checkEntryAnswer(value, trust) {
  const { t, index, header: message, entry_path: entryPath, anchored, held_path: heldPath } = answer(value);
  await checkTlogSignature(t, trust);
  checkInclusion(t.root, t.batches, [index], [leafOf(entryOf(message))], entryPath);
  refuseUnless(index < anchored.batches, 'the batch is not below the checkpoint');
  historyHolds(anchored.history, anchored.batches, message.number, p.structHash('Batch', message), heldPath);
}
