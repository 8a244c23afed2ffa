/** Event stream that resumes after interruptions, without gaps or repeats. */

import { createParser } from 'eventsource-parser';
import { parseJson } from '../reading/json.js';
import { ServerError, TransportError } from './errors.js';
import type { Schemas } from './operation.js';
import { pause } from './retry.js';

/** Silence after which a stream counts as dead: the server sends a heartbeat every 15 seconds. */
const SILENCE_MS_MAX = 45_000;
const WAIT_MS_FIRST = 250;
const WAIT_MS_MAX = 30_000;

/** Start of a stream. */
export interface StreamStart {
  /** Position of the last event received. */
  lastEventId?: string;
  /** Events after this sequence of the log. */
  afterSequence?: string;
}

/** Opens a stream at a position. */
export type OpenStream = (start: StreamStart, signal: AbortSignal) => Promise<Response>;

/** The chunks of a body, until it ends or is silent for too long. */
async function* piecesOf(response: Response, end: AbortController): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  try {
    for (;;) {
      const timer = setTimeout(() => end.abort(new Error('the stream was silent for too long')), SILENCE_MS_MAX);
      const { done, value } = await reader.read().finally(() => clearTimeout(timer));
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } finally {
    // A reader that stops early must not leave the connection open.
    await reader.cancel().catch(() => {});
  }
}

async function* eventsOf(response: Response, end: AbortController): AsyncGenerator<Schemas['EventView'], void, undefined> {
  const read: Schemas['EventView'][] = [];
  const parser = createParser({ onEvent: ({ data }) => read.push(parseJson(data) as Schemas['EventView']) });
  for await (const piece of piecesOf(response, end)) {
    parser.feed(piece);
    yield* read.splice(0);
  }
}

/** Wait before reopening a stream after this error, or null if it cannot be reopened. */
function waitAsked(error: unknown): number | null {
  if (error instanceof TransportError) return 0;
  if (!(error instanceof ServerError)) return null;
  if (error.status === 429) return (error.retryAfterS ?? 60) * 1000;
  return error.status >= 500 ? (error.retryAfterS ?? 0) * 1000 : null;
}

/**
 * All events from a position on, over several connections if necessary. Ends with the signal's reason, or a refusal.
 */
export async function* resumingEvents(open: OpenStream, begin: StreamStart, signal?: AbortSignal): AsyncGenerator<Schemas['EventView'], void, undefined> {
  let start = begin;
  for (let failures = 0; ; failures += 1) {
    let asked = 0;
    const end = new AbortController();
    const forward = (): void => end.abort(signal?.reason);
    signal?.addEventListener('abort', forward, { once: true });
    try {
      signal?.throwIfAborted();
      const response = await open(start, end.signal);
      const reflected = response.headers.get('x-sequence');
      // A stream that starts now gets a position too, in case it breaks before its first event.
      if (start.lastEventId === undefined && start.afterSequence === undefined && reflected !== null) start = { afterSequence: reflected };
      for await (const event of eventsOf(response, end)) {
        failures = 0;
        start = { lastEventId: event.position };
        yield event;
      }
    } catch (error) {
      signal?.throwIfAborted();
      const isBreak = !(error instanceof ServerError) && (error instanceof TransportError || error instanceof TypeError || end.signal.aborted || isSocketError(error));
      const wait = isBreak ? 0 : waitAsked(error);
      if (wait === null) throw error;
      asked = wait;
    } finally {
      signal?.removeEventListener('abort', forward);
      end.abort();
    }
    const own = Math.min(WAIT_MS_MAX, WAIT_MS_FIRST * 2 ** Math.min(failures, 10));
    await pause(Math.max(asked, own * (0.5 + Math.random() / 2)), signal);
  }
}

/** An error of the connection other than fetch's TypeError: other implementations have different ones. */
const isSocketError = (error: unknown): boolean => typeof (error as { code?: unknown })?.code === 'string' && /^(E[A-Z]+|UND_ERR.*)$/.test((error as { code: string }).code);
