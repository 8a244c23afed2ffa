/** Building a request of many actions under one signature. */

import type { JsonText } from '../reading/json.js';
import type { Hex } from '../protocol/bytes.js';
import { madeId } from '../protocol/chain.js';
import type { ActionInput } from './bus.js';
import { ServerError } from './errors.js';
import type { AnswerOf, ChangeOptions, Schemas } from './operation.js';

/** Most actions of one request. */
export const BATCH_MAX = 500;

type Answer = AnswerOf<'submitBatch'>;

/** The answer to a request of many actions. */
export interface BatchReply extends Answer {
  /** The id that each action has in the log if it was done, in request order. */
  readonly actionIds: readonly string[];
  /** The content of each action, in request order. */
  readonly contents: readonly Hex[];
}

/** What sends batches. */
export interface BatchSender {
  submitBatch(body: { actions: ActionInput[]; atomic?: boolean }, options?: BatchOptions): Promise<BatchReply>;
}

/** What a request of many actions may be given. */
export interface BatchOptions extends ChangeOptions {
  /**
   * Leaves out of the answer what the sender can compute: less to transfer and to read. Not with an `idempotencyKey`.
   */
  minimal?: boolean;
}

type Properties = Record<string, unknown>;

/** What became of one action of a batch. */
export interface BatchOutcome {
  /** Its id, if it was done; null if it was refused. */
  readonly actionId: string | null;
  /** The object that it made or acted on; null if it was refused. */
  readonly objectId: string | null;
  /** What the service answered. */
  readonly result: Schemas['BatchResult'];
  /** Why it was refused; null if it was done. */
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

  /** How many actions it holds. */
  get size(): number {
    return this.#actions.length;
  }

  /** Adds any action, such as one of a template's own kinds. */
  add(action: ActionInput): this {
    this.#actions.push(action);
    return this;
  }

  /** Makes an object from a template, for the signer's wallet or `to`. */
  mint(templateId: string, properties?: Properties, more: { to?: string; variation_id?: string } = {}): this {
    const payload = { ...(properties === undefined ? {} : { properties }), ...more };
    return this.add({ action_type: 'mint', template_id: templateId, payload });
  }

  /** Merges a patch (RFC 7396) into an object's properties. */
  update(objectId: string, properties: Properties): this {
    return this.add({ action_type: 'update', object_id: objectId, payload: { properties } });
  }

  /** Gives an object to a wallet, by its id or an address. */
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

  /** Ends an object for good. */
  burn(objectId: string): this {
    return this.add({ action_type: 'burn', object_id: objectId });
  }

  /** Records something about an object without changing it. */
  emit(objectId: string, payload: Properties | JsonText): this {
    return this.add({ action_type: 'emit', object_id: objectId, payload } as ActionInput);
  }

  /** Sends everything as one request of at most 500 actions: one outcome for each action, in order. */
  async send(options: BatchOptions = {}): Promise<BatchOutcome[]> {
    return this.#send(this.#actions, options);
  }

  /**
   * Sends any number of actions as requests of 500, one after the other, and returns all outcomes. Not for an atomic
   * batch.
   */
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
