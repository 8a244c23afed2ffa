/** Reads whose answers are proven: state proofs of single ids, and objects and templates that come with theirs. */

import { OPERATIONS } from '../generated/operations.js';
import { refuseUnless } from '../refused.js';
import { checkShown } from '../verify/shown-items.js';
import type { StateFacts } from '../verify/state.js';
import type { AnswerOf, Call, CallOptions, Operation, QueryOf, Schemas } from './operation.js';
import { Listing } from './pages.js';
import type { TrustKeeper } from './trust-keeper.js';

/** Options of reads that wait for a sequence. */
export interface WaitingOptions extends CallOptions {
  /** Sequence that the checkpoint must have reached. */
  minSequence?: number | bigint;
  /** Seconds to wait for it, where the next root is due in that time; bounded by the server. */
  wait?: number;
}

/** Options of {@link StateReads.proof}. */
export interface StateReadOptions extends WaitingOptions {
  /** Number of batches of an older checkpoint; the newest one with a root by default. */
  checkpoint?: number | bigint;
  /** Called with the answer before it is verified: one that is then refused is evidence. */
  onAnswer?: (answer: Schemas['StateProof']) => void;
}

/** Options of a read that can be proven. */
export interface ProvenReadOptions extends WaitingOptions {
  /** Whether to ask for a state proof and to verify it. */
  prove?: boolean;
}

/** An item that was read with `?prove=true`. */
export type WithStateProof<T> = T & { readonly state_proof: Schemas['StateProof'] };

/** A page of a list that was read with `?prove=true`. */
export type WithStateProofs<P> = P & { readonly state_proofs: Schemas['StateProofs'] };

/** Pages of lists that can be proven. */
type ProvenPage = AnswerOf<'listObjects' | 'listTemplates' | 'listVariations'>;

/** A verified state proof. */
export interface StateProof extends StateFacts {
  /** The answer as the server sent it: keep it with `writeJson`, and show it to those who trust the log alone. */
  readonly answer: Schemas['StateProof'];
}

/** An item whose members are those of its entry, and what the proof of it shows. */
export type ProvenItem<T> = WithStateProof<T> & { readonly proven: StateFacts };

/** A page whose items are those of their entries, and what the proofs of them show, in the order of the items. */
export type ProvenItems<P> = WithStateProofs<P> & { readonly proven: readonly StateFacts[] };

/** What proven reads need of a client. */
export interface ReadSource {
  readonly keeper: TrustKeeper;
  call<T>(operation: Operation, call: Call): Promise<T>;
}

const waitingQuery = ({ minSequence, wait }: { minSequence?: number | bigint | undefined; wait?: number | undefined }): Record<string, unknown> => ({ min_sequence: minSequence, wait });

/** Base of the proven reads. */
abstract class ProvenReads {
  constructor(
    /** @internal */
    protected readonly source: ReadSource,
  ) {}

  /** @internal */
  protected async proofOf(operation: Operation, id: string, options: StateReadOptions): Promise<StateProof> {
    const { checkpoint, minSequence } = options;
    const query = { checkpoint, ...waitingQuery(options) };
    const answer = await this.source.call<Schemas['StateProof']>(operation, { path: { id }, query, options });
    options.onAnswer?.(answer);
    const facts = await this.source.keeper.stateProof(answer, { key: id, checkpoint, minSequence });
    return { ...facts, answer };
  }

  /** @internal */
  protected async item<T extends object>(operation: Operation, id: string, options: ProvenReadOptions): Promise<T | ProvenItem<T>> {
    const prove = options.prove === true;
    const query = prove ? { prove, ...waitingQuery(options) } : waitingQuery({ minSequence: options.minSequence });
    const item = await this.source.call<T>(operation, { path: { id }, query, options });
    if (!prove) return item;
    const proven = await this.source.keeper.stateProof((item as WithStateProof<T>).state_proof, { key: id, minSequence: options.minSequence });
    checkShown(item, proven);
    return Object.assign(item as WithStateProof<T>, { proven });
  }

