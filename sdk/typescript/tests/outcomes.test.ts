// Answers that are lost or refused on the way: the same bytes are sent again, and everything is done exactly once.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { AlreadyDone, KedgeClient, ServerError, type Session, TransportError } from '@kedge/sdk';
import { Nonces } from '#dist/client/nonces.js';
import { RETRY_DEFAULT, retries, waitMs, waitUnknownMs } from '#dist/client/retry.js';
import { generatePrivateKey } from 'viem/accounts';
import { PASSWORD, type Interference, type Way, registered, serverOfFile, wayTo } from './setup.js';

const server = serverOfFile();
let way: Way;

before(async () => {
  way = await wayTo(() => server.baseUrl);
});

after(() => way?.stop());

/** Interferes with the next requests that are signed. */
function interfere(at: 'before' | 'after', ...with_: Interference[]): void {
  way.seen.length = 0;
  way[at] = (message) => (message.headers['x-signature'] === undefined ? 'pass' : (with_.shift() ?? 'pass'));
}

const unavailable = (outcome: string): Interference => ({
  status: 503,
  headers: { 'content-type': 'application/json', 'retry-after': '0' },
  body: JSON.stringify({ code: 'UNAVAILABLE', status: 503, body: { message: 'try again', request_id: 'x', outcome } }),
});

const limited: Interference = {
  status: 429,
  headers: { 'content-type': 'application/json', 'retry-after': '1' },
  body: JSON.stringify({ code: 'RATE_LIMITED', status: 429, body: { message: 'too many requests', request_id: 'x' } }),
};

const expired: Interference = {
  status: 401,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ code: 'TOKEN_EXPIRED', status: 401, body: { message: 'the token has expired', request_id: 'x' } }),
};

const signatures = (): number => new Set(way.seen.map(({ headers }) => headers['x-signature'])).size;

test('what was done by a request without an answer is found done, with its answer', async () => {
  const ann = await registered(way.baseUrl);
  interfere('after', 'lose');
  const { id } = await ann.createTemplate({ name: 'once' });
  interfere('after', 'lose');
  const outcomes = await ann.batch({ atomic: true }).mint(id).mint(id).send();
  assert.equal(outcomes.length, 2);
  assert.deepEqual([signatures(), way.seen.length], [1, 2], 'it is signed once and sent twice');
  interfere('after', unavailable('unknown'), unavailable('unknown'));
  await ann.mintObject({ template_id: id });
  assert.deepEqual([signatures(), way.seen.length], [1, 3]);
  assert.equal((await ann.listObjects()).items.length, 3, 'each is done once');
});

test('without a key that the server knows, the spent nonce shows that it is done', async () => {
  const signer = generatePrivateKey();
  const ann = await registered(way.baseUrl, { signer });
  let sendings = 0;
  // The first sending has no key, and its answer is lost: the server does not know the key of the second.
  const forgetful = async (url: string, init: RequestInit): Promise<Response> => {
    const { 'idempotency-key': key, ...headers } = init.headers as Record<string, string>;
    if (key === undefined) return fetch(url, init);
    sendings += 1;
    if (sendings > 1) return fetch(url, init);
    await fetch(url, { ...init, headers });
    throw new TypeError('the connection broke');
  };
  const again = new KedgeClient({ baseUrl: way.baseUrl, signer, session: ann.session as Session, fetch: forgetful });
  await assert.rejects(again.createTemplate({ name: 'spent' }), (error) => {
    assert.ok(error instanceof AlreadyDone);
    assert.equal(error.actionIds.length, 1);
    return error.sequence !== null;
  });
  assert.equal(sendings, 2);
  assert.equal((await ann.listTemplates()).items.length, 1);
});

test('what was not done is done once it is asked for again, and a 503 is final unless it is unknown', async () => {
  const ann = await registered(way.baseUrl);
  interfere('before', 'lose');
  const { id } = await ann.createTemplate({ name: 'after a break' });
  assert.equal(way.seen.length, 2);
  interfere('before', unavailable('nothing_done'));
  await assert.rejects(ann.mintObject({ template_id: id }), (error) => error instanceof ServerError && error.status === 503);
  const patient = await registered(way.baseUrl, { retry: { onUnavailable: true } });
  interfere('before', unavailable('nothing_done'));
  await patient.createTemplate({ name: 'after a pause' });
  const impatient = await registered(way.baseUrl, { retry: { onUnknown: false } });
  interfere('after', 'lose');
  await assert.rejects(impatient.createTemplate({ name: 'unknown' }), TransportError);
  way.after = () => 'pass';
});

