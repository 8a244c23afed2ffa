/** Errors of a call. */

import type { Hex } from '../protocol/bytes.js';
import { Refused } from '../refused.js';

/** The `body` of the server's error envelope. */
export interface ErrorBody {
  /** Explanation and remedy. */
  readonly message: string;
  /** Id of the request in the server's log. */
  readonly request_id?: string;
  /** Positions of invalid input, for `VALIDATION_ERROR`. */
  readonly errors?: readonly { readonly pointer: string; readonly code: string; readonly message: string }[];
  /** With `UNAVAILABLE`: `nothing_done` or `unknown`. */
  readonly outcome?: string;
  /** With `NONCE_REUSED`: `done` or `refused`. */
  readonly reason?: string;
  readonly [member: string]: unknown;
}

/** Refusal by the server. Programs should distinguish refusals by {@link ServerError.code}. */
export class ServerError extends Error {
  override readonly name: string = 'ServerError';

  constructor(
    /** HTTP status. */
    readonly status: number,
    /** Machine-readable code, such as `RESOURCE_NOT_FOUND`; null if the answer is not the server's. */
    readonly code: string | null,
    /** Context of the refusal. */
    readonly body: ErrorBody,
    /** Headers of the answer. */
    readonly headers: Headers,
  ) {
    super(`${status} ${code ?? 'without a code'}: ${body.message}`);
  }

  /** Wait in seconds that the server requests, or null. */
  get retryAfterS(): number | null {
    const seconds = Number(this.headers.get('retry-after') ?? Number.NaN);
    return Number.isFinite(seconds) && seconds >= 0 ? seconds : null;
  }
}

/** The caller's copy is current (304); only for calls with `ifNoneMatch`. */
export class NotModified extends Error {
  override readonly name: string = 'NotModified';

  constructor(readonly headers: Headers) {
    super('the answer has not changed');
  }
}

/** No answer: the connection failed, or the time limit passed. The request may still have been done. */
export class TransportError extends Error {
  override readonly name: string = 'TransportError';
}

/** The request was done, but its answer is lost. Read its effects by the ids of its actions. */
export class AlreadyDone extends Error {
  override readonly name: string = 'AlreadyDone';

  constructor(
    /** Sequence of the request's first action; null if the server does not report it. */
    readonly sequence: bigint | null,
    /** Ids of all actions of the request, in order; failed actions are not in the log. */
    readonly actionIds: readonly string[],
  ) {
    super(`the request is done already${sequence === null ? '' : `, from sequence ${sequence} on`}; read its actions by their ids`);
  }
}

/** The sequencer signed two contradicting headers, in {@link evidence}. Keep both. */
export class Contradiction extends Refused {
  override readonly name: string = 'Contradiction';

  constructor(
    message: string,
    readonly evidence: readonly [unknown, unknown],
    /** Hashes of the two headers. */
    readonly hashes: readonly [Hex, Hex],
  ) {
    super(message);
  }
}
