/** Texts about the steps of each kind of file. */

import type { StateStep, Step } from '@kedge/sdk/verify';
import type { Kind } from './kinds';

/** A step of the worker. `shown`: what an answer shows is what its entry holds. */
export type WorkStep = Step | StateStep | 'shown';

/** A displayed step: one of the worker's, or the contract. */
export type ShownStep = WorkStep | 'contract';

/** State of a step. `open`: not checked. `absent`: the file does not state it. */
export type Standing = 'waiting' | 'running' | 'good' | 'bad' | 'open' | 'absent';

/** Titles and explanations of the steps. */
export const TITLES: Record<ShownStep, readonly [title: string, what: string]> = {
  form: ['File', 'It has the members of its kind, each once and of its type.'],
  words: ['Words → content', 'Kind, target, payload, signer and authority hash to the content in the leaf.'],
  log: ['Log', 'It is of the log that you trust.'],
  leaf: ['Content → leaf', 'The resource’s integrity follows, and place and time are those that the header allows.'],
  path: ['Leaf → root', 'The path of hashes leads from the leaf to the root in the header.'],
  header: ['Header', 'The sequencer’s key signed the header of the batch.'],
  history: ['Header → history', 'The header leads to the history of a signed checkpoint that was anchored.'],
  authorship: ['Signature', 'The signer’s own key signed the action.'],
  proof: ['Zero knowledge', 'The proof holds: somebody knows words that hash to the content.'],
  checkpoint: ['Checkpoint', 'The sequencer’s key signed the checkpoint, and it has a root of the state.'],
  anchor: ['Anchor', 'An anchor that the file states is of this very checkpoint.'],
  nodes: ['Id → root', 'The nodes lead from the root to the id’s entry, or show that there is none.'],
  entry: ['Entry', 'The entry is well formed, and the file reads it for people as it is.'],
  texts: ['Texts', 'Properties, schemas and names hash to what the entry holds.'],
  shown: ['Answer', 'What the answer shows is what the entry holds. Times, and a template’s name and description, are in none.'],
  contract: ['Contract', 'An Ethereum node confirms that the contract holds this history.'],
};

/** Steps of each kind, in the order of their checks. */
export const STEPS: Record<Kind, readonly ShownStep[]> = {
  receipt: ['form', 'words', 'log', 'leaf', 'path', 'header'],
  receipts: ['form', 'log', 'header', 'leaf', 'path'],
  proof: ['form', 'words', 'log', 'leaf', 'path', 'header', 'history', 'authorship', 'contract'],
  state: ['form', 'checkpoint', 'anchor', 'nodes', 'entry', 'texts', 'contract'],
  answer: ['form', 'checkpoint', 'anchor', 'nodes', 'entry', 'texts', 'shown', 'contract'],
  claim: ['form', 'words', 'log', 'leaf', 'path', 'header', 'history', 'proof', 'contract'],
  export: [],
};

/** Names of the kinds. */
export const NAMES: Record<Kind, string> = {
  receipt: 'a receipt',
  receipts: 'a receipt of several actions',
  proof: 'a proof file',
  state: 'a state proof',
  answer: 'an answer with a state proof',
  claim: 'a claim',
  export: 'an export of a log',
};

/** Reasons for absent steps. */
export const ABSENT: Partial<Record<ShownStep, string>> = {
  words: 'Not checked: the receipt itself names the content. Give the one that you computed, or load the proof file.',
  history: 'The file states no anchor: the chain had not finalized one when it was made.',
  authorship: 'The file does not show the signature. A proof file of the form “authorship” does.',
  contract: 'Without an anchor there is nothing to ask the contract.',
};
