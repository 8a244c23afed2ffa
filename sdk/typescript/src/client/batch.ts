/** Requests of many actions under one signature. */

import type { JsonText } from '../reading/json.js';
import type { Hex } from '../protocol/bytes.js';
import { madeId } from '../protocol/chain.js';
import type { ActionInput } from './bus.js';
import { ServerError } from './errors.js';
import type { AnswerOf, ChangeOptions, Schemas } from './operation.js';

/** Limit on the actions of a request. */
export const BATCH_MAX = 500;

type Answer = AnswerOf<'submitBatch'>;

/** The answer to a request of many actions. */
export interface BatchReply extends Answer {
  /** Ids of the actions in the log, in request order; a refused action has none there. */
  readonly actionIds: readonly string[];
  /** Content hashes of the actions, in request order. */
  readonly contents: readonly Hex[];
}

/** Sender of batches. */
export interface BatchSender {
  submitBatch(body: { actions: ActionInput[]; atomic?: boolean }, options?: BatchOptions): Promise<BatchReply>;
}

/** Options of a batch. */
export interface BatchOptions extends ChangeOptions {
  /**
   * Omits everything from the answer that the sender can compute, which saves transfer and parsing. Not with an
   * `idempotencyKey`.
   */
  minimal?: boolean;
}

type Properties = Record<string, unknown>;

/** Result of one action of a batch. */
export interface BatchOutcome {
  /** Id of the action; null if it was refused. */
  readonly actionId: string | null;
  /** The object created or acted on; null if the action was refused. */
  readonly objectId: string | null;
  /** Result in the server's form. */
  readonly result: Schemas['BatchResult'];
  /** Reason of the refusal; null if the action was done. */
  readonly error: ServerError | null;
}

/**
 * Collects actions and sends them under one signature, in order. Every method returns the batch.
 *
 * ```ts
 * const outcomes = await kedge.batch().mint(template, { seat: 1 }).mint(template, { seat: 2 }).send();
 * ```
 */
export class Batch {
  readonly #actions: ActionInput[] = [];

  /** @internal */
  constructor(
    readonly sender: BatchSender,
    readonly atomic: boolean,
  ) {}

  /** Number of actions in the batch. */
  get size(): number {
    return this.#actions.length;
  }

  /** Adds any action, such as one of a template's custom kinds. */
  add(action: ActionInput): this {
    this.#actions.push(action);
    return this;
  }

  /** Mints an object from a template, for the signer's wallet or `to`. */
  mint(templateId: string, properties?: Properties, more: { to?: string; variation_id?: string } = {}): this {
    const payload = { ...(properties === undefined ? {} : { properties }), ...more };
    return this.add({ action_type: 'mint', template_id: templateId, payload });
  }

  /** Merges a patch (RFC 7396) into an object's properties. */
  update(objectId: string, properties: Properties): this {
    return this.add({ action_type: 'update', object_id: objectId, payload: { properties } });
  }

  /** Transfers an object to a wallet, by its id or address. */
  transfer(objectId: string, to: string): this {
    return this.add({ action_type: 'transfer', object_id: objectId, payload: { to } });
  }

  /** Locks an object. */
  lock(objectId: string): this {
    return this.add({ action_type: 'lock', object_id: objectId });
  }

  /** Unlocks an object. */
  unlock(objectId: string): this {
    return this.add({ action_type: 'unlock', object_id: objectId });
  }

  /** Burns an object permanently. */
  burn(objectId: string): this {
    return this.add({ action_type: 'burn', object_id: objectId });
  }

  /** Records information about an object without changing it. */
  emit(objectId: string, payload: Properties | JsonText): this {
    return this.add({ action_type: 'emit', object_id: objectId, payload } as ActionInput);
  }

  /** Sends one request of at most 500 actions. Returns the outcomes in order. */
  async send(options: BatchOptions = {}): Promise<BatchOutcome[]> {
    return this.#send(this.#actions, options);
  }

  /** Sends any number of actions as consecutive requests of 500. Returns all outcomes. Not for an atomic batch. */
  async sendAll(options: Omit<BatchOptions, 'idempotencyKey'> = {}): Promise<BatchOutcome[]> {
    if (this.atomic) throw new TypeError('an atomic batch is one request: use send()');
    const outcomes: BatchOutcome[] = [];
    for (let at = 0; at < this.#actions.length; at += BATCH_MAX) outcomes.push(...(await this.#send(this.#actions.slice(at, at + BATCH_MAX), options)));
    return outcomes;
  }

  async #send(actions: ActionInput[], options: BatchOptions): Promise<BatchOutcome[]> {
    const reply = await this.sender.submitBatch({ actions, atomic: this.atomic }, options);
    return reply.results.map((result, i) => outcomeOf(result, actions[i] as ActionInput, reply.contents[i] as Hex, reply.actionIds[i] as string));
  }
}

function outcomeOf(result: Schemas['BatchResult'], action: ActionInput, content: Hex, actionId: string): BatchOutcome {
  if ('error' in result) {
    const { status, code, body } = result.error as { status: number; code: string; body: { message: string } };
    return { actionId: null, objectId: null, result, error: new ServerError(status, code, body, new Headers()) };
  }
  const acted = (action as { object_id?: string }).object_id;
  return { actionId, objectId: acted ?? madeId('obj', content), result, error: null };
}
