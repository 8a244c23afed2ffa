/** Types of operations, from the API document, and options of calls. */

import type { components, operations } from '../generated/schema.js';

/** The document's schemas, by name: `Schemas['ObjectView']`. */
export type Schemas = components['schemas'];

/** Ids of all operations. */
export type OperationId = keyof operations;

/** One operation of the document. */
export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly query: readonly string[];
  /** Media type of the request's body. */
  readonly body: string | null;
  readonly answer: 'json' | 'text';
  /** Whether the answer is a page of a list. */
  readonly page: boolean;
  /** Whether the operation accepts credentials. */
  readonly authorized: boolean;
  /** Whether the operation accepts an `Idempotency-Key`. */
  readonly keyed: boolean;
  /** Signed parts of the request; null if the operation changes nothing. */
  readonly signs: Signs | null;
}

/** Signed parts of a request: the kind, and the sources of target and payload. */
export interface Signs {
  readonly kind: string;
  readonly target: string;
  readonly payload: string;
  /** With the payload `member`: the only signed member of the object. */
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

/** Options of all calls. */
export interface CallOptions {
  /** Aborts the call: it rejects with the signal's reason. A sent change may still be done. */
  signal?: AbortSignal;
  /** Id of the request, repeated in the answer and the server's log: letters, digits, `.`, `_` and `-`, at most 128. */
  requestId?: string;
  /** ETags of the caller's copies: if one is current, the call throws {@link NotModified} and costs no quota. */
  ifNoneMatch?: string;
}

/** Options of calls that change something. */
export interface ChangeOptions extends CallOptions {
  /** Required ETag of the resource; otherwise the call fails with `PRECONDITION_FAILED`. */
  ifMatch?: string;
  /**
   * Key under which the request is done at most once within at least 24 hours, even from another process: later
   * requests get the first one's answer. Its receipt is then verified without the local signature, because the first
   * request had another nonce. Random by default, which makes the client's retries safe.
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
