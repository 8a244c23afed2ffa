/** Answers with the information from their headers. */

import { parseJson } from '../reading/json.js';
import { type ErrorBody, NotModified, ServerError } from './errors.js';
import type { Incoming } from './transport.js';

/** Information from an answer's headers. */
export interface AnswerInfo {
  /** HTTP status. */
  readonly status: number;
  /** All headers. */
  readonly headers: Headers;
  /** Id of the request in the server's log. */
  readonly requestId: string | null;
  /** Entity tag, for `ifMatch` and `ifNoneMatch`. */
  readonly etag: string | null;
  /** Last sequence that the answer reflects. */
  readonly sequence: bigint | null;
  /** Whether the answer belongs to an earlier request with the same `Idempotency-Key`. */
  readonly replayed: boolean;
  /** The most exhausted rate limit: its size, the remaining requests, and its reset (Unix seconds). */
  readonly rateLimit: { readonly limit: number; readonly remaining: number; readonly reset: number } | null;
}

const headersOf = new WeakMap<object, { status: number; headers: Headers }>();

function rateLimitOf(headers: Headers): AnswerInfo['rateLimit'] {
  const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) => headers.get(`x-ratelimit-${name}`));
  if (limit == null || remaining == null || reset == null) return null;
  return { limit: Number(limit), remaining: Number(remaining), reset: Number(reset) };
}

/** Returns the header information of an answer that a call returned. Throws a TypeError for any other value. */
export function answerInfo(answer: object): AnswerInfo {
  const found = headersOf.get(answer);
  if (found === undefined) throw new TypeError('the value is no answer of a client');
  const { status, headers } = found;
  const sequence = headers.get('x-sequence');
  return {
    status,
    headers,
    requestId: headers.get('x-request-id'),
    etag: headers.get('etag'),
    sequence: sequence === null ? null : BigInt(sequence),
    replayed: headers.get('idempotent-replayed') === 'true',
    rateLimit: rateLimitOf(headers),
  };
}

/** Remembers an answer's headers. */
export function remember(answer: unknown, status: number, headers: Headers): void {
  if (answer !== null && typeof answer === 'object') headersOf.set(answer, { status, headers });
}

/** The error of an unsuccessful answer. */
export function refusalOf(status: number, headers: Headers, text: string): Error {
  if (status === 304) return new NotModified(headers);
  try {
    const { code, body } = JSON.parse(text) as { code: string; body: ErrorBody };
    if (typeof code === 'string' && typeof body?.message === 'string') return new ServerError(status, code, body, headers);
  } catch {
    // Not an answer of the server, perhaps a proxy's.
  }
  return new ServerError(status, null, { message: text.slice(0, 200) || 'an answer without a body' }, headers);
}

/** The value of a successful answer. */
export function valueOf<T>({ status, headers, text }: Incoming, form: 'json' | 'text'): T {
  if (form === 'text') return text as T;
  const value = parseJson(text);
  remember(value, status, headers);
  return value as T;
}
