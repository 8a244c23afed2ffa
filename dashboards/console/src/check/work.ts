/**
 * Checks in the worker. A hostile file can keep a check busy; the page stays responsive, and ends the worker after a
 * while.
 */

import {
  type ActionWords,
  type Checkpoint,
  type Header,
  type StateEntry,
  type StateFacts,
  type Trust,
  type VerificationKey,
  checkShown,
  readExactly,
  readStrictly,
  verifyBatchReceipt,
  verifyClaim,
  verifyExport,
  verifyProofFile,
  verifyReceipt,
  verifyStateProof,
} from '@kedge/sdk/verify';
import { type Kind, recognise } from './kinds';
import type { WorkStep } from './steps';

/** Input of a check. */
export interface Question {
  /** Text of the file. */
  readonly text: string;
  readonly trust: Trust;
  /** Content hashes computed by the sender; empty to use those in a receipt. */
  readonly contents: readonly `0x${string}`[];
  /** The verification key of claims. */
  readonly key: VerificationKey | null;
}

/** What the contract can verify of a state proof itself. */
export interface StateOnChain {
  readonly key: string;
  /** `0x` for absence. */
  readonly entry: `0x${string}`;
  readonly nodes: readonly `0x${string}`[];
}

/** Question to the contract. */
export interface OnChain {
  readonly contract: `0x${string}`;
  readonly chainId: bigint;
  readonly batch: bigint;
  readonly checkpoint: Pick<Checkpoint, 'batches' | 'sequence' | 'history'>;
  /** Null for files about actions. */
  readonly state: StateOnChain | null;
}

/** Facts shown by a valid file. */
export interface Shown {
  readonly sequence: bigint | null;
  readonly timestampMs: bigint | null;
  readonly batch: bigint | null;
  readonly content: `0x${string}` | null;
  readonly words: ActionWords | null;
  /** Of a claim: its disclosed words. */
  readonly disclosed: Readonly<Record<string, string>> | null;
  /** Of a state proof: what was proven. */
  readonly state: StateFacts | null;
  readonly summary: string;
  readonly onChain: OnChain | null;
}

/** Reports of the worker: the kind of file, each step as it begins, then the end. */
export type Report =
  | { readonly kind: Kind }
  | { readonly step: WorkStep }
  | { readonly shown: Shown }
  | { readonly refused: string };

const NOTHING: Shown = { sequence: null, timestampMs: null, batch: null, content: null, words: null, disclosed: null, state: null, summary: '', onChain: null };

interface Anchored {
  readonly domain: { readonly chain_id: bigint };
  readonly batch: { readonly header: Pick<Header, 'number'> };
  readonly anchor: { readonly contract: `0x${string}`; readonly checkpoint: { readonly checkpoint: Checkpoint } } | null;
}

/** The question to the contract, for a verified file. */
function onChainOf(text: string): OnChain | null {
  const { domain, batch, anchor } = readStrictly(text) as Anchored;
  if (anchor === null) return null;
  const { batches, sequence, history } = anchor.checkpoint.checkpoint;
  const { contract } = anchor;
  return { contract, chainId: domain.chain_id, batch: batch.header.number, checkpoint: { batches, sequence, history: history.toLowerCase() as `0x${string}` }, state: null };
}

function receipt({ text, trust, contents }: Question, onStep: (step: WorkStep) => void): Shown {
  // Without the sender's content hash, the receipt's: the page then shows that step as not checked.
  const stated = (): `0x${string}` => {
    const { leaf } = readStrictly(text) as { leaf?: { content?: unknown } };
    return typeof leaf?.content === 'string' ? (leaf.content.toLowerCase() as `0x${string}`) : '0x';
  };
  const facts = verifyReceipt(text, trust, contents[0] ?? stated(), undefined, onStep);
  return { ...NOTHING, ...facts, summary: 'The log holds the action of this receipt.' };
}

function receipts({ text, trust, contents }: Question, onStep: (step: WorkStep) => void): Shown {
  if (contents.length === 0) throw new Error('The receipt of several actions names no contents: give those that you computed, in the order of the request.');
  const facts = verifyBatchReceipt(text, trust, contents, undefined, onStep);
  const [first] = facts.values();
  const many = `The log holds ${facts.size} actions of this request.`;
  return { ...NOTHING, sequence: first?.sequence ?? null, timestampMs: first?.timestampMs ?? null, batch: first?.batch ?? null, summary: many };
}

