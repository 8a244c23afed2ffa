/**
 * Retry policy. Refused requests are retried on 429, and on 503 if configured; signed requests with an unknown outcome
 * are retried until it is known. A retry sends identical bytes, whose nonce is spent at most once.
 */

/** When to send requests again. */
export interface RetryPolicy {
  /** Limit on sending a request; 1 disables retries. */
  readonly attempts: number;
  /** Whether to retry on 503. False by default: a proxy may answer 503 after the server has done the request. */
  readonly onUnavailable: boolean;
  /** Whether to retry a signed request with an unknown outcome. True by default. */
  readonly onUnknown: boolean;
  /** Limit on the client's own wait, in milliseconds. A longer wait that the server requests is kept. */
  readonly waitMaxMs: number;
}

/** The server's recommendation: at most five attempts, on 429. */
export const RETRY_DEFAULT: RetryPolicy = { attempts: 5, onUnavailable: false, onUnknown: true, waitMaxMs: 15 * 60 * 1000 };

const WAIT_S_DEFAULT = 60;
const UNKNOWN_WAIT_S = 1;

/** Whether to retry an answer with this status. */
export const retries = (policy: RetryPolicy, status: number): boolean => status === 429 || (status === 503 && policy.onUnavailable);

/**
 * Milliseconds to wait after the refusal of attempt `attempt` (from 0): the server's time, or a minute, doubled with
 * each attempt, plus up to a quarter by `jitter` (0 to 1).
 */
export function waitMs(policy: RetryPolicy, attempt: number, retryAfterS: number | null, jitter: number): number {
  const asked = (retryAfterS ?? WAIT_S_DEFAULT) * 1000;
  const doubled = asked * 2 ** Math.min(attempt, 16);
  return Math.min(doubled, Math.max(policy.waitMaxMs, asked)) * (1 + jitter / 4);
}

/** The same after an unknown outcome: short, unless the server states a time. */
export const waitUnknownMs = (policy: RetryPolicy, attempt: number, retryAfterS: number | null, jitter: number): number =>
  waitMs(policy, attempt, retryAfterS ?? UNKNOWN_WAIT_S, jitter);

/** Waits. Rejects with the signal's reason if that comes first. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** Counts the attempts of a request. */
export class Attempts {
  #made = 0;

  constructor(
    readonly policy: RetryPolicy,
    readonly signal?: AbortSignal,
  ) {}

  /** Waits before the next attempt after a refusal. False if none is left. */
  async again(retryAfterS: number | null): Promise<boolean> {
    return this.#wait(waitMs(this.policy, this.#made, retryAfterS, Math.random()));
  }

  /** Waits before repeating the same bytes to learn their outcome. False if no attempt is left. */
  async askAgain(retryAfterS: number | null): Promise<boolean> {
    return this.policy.onUnknown && this.#wait(waitUnknownMs(this.policy, this.#made, retryAfterS, Math.random()));
  }

  async #wait(ms: number): Promise<boolean> {
    this.#made += 1;
    if (this.#made >= this.policy.attempts) return false;
    await pause(ms, this.signal);
    return true;
  }
}
