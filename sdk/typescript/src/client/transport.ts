/** HTTP exchanges: fetch, a time limit, and the answer's text. */

import { TransportError } from './errors.js';

/** The used part of `fetch`. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** A request to send. */
export interface Outgoing {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body?: string | FormData;
  readonly signal?: AbortSignal | undefined;
}

/** An answer, read completely. */
export interface Incoming {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Sends requests to one server. */
export class Transport {
  constructor(
    /** Origin of the server, without a trailing slash. */
    readonly baseUrl: string,
    readonly fetch: Fetch,
    readonly timeoutMs: number,
  ) {}

  /** Runs an exchange with the client's time limit. */
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

  /** Sends a request and reads the answer. Throws a {@link TransportError} if there is none. */
  exchange(outgoing: Outgoing): Promise<Incoming> {
    return this.#limited(outgoing, async (signal) => {
      const response = await this.fetch(this.baseUrl + outgoing.path, this.#init(outgoing, signal));
      return { status: response.status, headers: response.headers, text: await response.text() };
    });
  }

  /** Sends a request and leaves the answer's body to the caller. The time limit ends with the answer's head. */
  async open(outgoing: Outgoing): Promise<Response> {
    const { signal } = outgoing;
    let response: Response | null = null;
    await this.#limited({ ...outgoing, signal }, async (limit) => {
      const end = new AbortController();
      const forward = (): void => end.abort(limit?.reason);
      limit?.addEventListener('abort', forward, { once: true });
      // The caller's signal also ends the reading of the body.
      signal?.addEventListener('abort', () => end.abort(signal.reason), { once: true });
      response = await this.fetch(this.baseUrl + outgoing.path, this.#init(outgoing, end.signal));
      limit?.removeEventListener('abort', forward);
    });
    return response as unknown as Response;
  }
}
