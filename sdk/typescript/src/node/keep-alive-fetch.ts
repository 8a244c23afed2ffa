/** A fetch for Node based on `node:http`, with a third of the built-in one's processor time for small requests. */

import { Agent as HttpAgent, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { Readable } from 'node:stream';
import type { Fetch } from '../client/transport.js';

/** Read-only headers: the reading part of `Headers`. */
class ReadHeaders {
  constructor(readonly message: IncomingMessage) {}

  get(name: string): string | null {
    const value = this.message.headers[name.toLowerCase()];
    return value === undefined ? null : Array.isArray(value) ? value.join(', ') : value;
  }

  has(name: string): boolean {
    return this.get(name) !== null;
  }

  *entries(): IterableIterator<[string, string]> {
    for (const name of Object.keys(this.message.headers)) yield [name, this.get(name) as string];
  }

  *keys(): IterableIterator<string> {
    for (const [name] of this.entries()) yield name;
  }

  *values(): IterableIterator<string> {
    for (const [, value] of this.entries()) yield value;
  }

  forEach(call: (value: string, name: string) => void): void {
    for (const [name, value] of this.entries()) call(value, name);
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries();
  }
}

function textOf(message: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    message.setEncoding('utf8');
    message.on('data', (piece: string) => {
      text += piece;
    });
    message.on('end', () => resolve(text));
    message.on('error', reject);
  });
}

function responseOf(message: IncomingMessage): Response {
  const status = message.statusCode as number;
  const headers = new ReadHeaders(message);
  if (headers.get('content-type')?.includes('json') && !headers.get('content-type')?.includes('ndjson')) {
    return { status, ok: status >= 200 && status < 300, headers, text: () => textOf(message) } as unknown as Response;
  }
  const empty = status === 204 || status === 304;
  if (empty) message.resume();
  return new Response(empty ? null : (Readable.toWeb(message) as ReadableStream<Uint8Array>), { status, headers: [...headers.entries()] });
}

/** Options of {@link keepAliveFetch}. */
export interface KeepAliveOptions {
  /** Limit on concurrent connections; 64 by default. Further requests wait. */
  readonly connections?: number;
}

/**
 * A fetch with persistent connections, for the client's option `fetch`; uploads use the built-in fetch. Close it before
 * the program ends, or it keeps Node alive for a few seconds.
 */
export function keepAliveFetch({ connections = 64 }: KeepAliveOptions = {}): Fetch & { close(): void } {
  const settings = { keepAlive: true, maxSockets: connections, maxFreeSockets: connections };
  const [http, https] = [new HttpAgent(settings), new HttpsAgent(settings)];
  const send: Fetch = (url, init) => {
    const { method = 'GET', headers, body, signal } = init;
    if (body !== null && body !== undefined && typeof body !== 'string') return globalThis.fetch(url, init);
    const isSecure = url.startsWith('https:');
    const [request, agent] = isSecure ? [httpsRequest, https] : [httpRequest, http];
    return new Promise((resolve, reject) => {
      const length = typeof body === 'string' ? { 'content-length': String(Buffer.byteLength(body)) } : {};
      const options = { method, agent, headers: { ...(headers as Record<string, string>), ...length } };
      const sent = request(url, signal ? { ...options, signal } : options, (message) => resolve(responseOf(message)));
      sent.on('error', reject);
      sent.end(body ?? undefined);
    });
  };
  const close = (): void => {
    http.destroy();
    https.destroy();
  };
  return Object.assign(send, { close });
}