function proof({ text, trust }: Question, onStep: (step: WorkStep) => void): Shown {
  const { action, authorship, sequence, timestampMs, batch, content } = verifyProofFile(text, trust, onStep);
  const who = authorship ? 'The signer signed this action, and the log holds it.' : 'The log holds this action.';
  return { ...NOTHING, sequence, timestampMs, batch, content, words: action, summary: who, onChain: onChainOf(text) };
}

function claim({ text, trust, key }: Question, onStep: (step: WorkStep) => void): Shown {
  if (key === null) throw new Error('A claim is checked with the verification key of its circuit: give its file.');
  const { sequence, timestampMs, disclosed, binding } = verifyClaim(text, trust, key, onStep);
  const { signer, ...words } = disclosed;
  const shown: Record<string, string> = { ...(signer === undefined ? {} : { signer }) };
  for (const [name, word] of Object.entries(words)) shown[name] = word.text ?? `hash ${word.hash}`;
  const summary = `An action of the log has these words. The claim is bound to the claimant ${binding.claimant} and the resolver ${binding.resolver}.`;
  return { ...NOTHING, sequence, timestampMs, disclosed: shown, summary, onChain: onChainOf(text) };
}

/** What a resource was, as the end of a sentence. */
function wordsOf(entry: StateEntry): string {
  const version = `version ${entry.version}`;
  switch (entry.type) {
    case 'obj':
      return `was ${entry.status} at ${version}, number ${entry.serial} of its template, and owned by ${entry.owner_address}`;
    case 'tpl':
      return `was at ${version}, with ${entry.minted_count} minted${entry.max_supply === null ? '' : ` of at most ${entry.max_supply}`}, and ${entry.burned_count} burned`;
    default:
      return `was at ${version}`;
  }
}

/** The file of a state proof, as verified. */
interface StateFile {
  readonly entry: `0x${string}`;
  readonly nodes: readonly `0x${string}`[];
  readonly anchor: { readonly contract: `0x${string}` } | null;
}

function stateShown(file: StateFile, facts: StateFacts, trust: Trust): Shown {
  const { key, entry, checkpoint } = facts;
  const { batches, sequence, history } = checkpoint;
  const asked = { contract: file.anchor?.contract ?? '0x', chainId: trust.domain.chainId, batch: batches - 1n, checkpoint: { batches, sequence, history } } as const;
  const onChain = file.anchor === null ? null : { ...asked, state: { key, entry: file.entry, nodes: file.nodes } };
  const what = entry === null ? `the log had made nothing under ${key}` : `${key} ${wordsOf(entry)}`;
  const summary = `After action ${sequence} of the log, ${what}. The sequencer signed this at ${new Date(Number(checkpoint.issued_at_ms)).toISOString()}.`;
  return { ...NOTHING, sequence, timestampMs: checkpoint.issued_at_ms, state: facts, summary, onChain };
}

function state({ text, trust }: Question, onStep: (step: WorkStep) => void): Shown {
  const facts = verifyStateProof(text, trust, { onStep });
  return stateShown(readStrictly(text) as StateFile, facts, trust);
}

function answer({ text, trust }: Question, onStep: (step: WorkStep) => void): Shown {
  const item = readExactly(text) as { state_proof: StateFile };
  if (typeof item.state_proof !== 'object') throw new Error('The state proof of the answer is no object.');
  const facts = verifyStateProof(item.state_proof, trust, { onStep });
  onStep('shown');
  checkShown(item, facts);
  return stateShown(item.state_proof, facts, trust);
}

async function wholeLog({ text, trust }: Question): Promise<Shown> {
  const { checkpoint, opened } = await verifyExport(text, trust);
  return { ...NOTHING, summary: `The whole log holds: ${checkpoint.batches} batches and ${checkpoint.sequence} actions, of which ${opened} are shown with their signatures.` };
}

/** Runs a check. */
export async function check(question: Question, report: (report: Report) => void): Promise<void> {
  const onStep = (step: WorkStep): void => report({ step });
  try {
    const { kind, text } = recognise(question.text);
    report({ kind });
    const kinds = { receipt, receipts, proof, state, answer, claim };
    const asked = { ...question, text };
    const shown = kind === 'export' ? await wholeLog(asked) : kinds[kind](asked, onStep);
    report({ shown });
  } catch (error) {
    report({ refused: error instanceof Error ? error.message : String(error) });
  }
}
