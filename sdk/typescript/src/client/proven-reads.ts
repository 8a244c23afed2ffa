/** Reads whose answers are proven: state proofs of single ids, and objects and templates that come with theirs. */

import { OPERATIONS } from '../generated/operations.js';
import { refuseUnless } from '../refused.js';
import type { Checkpoint } from '../protocol/domain.js';
import { readExactly } from '../reading/json.js';
import { checkShown } from '../verify/shown-items.js';
import { PROOFS_MAX, type StateFacts } from '../verify/state.js';
import type { StateEntry } from '../verify/state-entries.js';
import type { TextAnswer } from './core.js';
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

/** A page whose items are those of their entries. */
export type ProvenItems<P> = WithStateProofs<P> & {
  /** What the proofs show, in the order of the items. */
  readonly proven: readonly StateFacts[];
  /** Signed checkpoint of the page, which an empty one has too. */
  readonly checkpoint: Checkpoint;
};

/** What proven reads need of a client. */
export interface ReadSource {
  readonly keeper: TrustKeeper;
  read<T>(operation: Operation, call: Call): Promise<TextAnswer<T>>;
}

const waitingQuery = ({ minSequence, wait }: { minSequence?: number | bigint | undefined; wait?: number | undefined }): Record<string, unknown> => ({ min_sequence: minSequence, wait });

/** Members of an answer, with numbers as they are spelled. */
function membersOf(text: string): Readonly<Record<string, unknown>> {
  const value = readExactly(text);
  refuseUnless(value !== null && typeof value === 'object' && !Array.isArray(value), 'the answer is no object');
  return value as Record<string, unknown>;
}

function objectIn(answer: Readonly<Record<string, unknown>>, name: string): object {
  const member = Object.hasOwn(answer, name) ? answer[name] : null;
  refuseUnless(member !== null && typeof member === 'object', `the answer lacks ${name}`);
  return member;
}

/** What a page may hold. */
interface Asked {
  readonly type: StateEntry['type'];
  readonly limit: number | bigint;
  readonly template: string | null;
  readonly status: string | null;
}

/** Parameters of lists that bear on proven members. */
interface ListQuery {
  readonly limit?: number | null;
  readonly cursor?: string | null;
  readonly template_id?: string | null;
  readonly status?: string | null;
  readonly min_sequence?: number | null;
}

/**
 * Refuses items that were not asked for, or that occur twice. The server chooses them by what they are now and shows what
 * they were at the checkpoint: an object may have had another owner or status then, unless it was burned, which is final.
 */
function checkAsked(facts: readonly StateFacts[], { type, limit, template, status }: Asked): void {
  refuseUnless(facts.length <= limit, `the page has ${facts.length} items, more than the ${limit} asked for`);
  refuseUnless(new Set(facts.map(({ key }) => key)).size === facts.length, 'an item occurs twice on the page');
  for (const { key, entry } of facts) {
    refuseUnless(entry?.type === type, `${key} is not of the type that was asked for`);
    const isOther = template !== null && (entry.type === 'obj' || entry.type === 'var') && entry.template_id !== template;
    refuseUnless(!isOther, `${key} is not of ${template}`);
    const isBurned = status !== null && status !== 'burned' && entry.type === 'obj' && entry.status === 'burned';
    refuseUnless(!isBurned, `${key} is burned, not ${status}`);
  }
}

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
    const { value: answer, text } = await this.source.read<Schemas['StateProof']>(operation, { path: { id }, query, options });
    options.onAnswer?.(answer);
    const facts = await this.source.keeper.stateProof(text, { key: id, checkpoint, minSequence });
    this.source.keeper.see(facts.checkpoint, answer.checkpoint);
    return { ...facts, answer };
  }

  /** @internal */
  protected async item<T extends object>(operation: Operation, id: string, options: ProvenReadOptions): Promise<T | ProvenItem<T>> {
    const prove = options.prove === true;
    const query = prove ? { prove, ...waitingQuery(options) } : waitingQuery({ minSequence: options.minSequence });
    const { value, text } = await this.source.read<T>(operation, { path: { id }, query, options });
    if (!prove) return value;
    const shown = membersOf(text);
    const proven = await this.source.keeper.stateProof(objectIn(shown, 'state_proof'), { key: id, minSequence: options.minSequence });
    checkShown(shown, proven);
    const item = value as WithStateProof<T>;
    this.source.keeper.see(proven.checkpoint, item.state_proof.checkpoint);
    return Object.assign(item, { proven });
  }

  /** @internal */
  protected items<P extends ProvenPage>(operation: Operation, type: StateEntry['type'], call: Call): Listing<ProvenItems<P>> {
    const { limit, cursor: begin, template_id: template, status, min_sequence: minSequence } = (call.query ?? {}) as ListQuery;
    const asked = { type, limit: limit ?? PROOFS_MAX, template: (call.path?.['id'] as string | undefined) ?? template ?? null, status: status ?? null };
    const fetchPage = async (cursor: string | null): Promise<ProvenItems<P>> => {
      const query = { ...call.query, prove: true, ...(cursor === null ? {} : { cursor }) };
      const { value: page, text } = await this.source.read<WithStateProofs<P>>(operation, { ...call, query });
      const shown = membersOf(text);
      const { checkpoint, facts } = await this.source.keeper.stateProofs(objectIn(shown, 'state_proofs'), { minSequence: minSequence ?? undefined });
      const items = objectIn(shown, 'items');
      refuseUnless(Array.isArray(items) && facts.length === items.length, `the page has ${page.items.length} items and ${facts.length} proofs`);
      facts.forEach((one, i) => checkShown(items[i] as object, one));
      checkAsked(facts, asked);
      this.source.keeper.see(checkpoint, page.state_proofs.checkpoint);
      return Object.assign(page, { proven: facts, checkpoint });
    };
    return new Listing<ProvenItems<P>>(fetchPage, begin);
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
    return this.items<AnswerOf<'listObjects'>>(OPERATIONS.listObjects, 'obj', { query, options });
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
    return this.items<AnswerOf<'listTemplates'>>(OPERATIONS.listTemplates, 'tpl', { query, options });
  }

  /** Lists a template's variations, at most 100 a page, and verifies the state proofs of each page. */
  listProvenVariations(id: string, query: QueryOf<'listVariations'> = {}, options: CallOptions = {}): Listing<ProvenItems<AnswerOf<'listVariations'>>> {
    return this.items<AnswerOf<'listVariations'>>(OPERATIONS.listVariations, 'var', { path: { id }, query, options });
  }

  /** Reads and verifies the state proof of a template; see {@link StateReads.proof}. */
  stateProof(id: string, options: StateReadOptions = {}): Promise<StateProof> {
    return this.proofOf(OPERATIONS.getTemplateStateProof, id, options);
  }
}
