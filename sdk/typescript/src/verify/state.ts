/** Offline verification of state proofs: an id's entry after a sequence, or that the log had made nothing. */

import { refuseUnless } from '../refused.js';
import { toHex } from '../protocol/bytes.js';
import type { Checkpoint } from '../protocol/domain.js';
import { ZERO, keccak } from '../protocol/hash.js';
import { PROOF_NODES_MAX, type TrieNode, checkTrieProof, readNode } from '../protocol/trie.js';
import { readStrictly } from '../reading/json.js';
import { type Reader, bytesOf, fileOf, flag, listOf, nullOr, shape, text, u32 } from '../reading/shapes.js';
import * as forms from './forms.js';
import { checkCheckpoint, within } from './placed.js';
import { type StateEntry, decodeEntry, entryType } from './state-entries.js';
import { type StateTexts, checkFields, checkTexts, stateTexts } from './state-shown.js';
import type { Trust } from './trust.js';

/** Limit on the proofs of one list. */
export const PROOFS_MAX = 100;

const anything: Reader<unknown> = (value) => value;
const shownEntry = { key: text, present: flag, entry: bytesOf(), fields: anything, texts: stateTexts };
const signedRoot = { checkpoint: forms.signedCheckpoint, anchor: nullOr(forms.anchor) };
const nodeBytes = bytesOf();
const stateProof = shape('state proof', { ...shownEntry, nodes: listOf(nodeBytes, PROOF_NODES_MAX), ...signedRoot });
const sharedProof = shape('state proof', { ...shownEntry, nodes: listOf(u32, PROOF_NODES_MAX) });
const stateProofs = shape('state proofs', { ...signedRoot, nodes: listOf(nodeBytes), proofs: listOf(sharedProof, PROOFS_MAX) });

type ShownEntry = Omit<ReturnType<typeof stateProof>, 'nodes' | 'checkpoint' | 'anchor'>;
type SignedRoot = Pick<ReturnType<typeof stateProof>, 'checkpoint' | 'anchor'>;

/** A step of the check of a state proof. */
export type StateStep = 'form' | 'checkpoint' | 'anchor' | 'nodes' | 'entry' | 'texts';

/** Options of {@link verifyStateProof}. */
export interface StateProofOptions {
  /** Id that the proof must be about. Without it, read {@link StateFacts.key}. */
  readonly key?: string | undefined;
  /** Number of batches that the checkpoint must have. */
  readonly checkpoint?: number | bigint | undefined;
  /** Sequence that the checkpoint must have reached. */
  readonly minSequence?: number | bigint | undefined;
  /** Called when a step begins; it has passed once the next one begins or the check returns. */
  readonly onStep?: ((step: StateStep) => void) | undefined;
}

/** Facts shown by a valid state proof. */
export interface StateFacts {
  /** Id of the resource. */
  readonly key: string;
  /** Its entry after the checkpoint's sequence; null if the log had made nothing. */
  readonly entry: StateEntry | null;
  /** Texts of the answer, each with its hash in the entry. */
  readonly texts: StateTexts;
  /**
   * Signed checkpoint: `issued_at_ms` says how old the statement is. Compare `state` with the contract's record of
   * `batches`, if the proof is anchored.
   */
  readonly checkpoint: Checkpoint;
  /** Whether the checkpoint is anchored, according to the answer. Only the contract can confirm it. */
  readonly anchored: boolean;
  /** The facts as a sentence. */
  readonly statement: string;
}

/** The checkpoint that the anchor names must be the proof's own: another one has another state. */
function checkStateAnchor({ checkpoint: { checkpoint }, anchor }: SignedRoot, trust: Trust): void {
  if (anchor === null) return;
  const { checkpoint: anchored } = anchor.checkpoint;
  const isSame = (['batches', 'sequence', 'head', 'history', 'state'] as const).every((name) => anchored[name] === checkpoint[name]);
  refuseUnless(isSame, 'the anchor is of another checkpoint');
  refuseUnless(anchor.path.length === 0, 'the anchor has a path, and a checkpoint needs none');
  checkCheckpoint(anchor.checkpoint, trust);
}

function checkRoot(read: SignedRoot, trust: Trust, { checkpoint: batches, minSequence, onStep }: StateProofOptions): void {
  const { checkpoint } = read.checkpoint;
  onStep?.('checkpoint');
  refuseUnless(checkpoint.state !== ZERO, 'the checkpoint has no root of the state');
  refuseUnless(batches === undefined || checkpoint.batches === BigInt(batches), `the checkpoint has ${checkpoint.batches} batches, not ${batches}`);
  const isReached = minSequence === undefined || checkpoint.sequence >= BigInt(minSequence);
  refuseUnless(isReached, `the checkpoint ends at sequence ${checkpoint.sequence}, before ${minSequence}`);
  checkCheckpoint(read.checkpoint, trust);
  onStep?.('anchor');
  checkStateAnchor(read, trust);
}