test('a limit is waited for as long as the service asks, for reads and changes', async () => {
  const ann = await registered(way.baseUrl);
  interfere('before', limited);
  const start = Date.now();
  await ann.createTemplate({ name: 'later' });
  assert.ok(Date.now() - start >= 1000 && signatures() === 1);
  let refused = 0;
  way.before = ({ method }) => (method === 'GET' && (refused += 1) === 1 ? limited : 'pass');
  assert.equal((await ann.listTemplates()).items.length, 1);
  way.before = () => limited;
  const end = new AbortController();
  const waiting = ann.listTemplates({}, { signal: end.signal }).take(1);
  setTimeout(() => end.abort(new Error('enough')), 100);
  await assert.rejects(waiting, /enough/);
  way.before = () => 'pass';
});

test('tokens that expire are renewed once for all requests in flight', async () => {
  const sessions: unknown[] = [];
  const ann = await registered(way.baseUrl, { onSession: (session) => sessions.push(session) });
  const old = `Bearer ${ann.session?.access_token}`;
  way.before = ({ headers }) => (headers.authorization === old ? expired : 'pass');
  way.seen.length = 0;
  await Promise.all([ann.getOwnWallet(), ann.createTemplate({ name: 'renewed' }), ann.listObjects().take(1), ann.getOwnOrganization()]);
  assert.equal(way.seen.filter(({ url }) => url === '/wallets/token/refresh').length, 1);
  assert.equal(sessions.length, 2);
  way.before = () => 'pass';
  const { refresh_token: token } = await ann.refreshToken();
  assert.equal(typeof token, 'string');
});

test('no answer in time, and an answer that is no JSON', async () => {
  const slow = new KedgeClient({ baseUrl: way.baseUrl, timeoutMs: 50, fetch: (_, { signal }) => new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason))) });
  await assert.rejects(slow.getVersion(), (error) => error instanceof TransportError && /within 50 ms/.test(error.message));
  way.before = () => ({ status: 502, body: '<html>bad gateway</html>' });
  await assert.rejects(new KedgeClient({ baseUrl: way.baseUrl }).getVersion(), (error) => error instanceof ServerError && error.code === null && error.status === 502);
  way.before = () => 'pass';
  await assert.rejects(new KedgeClient({ baseUrl: way.baseUrl }).createTemplate({ name: 'x' }), /signer/);
  await assert.rejects(new KedgeClient({ baseUrl: way.baseUrl }).login('nobody@example.com', PASSWORD), (error) => error instanceof ServerError && error.code === 'CREDENTIALS_INVALID');
});

test('waits grow from what the service asks, and only 429 is retried unless asked', () => {
  assert.deepEqual([0, 1, 2].map((n) => waitMs(RETRY_DEFAULT, n, 1, 0)), [1000, 2000, 4000]);
  assert.deepEqual([waitMs(RETRY_DEFAULT, 0, null, 0), waitMs(RETRY_DEFAULT, 0, null, 1)], [60_000, 75_000]);
  assert.equal(waitMs(RETRY_DEFAULT, 3, 86_400, 0), 86_400_000);
  assert.equal(waitUnknownMs(RETRY_DEFAULT, 1, null, 0), 2000);
  assert.deepEqual([429, 500, 503].filter((status) => retries(RETRY_DEFAULT, status)), [429]);
  assert.ok(retries({ ...RETRY_DEFAULT, onUnavailable: true }, 503));
});

test('nonces rise, stay within the window, and follow the service', async () => {
  const nonces = new Nonces();
  const start = async (): Promise<bigint> => 10n;
  const taken = await Promise.all(Array.from({ length: 512 }, () => nonces.take(start)));
  assert.deepEqual([taken[0], taken[511]], [11n, 522n]);
  let further: bigint | null = null;
  const waiting = nonces.take(start).then((nonce) => {
    further = nonce;
  });
  nonces.release(200n);
  await new Promise(setImmediate);
  assert.equal(further, null, 'the lowest is still in flight');
  nonces.release(11n);
  await waiting;
  assert.equal(further, 523n);
  nonces.learn(1000n);
  for (const nonce of taken) nonces.release(nonce);
  nonces.release(523n);
  assert.equal(await nonces.take(start), 1001n);
  nonces.resynchronise(1001n + 2n ** 21n, 5n);
  nonces.release(1001n);
  assert.equal(await nonces.take(start), 6n);
});