  /** @internal */
  protected items<P extends ProvenPage>(operation: Operation, call: Call): Listing<ProvenItems<P>> {
    return new Listing<ProvenItems<P>>(async (cursor) => {
      const query = { ...call.query, prove: true, ...(cursor === null ? {} : { cursor }) };
      const page = await this.source.call<WithStateProofs<P>>(operation, { ...call, query });
      const { min_sequence: minSequence } = query as { min_sequence?: number | null };
      const proven = await this.source.keeper.stateProofs(page.state_proofs, { minSequence: minSequence ?? undefined });
      refuseUnless(proven.length === page.items.length, `the page has ${page.items.length} items and ${proven.length} proofs`);
      proven.forEach((facts, i) => checkShown(page.items[i] as object, facts));
      return Object.assign(page, { proven });
    });
  }
}

/** Proofs of any id's entry. */
export class StateReads extends ProvenReads {
  /**
   * Reads and verifies an id's entry after a checkpoint, or that the log had made nothing (`entry` is null).
   *
   * @throws Refused if the proof is invalid, is about another id, or is of an earlier checkpoint than was asked for
   */
  proof(id: string, options: StateReadOptions = {}): Promise<StateProof> {
    return this.proofOf(OPERATIONS.getStateProof, id, options);
  }
}

/** Objects, with proofs of their state. */
export class ObjectReads extends ProvenReads {
  /**
   * Reads an object. With `prove`, the answer comes with a state proof, which is verified before it is returned; `proven`
   * holds what it shows. Times of creation and change are not part of it.
   *
   * @throws StateMismatch if the object is not what its entry says, and Refused if the proof is invalid
   */
  get(id: string, options: ProvenReadOptions & { prove: true }): Promise<ProvenItem<Schemas['ObjectView']>>;
  get(id: string, options?: ProvenReadOptions): Promise<Schemas['ObjectView']>;
  get(id: string, options: ProvenReadOptions = {}): Promise<Schemas['ObjectView']> {
    return this.item<Schemas['ObjectView']>(OPERATIONS.getObject, id, options);
  }

  /** Lists objects, at most 100 a page, and verifies the state proofs of each page before it is returned. */
  listProven(query: QueryOf<'listObjects'> = {}, options: CallOptions = {}): Listing<ProvenItems<AnswerOf<'listObjects'>>> {
    return this.items<AnswerOf<'listObjects'>>(OPERATIONS.listObjects, { query, options });
  }

  /** Reads and verifies the state proof of an object; see {@link StateReads.proof}. */
  stateProof(id: string, options: StateReadOptions = {}): Promise<StateProof> {
    return this.proofOf(OPERATIONS.getObjectStateProof, id, options);
  }
}

/** Templates and their variations, with proofs of their state. */
export class TemplateReads extends ProvenReads {
  /**
   * Reads a template. With `prove`, the answer comes with a state proof, which is verified before it is returned;
   * `proven` holds what it shows. Name, description and times are not part of it.
   *
   * @throws StateMismatch if the template is not what its entry says, and Refused if the proof is invalid
   */
  get(id: string, options: ProvenReadOptions & { prove: true }): Promise<ProvenItem<Schemas['TemplateView']>>;
  get(id: string, options?: ProvenReadOptions): Promise<Schemas['TemplateView']>;
  get(id: string, options: ProvenReadOptions = {}): Promise<Schemas['TemplateView']> {
    return this.item<Schemas['TemplateView']>(OPERATIONS.getTemplate, id, options);
  }

  /** Lists templates, at most 100 a page, and verifies the state proofs of each page before it is returned. */
  listProven(query: QueryOf<'listTemplates'> = {}, options: CallOptions = {}): Listing<ProvenItems<AnswerOf<'listTemplates'>>> {
    return this.items<AnswerOf<'listTemplates'>>(OPERATIONS.listTemplates, { query, options });
  }

  /** Lists a template's variations, at most 100 a page, and verifies the state proofs of each page. */
  listProvenVariations(id: string, query: QueryOf<'listVariations'> = {}, options: CallOptions = {}): Listing<ProvenItems<AnswerOf<'listVariations'>>> {
    return this.items<AnswerOf<'listVariations'>>(OPERATIONS.listVariations, { path: { id }, query, options });
  }

  /** Reads and verifies the state proof of a template; see {@link StateReads.proof}. */
  stateProof(id: string, options: StateReadOptions = {}): Promise<StateProof> {
    return this.proofOf(OPERATIONS.getTemplateStateProof, id, options);
  }
}
