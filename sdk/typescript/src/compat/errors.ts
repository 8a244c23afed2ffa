/** Error classes of the earlier SDKs. */

import { ServerError, TransportError } from '../client/errors.js';

/** A refused call. */
export class CompatError extends Error {
  override readonly name: string = 'CompatError';

  constructor(
    readonly status: number,
    readonly code: string,
    readonly body: unknown,
    message: string,
    cause?: unknown,
  ) {
    super(message, { cause });
  }
}

/** Invalid credentials (401). */
export class CompatAuthError extends CompatError {
  override readonly name = 'CompatAuthError';
}

/** Not found (404). */
export class CompatNotFoundError extends CompatError {
  override readonly name = 'CompatNotFoundError';
}

/** Rate limit exceeded (429), after all retries. */
export class CompatRateLimitError extends CompatError {
  override readonly name = 'CompatRateLimitError';
  /** Seconds to wait; null if the server does not state them. */
  retryAfter: number | null = null;
}

/** No answer in time. */
export class CompatTimeoutError extends CompatError {
  override readonly name = 'CompatTimeoutError';
}

const CLASSES: Record<number, typeof CompatError> = { 401: CompatAuthError, 404: CompatNotFoundError, 429: CompatRateLimitError };

/** The earlier SDKs' error for one of this SDK. */
export function compatError(error: unknown): unknown {
  if (error instanceof TransportError) return new CompatTimeoutError(0, 'TIMEOUT', {}, error.message, error);
  if (!(error instanceof ServerError)) return error;
  const Class = CLASSES[error.status] ?? CompatError;
  const made = new Class(error.status, error.code ?? 'UNKNOWN', error.body, error.body.message, error);
  if (made instanceof CompatRateLimitError) made.retryAfter = error.retryAfterS;
  return made;
}

/** Runs a call and translates its errors. */
export async function translated<T>(call: () => PromiseLike<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw compatError(error);
  }
}
