// A caller that still uses v2's paths, with only its platform's fetch.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { KedgeClient, readTrust } from './kedge-client.mjs';
import { startSystem } from './harness.mjs';

const PASSWORD = 'a long enough passphrase';
const email = 'ann@example.com';

let system;
let ann;
const v2 = (path, options) => fetch(`${system.baseUrl}/v2${path}`, options);

before(async () => {
  system = await startSystem();
  ann = new KedgeClient(system.baseUrl, await readTrust(system.baseUrl));
  await ann.register({ email, password: PASSWORD });
});

after(async () => {
  if (system) await system.stop();
});

test('reading follows the redirect with its token', async () => {
  const headers = { authorization: `Bearer ${ann.token}` };
  const profile = await v2('/user/profile', { headers });
  assert.deepEqual([profile.status, profile.redirected], [200, true]);
  assert.equal(profile.url, `${system.baseUrl}/wallets/me`);
  assert.equal((await profile.json()).email, email);
  const listed = await v2('/assets?limit=1', { headers });
  assert.equal(listed.url, `${system.baseUrl}/objects?limit=1`);
  assert.deepEqual(await listed.json(), { items: [], cursor: null, has_more: false });
});

test('a POST that follows a 301 has become a GET', async () => {
  const login = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ email, password: PASSWORD }) };
  const followed = await v2('/user/login', login);
  assert.equal(followed.status, 405);
  assert.equal((await followed.json()).code, 'METHOD_NOT_ALLOWED');
  // The caller should read the answer, and send the same request to the URL that it names.
  const answer = await v2('/user/login', { ...login, redirect: 'manual' });
  assert.equal(answer.status, 301);
  assert.equal(answer.headers.get('sunset'), 'Tue, 30 Jun 2026 23:59:59 GMT');
  const again = await fetch(new URL(answer.headers.get('location'), answer.url), login);
  assert.equal(again.status, 200);
  assert.equal((await again.json()).wallet.email, email);
});

test('the static headers of v2 are no credentials', async () => {
  const answer = await v2('/user/profile', { headers: { 'app-id': 'kedge', 'app-secret': PASSWORD } });
  assert.deepEqual([answer.status, (await answer.json()).code], [401, 'UNAUTHENTICATED']);
});

test('errors have the shape of v2', async () => {
  const answer = await v2('/nothing');
  assert.equal(answer.status, 404);
  assert.deepEqual(Object.keys(await answer.json()), ['message']);
});
