/**
 * Checks in the worker. A hostile file can keep a check busy; the page stays responsive, and ends the worker after a
 * while.
 */

import {
  type ActionWords,
  type Checkpoint,
  type Header,
  type Step,
  type Trust,
  type VerificationKey,
  readStrictly,
  verifyBatchReceipt,
  verifyClaim,
  verifyExport,
  verifyProofFile,
  verifyReceipt,
} from '@kedge/sdk/verify';
import { type Kind, recognise } from './kinds';

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

/** Question to the contract. */
export interface OnChain {
  readonly contract: `0x${string}`;
  readonly chainId: bigint;
  readonly batch: bigint;
  readonly checkpoint: Pick<Checkpoint, 'batches' | 'sequence' | 'history'>;
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
  readonly summary: string;
  readonly onChain: OnChain | null;
}

/** Reports of the worker: the kind of file, each step as it begins, then the end. */
export type Report =
  | { readonly kind: Kind }
  | { readonly step: Step }
  | { readonly shown: Shown }
  | { readonly refused: string };

const NOTHING: Shown = { sequence: null, timestampMs: null, batch: null, content: null, words: null, disclosed: null, summary: '', onChain: null };

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
  return { contract, chainId: domain.chain_id, batch: batch.header.number, checkpoint: { batches, sequence, history: history.toLowerCase() as `0x${string}` } };
}

function receipt({ text, trust, contents }: Question, onStep: (step: Step) => void): Shown {
  // Without the sender's content hash, the receipt's: the page then shows that step as not checked.
  const stated = (): `0x${string}` => {
    const { leaf } = readStrictly(text) as { leaf?: { content?: unknown } };
    return typeof leaf?.content === 'string' ? (leaf.content.toLowerCase() as `0x${string}`) : '0x';
  };
  const facts = verifyReceipt(text, trust, contents[0] ?? stated(), undefined, onStep);
  return { ...NOTHING, ...facts, summary: 'The log holds the action of this receipt.' };
}

function receipts({ text, trust, contents }: Question, onStep: (step: Step) => void): Shown {
  if (contents.length === 0) throw new Error('The receipt of several actions names no contents: give those that you computed, in the order of the request.');
  const facts = verifyBatchReceipt(text, trust, contents, undefined, onStep);
  const [first] = facts.values();
  const many = `The log holds ${facts.size} actions of this request.`;
  return { ...NOTHING, sequence: first?.sequence ?? null, timestampMs: first?.timestampMs ?? null, batch: first?.batch ?? null, summary: many };
}

function proof({ text, trust }: Question, onStep: (step: Step) => void): Shown {
  const { action, authorship, sequence, timestampMs, batch, content } = verifyProofFile(text, trust, onStep);
  const who = authorship ? 'The signer signed this action, and the log holds it.' : 'The log holds this action.';
  return { ...NOTHING, sequence, timestampMs, batch, content, words: action, summary: who, onChain: onChainOf(text) };
}

function claim({ text, trust, key }: Question, onStep: (step: Step) => void): Shown {
  if (key === null) throw new Error('A claim is checked with the verification key of its circuit: give its file.');
  const { sequence, timestampMs, disclosed, binding } = verifyClaim(text, trust, key, onStep);
  const { signer, ...words } = disclosed;
  const shown: Record<string, string> = { ...(signer === undefined ? {} : { signer }) };
  for (const [name, word] of Object.entries(words)) shown[name] = word.text ?? `hash ${word.hash}`;
  const summary = `An action of the log has these words. The claim is bound to the claimant ${binding.claimant} and the resolver ${binding.resolver}.`;
  return { ...NOTHING, sequence, timestampMs, disclosed: shown, summary, onChain: onChainOf(text) };
}

async function wholeLog({ text, trust }: Question): Promise<Shown> {
  const { checkpoint, opened } = await verifyExport(text, trust);
  return { ...NOTHING, summary: `The whole log holds: ${checkpoint.batches} batches and ${checkpoint.sequence} actions, of which ${opened} are shown with their signatures.` };
}

/** Runs a check. */
export async function check(question: Question, report: (report: Report) => void): Promise<void> {
  const onStep = (step: Step): void => report({ step });
  try {
    const { kind, text } = recognise(question.text);
    report({ kind });
    const kinds = { receipt, receipts, proof, claim };
    const asked = { ...question, text };
    const shown = kind === 'export' ? await wholeLog(asked) : kinds[kind](asked, onStep);
    report({ shown });
  } catch (error) {
    report({ refused: error instanceof Error ? error.message : String(error) });
  }
}
