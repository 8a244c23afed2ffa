/** What a call can end with, other than its answer. */

import type { Hex } from '../protocol/bytes.js';
import { Refused } from '../refused.js';

/** The `body` of the service's error envelope. */
export interface ErrorBody {
  /** What is wrong and what to do. */
  readonly message: string;
  /** The request's name in the server's log. */
  readonly request_id?: string;
  /** Where the input is wrong, for `VALIDATION_ERROR`. */
  readonly errors?: readonly { readonly pointer: string; readonly code: string; readonly message: string }[];
  /** With `UNAVAILABLE`: `nothing_done` or `unknown`. */
  readonly outcome?: string;
  /** With `NONCE_REUSED`: `done` or `refused`. */
  readonly reason?: string;
  readonly [member: string]: unknown;
}

/** The service refused a request. Programs go by {@link ServerError.code}. */
export class ServerError extends Error {
  override readonly name: string = 'ServerError';

  constructor(
    /** The HTTP status. */
    readonly status: number,
    /** The machine-readable code, such as `RESOURCE_NOT_FOUND`; null if the answer is not the service's. */
    readonly code: string | null,
    /** The context of the failure. */
    readonly body: ErrorBody,
    /** The headers of the answer. */
    readonly headers: Headers,
  ) {
    super(`${status} ${code ?? 'without a code'}: ${body.message}`);
  }

  /** The seconds that the service asks to wait, or null if it does not. */
  get retryAfterS(): number | null {
    const seconds = Number(this.headers.get('retry-after') ?? Number.NaN);
    return Number.isFinite(seconds) && seconds >= 0 ? seconds : null;
  }
}

/** The caller has the current answer already (304): only for calls with `ifNoneMatch`. */
export class NotModified extends Error {
  override readonly name: string = 'NotModified';

  constructor(readonly headers: Headers) {
    super('the answer has not changed');
  }
}

/** No answer came: the connection failed, or the time was over. What was sent may have been done all the same. */
export class TransportError extends Error {
  override readonly name: string = 'TransportError';
}

/**
 * A request whose answer was lost is done, and its answer cannot be had any more. Read what it did by the ids of its
 * actions.
 */
export class AlreadyDone extends Error {
  override readonly name: string = 'AlreadyDone';

  constructor(
    /** The sequence of the request's first action; null if the server does not report it. */
    readonly sequence: bigint | null,
    /** The ids of all actions of the request, in order; actions that failed have none in the log. */
    readonly actionIds: readonly string[],
  ) {
    super(`the request is done already${sequence === null ? '' : `, from sequence ${sequence} on`}; read its actions by their ids`);
  }
}

/** The sequencer signed two headers that contradict each other: {@link evidence} holds both. Keep them. */
export class Contradiction extends Refused {
  override readonly name: string = 'Contradiction';

  constructor(
    message: string,
    readonly evidence: readonly [unknown, unknown],
    /** The hashes of the two headers. */
    readonly hashes: readonly [Hex, Hex],
  ) {
    super(message);
  }
}