function statementOf(key: string, entry: StateEntry | null, sequence: bigint): string {
  if (entry === null) return `after sequence ${sequence}, the log had made nothing under ${key}`;
  return `after sequence ${sequence}, ${key} is at version ${entry.version}, made by sequence ${entry.sequence}`;
}

function checkEntry(read: ShownEntry, nodes: readonly TrieNode[], root: SignedRoot, onStep: StateProofOptions['onStep']): StateFacts {
  const { key, present, entry: bytes, fields, texts } = read;
  const { checkpoint } = root.checkpoint;
  onStep?.('nodes');
  const type = entryType(key);
  refuseUnless(present === bytes.length > 0, 'present says other than the entry');
  refuseUnless(present || type !== 'act', 'an action has no absence proof');
  checkTrieProof(checkpoint.state, key, present ? toHex(keccak(bytes)) : null, nodes);
  onStep?.('entry');
  const entry = present ? decodeEntry(key, bytes, checkpoint.sequence) : null;
  if (entry !== null) checkFields(key, fields, entry);
  onStep?.('texts');
  if (entry !== null) checkTexts(key, texts, entry);
  refuseUnless(entry !== null || (fields === null && Object.keys(texts).length === 0), 'fields or texts of nothing');
  const statement = statementOf(key, entry, checkpoint.sequence);
  return { key, entry, texts, checkpoint, anchored: root.anchor !== null, statement };
}

const nodeAt = (bytes: Uint8Array, i: number): TrieNode => within(`node ${i}`, () => readNode(bytes));

/**
 * Verifies a state proof: the answer of `GET /objects/{id}/state-proof`, `/templates/{id}/state-proof` and
 * `/state/{id}`, and the member `state_proof` of an item that was read with `?prove=true`:
 *
 *     { key, present, entry: "0x…", fields, texts: { properties?, schema?, name?, rules? }, nodes: ["0x…"],
 *       checkpoint: { checkpoint, signature }, anchor: null | { checkpoint, path: [], contract, transaction_hash, block_number } }
 *
 * Where the log made nothing, `present` is false, `entry` is `0x`, `fields` is null and `texts` is `{}`.
 *
 * @param file the answer: its text, or parsed JSON whose numbers are exact
 * @throws MalformedEntry if the proven entry is not well-formed, StateMismatch if fields or texts differ from it, and
 * Refused if the proof is invalid
 */
export function verifyStateProof(file: string | object, trust: Trust, options: StateProofOptions = {}): StateFacts {
  options.onStep?.('form');
  const read = stateProof(fileOf(file, readStrictly));
  refuseUnless(options.key === undefined || read.key === options.key, `the proof is about ${JSON.stringify(read.key.slice(0, 64))}, not about ${options.key}`);
  checkRoot(read, trust, options);
  return checkEntry(read, read.nodes.map(nodeAt), read, options.onStep);
}

/**
 * Verifies the proofs of a list that was read with `?prove=true`, its member `state_proofs`. They share a checkpoint,
 * and each node is sent once:
 *
 *     { checkpoint: { checkpoint, signature }, anchor, nodes: ["0x…"],
 *       proofs: [{ key, present, entry, fields, texts, nodes: [0, 1, …] }] }
 *
 * `proofs` are in the order of the items; their `nodes` are indices into the common list, which holds each node once, in
 * the order in which the proofs first use them. Returns the facts of each proof, in order.
 *
 * @throws MalformedEntry, StateMismatch or Refused, as {@link verifyStateProof}
 */
export function verifyStateProofs(file: string | object, trust: Trust, options: Omit<StateProofOptions, 'key'> = {}): StateFacts[] {
  return verifyList(file, trust, options).facts;
}

/** What the proofs of a list show. */
export interface ListFacts {
  /** Signed checkpoint, which an empty list has too. */
  readonly checkpoint: Checkpoint;
  /** Facts of each proof, in order. */
  readonly facts: StateFacts[];
}

/** Verifies the proofs of a list as {@link verifyStateProofs} does. */
export function verifyList(file: string | object, trust: Trust, options: Omit<StateProofOptions, 'key'> = {}): ListFacts {
  options.onStep?.('form');
  const read = stateProofs(fileOf(file, readStrictly));
  checkRoot(read, trust, options);
  const nodes = read.nodes.map(nodeAt);
  refuseUnless(new Set(nodes.map(({ hash }) => hash)).size === nodes.length, 'a common node occurs twice');
  let used = 0n;
  const take = (index: bigint): TrieNode => {
    refuseUnless(index <= used, 'the common nodes are not in the order of their first use');
    if (index === used) used += 1n;
    const node = nodes[Number(index)];
    refuseUnless(node !== undefined, `there is no common node ${index}`);
    return node;
  };
  const facts = read.proofs.map((proof, i) => within(`proof ${i}`, () => checkEntry(proof, proof.nodes.map(take), read, options.onStep)));
  refuseUnless(used === BigInt(nodes.length), 'a common node is not used');
  return { checkpoint: read.checkpoint.checkpoint, facts };
}
