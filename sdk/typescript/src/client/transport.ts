/** One HTTP exchange: fetch, a time limit, and the answer's text. */

import { TransportError } from './errors.js';

/** The part of `fetch` that is used. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** What is sent. */
export interface Outgoing {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body?: string | FormData;
  readonly signal?: AbortSignal | undefined;
}

/** What came back, read to its end. */
export interface Incoming {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Where and how requests are sent. */
export class Transport {
  constructor(
    /** The server's origin, without a slash at its end. */
    readonly baseUrl: string,
    readonly fetch: Fetch,
    readonly timeoutMs: number,
  ) {}

  /** Runs an exchange with this client's time limit. */
  async #limited<T>(outgoing: Outgoing, run: (signal: AbortSignal | null) => Promise<T>): Promise<T> {
    const { method, path, signal } = outgoing;
    signal?.throwIfAborted();
    const end = new AbortController();
    const onAbort = (): void => end.abort(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    const timer = setTimeout(() => end.abort(new Error(`no answer within ${this.timeoutMs} ms`)), this.timeoutMs);
    try {
      return await run(end.signal);
    } catch (error) {
      signal?.throwIfAborted();
      const cause = end.signal.aborted ? end.signal.reason : error;
      throw new TransportError(`${method} ${path}: ${(cause as Error)?.message ?? cause}`, { cause });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  #init({ method, headers, body }: Outgoing, signal: AbortSignal | null): RequestInit {
    return { method, headers, body: body ?? null, signal, redirect: 'manual' };
  }

  /** One exchange; throws a {@link TransportError} if no answer came. */
  exchange(outgoing: Outgoing): Promise<Incoming> {
    return this.#limited(outgoing, async (signal) => {
      const response = await this.fetch(this.baseUrl + outgoing.path, this.#init(outgoing, signal));
      return { status: response.status, headers: response.headers, text: await response.text() };
    });
  }

  /** An exchange whose answer is read by the caller. The time limit covers the wait for its beginning. */
  async open(outgoing: Outgoing): Promise<Response> {
    const { signal } = outgoing;
    let response: Response | null = null;
    await this.#limited({ ...outgoing, signal }, async (limit) => {
      const end = new AbortController();
      const forward = (): void => end.abort(limit?.reason);
      limit?.addEventListener('abort', forward, { once: true });
      // The caller's own signal also ends the reading of the body.
      signal?.addEventListener('abort', () => end.abort(signal.reason), { once: true });
      response = await this.fetch(this.baseUrl + outgoing.path, this.#init(outgoing, end.signal));
      limit?.removeEventListener('abort', forward);
    });
    return response as unknown as Response;
  }
}
