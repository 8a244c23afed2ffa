/**
 * When a request is sent again. A refused one: on 429, and on 503 only if asked to. A signed one whose outcome nobody
 * knows: until it is known, always with the very same bytes, whose nonce is spent at most once.
 */

/** When to send requests again. */
export interface RetryPolicy {
  /** How often a request is sent at most; 1 means no retries. */
  readonly attempts: number;
  /** Also retry on 503. Off by default: a proxy may answer 503 after the server has done what was requested. */
  readonly onUnavailable: boolean;
  /** Also send a signed request again whose outcome is unknown. On by default. */
  readonly onUnknown: boolean;
  /** The longest wait of the client's own, in milliseconds. A longer one that the service asks for is kept. */
  readonly waitMaxMs: number;
}

/** The service's own advice: at most five attempts, on 429. */
export const RETRY_DEFAULT: RetryPolicy = { attempts: 5, onUnavailable: false, onUnknown: true, waitMaxMs: 15 * 60 * 1000 };

const WAIT_S_DEFAULT = 60;
const UNKNOWN_WAIT_S = 1;

/** Whether an answer with this status is worth another attempt. */
export const retries = (policy: RetryPolicy, status: number): boolean => status === 429 || (status === 503 && policy.onUnavailable);

/**
 * The milliseconds to wait after attempt `attempt` (from 0) was refused: what the service asks for, or a minute,
 * doubled with each attempt, plus up to a quarter by `jitter` (0 to 1).
 */
export function waitMs(policy: RetryPolicy, attempt: number, retryAfterS: number | null, jitter: number): number {
  const asked = (retryAfterS ?? WAIT_S_DEFAULT) * 1000;
  const doubled = asked * 2 ** Math.min(attempt, 16);
  return Math.min(doubled, Math.max(policy.waitMaxMs, asked)) * (1 + jitter / 4);
}

/** The same after an unknown outcome: soon, unless the service asks for more. */
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

/** The attempts of one request. */
export class Attempts {
  #made = 0;

  constructor(
    readonly policy: RetryPolicy,
    readonly signal?: AbortSignal,
  ) {}

  /** Waits before the next attempt after a refusal. False if there is none left. */
  async again(retryAfterS: number | null): Promise<boolean> {
    return this.#wait(waitMs(this.policy, this.#made, retryAfterS, Math.random()));
  }

  /** Waits before the same bytes are sent again to learn their outcome. False if there is no attempt left. */
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
