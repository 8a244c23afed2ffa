/** The types of operations, from the document, and the options that every call has. */

import type { components, operations } from '../generated/schema.js';

/** The document's schemas, by name: `Schemas['ObjectView']`. */
export type Schemas = components['schemas'];

/** The ids of all operations. */
export type OperationId = keyof operations;

/** One operation of the document. */
export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly query: readonly string[];
  /** The type of its request's body. */
  readonly body: string | null;
  readonly answer: 'json' | 'text';
  /** Whether its answer is a page of a list. */
  readonly page: boolean;
  /** Whether it accepts credentials. */
  readonly authorized: boolean;
  /** Whether it accepts an `Idempotency-Key`. */
  readonly keyed: boolean;
  /** What is signed; null if it changes nothing. */
  readonly signs: Signs | null;
}

/** What of a request is signed: its kind, and where target and payload come from. */
export interface Signs {
  readonly kind: string;
  readonly target: string;
  readonly payload: string;
  /** With the payload `member`: the only member of the object that is signed. */
  readonly member?: string;
}

type Json<T> = T extends { content: infer C } ? (C extends { 'application/json': infer J } ? J : string) : never;

/** The JSON body of an operation. */
export type BodyOf<Id extends OperationId> = operations[Id] extends { requestBody: infer B } ? Json<B> : never;

/** The query of an operation. */
export type QueryOf<Id extends OperationId> = operations[Id] extends { parameters: { query?: infer Q } } ? NonNullable<Q> : never;

type Success<R> = R extends Record<number, unknown> ? R[keyof R & (200 | 201 | 202)] : never;

/** The answer of an operation. */
export type AnswerOf<Id extends OperationId> = operations[Id] extends { responses: infer R } ? Json<Success<R>> : never;

/** What any call may be given. */
export interface CallOptions {
  /** Ends the call early: it rejects with the signal's reason. A change that was sent may be done all the same. */
  signal?: AbortSignal;
  /**
   * A name for the request that the answer and the server's log repeat: letters, digits, `.`, `_` and `-`, at most 128.
   */
  requestId?: string;
  /** ETags that the caller has: if one is current, the call throws {@link NotModified} and costs no quota. */
  ifNoneMatch?: string;
}

/** What a call that changes something may be given. */
export interface ChangeOptions extends CallOptions {
  /** The ETag that the resource must have; otherwise nothing is done: `PRECONDITION_FAILED`. */
  ifMatch?: string;
  /**
   * A name under which the request is done at most once for at least 24 hours, also by another process: later requests
   * get the first one's answer. Its receipt is then checked for itself: it was signed with another nonce. Random if
   * absent, which makes the client's own retries safe.
   */
  idempotencyKey?: string;
}

/** One call of an operation. */
export interface Call {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly options?: ChangeOptions;
}
