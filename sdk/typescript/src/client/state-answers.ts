/**
 * Types and operations of proven answers, written by hand until the OpenAPI document of the server has them. The
 * generated ones then replace this file.
 */

import type { StateTexts } from '../verify/state-shown.js';
import type { AnswerOf, Operation, Schemas } from './operation.js';

/** What a state proof says about one id. */
export interface ShownState {
  /** Id of the resource. */
  readonly key: string;
  /** Whether the log has made it. */
  readonly present: boolean;
  /** RLP of the entry in hexadecimal; `0x` where the log has made nothing. */
  readonly entry: string;
  /** The entry, read for people: the members of a `StateEntry` without its type; null where the log has made nothing. */
  readonly fields: Readonly<Record<string, unknown>> | null;
  /** Texts whose hashes are in the entry, as strings. */
  readonly texts: StateTexts;
}

/** A signed checkpoint with a root, and its anchor. */
export interface SignedState {
  readonly checkpoint: Schemas['SignedCheckpoint'];
  /** As in proof files, with an empty path; null until the chain has finalized this checkpoint. */
  readonly anchor: Schemas['AnchorProof'] | null;
}

/** Answer of `GET /objects/{id}/state-proof`, `/templates/{id}/state-proof` and `/state/{id}`. */
export interface StateProofAnswer extends ShownState, SignedState {
  /** Nodes from the root to the end of the path, in hexadecimal. */
  readonly nodes: readonly string[];
}

/** State proofs of a list's items, in their order. */
export interface SharedStateProofs extends SignedState {
  /** Nodes of all proofs, each once, in the order of their first use. */
  readonly nodes: readonly string[];
  readonly proofs: readonly (ShownState & {
    /** Indices into the common nodes. */
    readonly nodes: readonly number[];
  })[];
}

/** An item that was read with `?prove=true`. */
export type WithStateProof<T> = T & { readonly state_proof: StateProofAnswer };

/** A page of a list that was read with `?prove=true`. */
export type WithStateProofs<P> = P & { readonly state_proofs: SharedStateProofs };

/** Pages of lists that can be proven. */
export type ProvenPage = AnswerOf<'listObjects'> | AnswerOf<'listTemplates'> | AnswerOf<'listVariations'>;

const read = (path: string): Operation => ({
  method: 'GET',
  path,
  query: ['checkpoint', 'min_sequence', 'wait'],
  body: null,
  answer: 'json',
  page: false,
  authorized: true,
  keyed: false,
  signs: null,
});

/** Operations that answer a state proof. */
export const STATE_OPERATIONS = {
  object: read('/objects/{id}/state-proof'),
  template: read('/templates/{id}/state-proof'),
  any: read('/state/{id}'),
} as const;
