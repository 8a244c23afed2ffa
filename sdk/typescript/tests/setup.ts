// What the tests share: a server for each file, wallets, and a way to the server that loses answers.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, createServer, request } from 'node:http';
import { type AddressInfo, createConnection } from 'node:net';
import { after, before } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientOptions, KedgeClient } from '@kedge/sdk';
import { generatePrivateKey } from 'viem/accounts';
import { type RunningServer, startServer } from '#scripts/server.mjs';

export const PASSWORD = 'a long enough passphrase';
const PATIENCE_MS = 30_000;

/** The folder of the package, from the compiled tests. */
export const packageFolder = new URL('../../', import.meta.url);

/** The root of the repository. */
export const repository = new URL('../../', packageFolder);

/** A server that runs during the tests of a file. */
export function serverOfFile(options: Record<string, string> = {}): RunningServer {
  const server = {} as RunningServer;
  before(async () => {
    Object.assign(server, await startServer({ KEDGE_RATE_LIMITS: 'off', ...options }));
  });
  after(async () => {
    if (server.stop) assert.equal(await server.stop(), 0, 'the server drains and ends well');
  });
  return server;
}

let people = 0;

/** A wallet that has just registered, with an organization of its own. */
export async function registered(baseUrl: string, options: Partial<ClientOptions> = {}): Promise<KedgeClient> {
  const client = new KedgeClient({ baseUrl, signer: generatePrivateKey(), ...options });
  people += 1;
  await client.registerWallet({ email: `person${people}@example.com`, password: PASSWORD });
  return client;
}

/** Calls until the result is truthy; fails with the last error, or with `what`, when patience ends. */
export async function eventually<T>(what: string, call: () => Promise<T | false | null | undefined> | T | false | null | undefined): Promise<T> {
  const end = Date.now() + PATIENCE_MS;
  let last: unknown = new Error(`${what}: not within ${PATIENCE_MS} ms`);
  while (Date.now() < end) {
    try {
      const result = await call();
      if (result !== false && result !== null && result !== undefined) return result;
    } catch (error) {
      last = error;
    }
    await sleep(20);
  }
  throw last;
}

/** One command over the operator's socket. */
export async function admin(socketPath: string, command: string): Promise<{ ok: boolean }> {
  const socket = createConnection(socketPath);
  socket.setEncoding('utf8').write(`${JSON.stringify({ command })}\n`);
  let text = '';
  for await (const chunk of socket) {
    text += chunk;
    if (text.includes('\n')) break;
  }
  socket.destroy();
  return JSON.parse(text) as { ok: boolean };
}

export async function bytesOf(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** What a way does with one exchange: pass the answer on, lose it, or give another. */
export type Interference = 'pass' | 'lose' | { status: number; headers?: Record<string, string>; body: string };

export interface Way {
  readonly baseUrl: string;
  /** Is asked for each request, after the server has answered; `before` is asked first and keeps it from the server. */
  after: (message: IncomingMessage) => Interference;
  before: (message: IncomingMessage) => Interference;
  /** All requests that came. */
  readonly seen: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[];
  stop(): void;
}

/** A proxy to the server. */
export async function wayTo(target: () => string): Promise<Way> {
  const state = { after: () => 'pass', before: () => 'pass', seen: [] } as unknown as { -readonly [K in keyof Way]: Way[K] };
  const proxy = createServer(async (incoming, outgoing) => {
    const body = await bytesOf(incoming);
    state.seen.push({ method: incoming.method as string, url: incoming.url as string, headers: incoming.headers, body: body.toString('utf8') });
    const answerWith = (what: Interference): boolean => {
      if (what === 'pass') return false;
      if (what === 'lose') outgoing.destroy();
      else outgoing.writeHead(what.status, what.headers).end(what.body);
      return true;
    };
    if (answerWith(state.before(incoming))) return;
    const onward = request(`${target()}${incoming.url}`, { method: incoming.method, headers: incoming.headers }, async (answer) => {
      const text = await bytesOf(answer);
      if (answerWith(state.after(incoming))) return;
      outgoing.writeHead(answer.statusCode as number, answer.headers).end(text);
    });
    onward.end(body);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  Object.assign(state, {
    baseUrl: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    stop: () => {
      proxy.closeAllConnections();
      proxy.close();
    },
  });
  return state;
}
