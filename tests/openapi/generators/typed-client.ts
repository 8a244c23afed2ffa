// At least ten requests with openapi-fetch and the types of openapi-typescript.

import assert from 'node:assert/strict';
import createClient from 'openapi-fetch';
import { UNSIGNED, connected } from './signing.mjs';
import type { paths } from './types';

const url = process.argv[2]!;
const signer = await connected(url);
const api = createClient<paths>({ baseUrl: url, fetch: signer.fetch });
const header = UNSIGNED;

async function made<T>(request: Promise<{ data?: T; error?: unknown }>): Promise<T> {
  const { data, error } = await request;
  assert.ok(data !== undefined, JSON.stringify(error));
  return data;
}

const domain = await made(api.GET('/.well-known/eip712-domain.json'));
assert.deepEqual(domain.extensions, []);
const blind = Buffer.from('not guessable at all').toString('base64');
const body = { email: `typed-${signer.address}@example.com`, password: 'correct horse battery staple', address: signer.address, blind };
const account = await made(api.POST('/wallets/register', { params: { header }, body }));
signer.token = account.access_token;
const role: 'owner' | 'admin' | 'member' = account.wallet.role;
assert.equal(role, 'owner');
const me = await made(api.GET('/wallets/me'));
assert.equal(me.address, signer.address);
const template = await made(api.POST('/templates', { params: { header }, body: { name: 'Typed', properties: { size: 1 } } }));
const object = await made(api.POST('/objects', { params: { header }, body: { template_id: template.id } }));
const path = { id: object.id };
assert.deepEqual((await made(api.GET('/objects/{id}', { params: { path } }))).properties, { size: 1 });
await made(api.PATCH('/objects/{id}', { params: { path, header }, body: { properties: { size: 2 } } }));
const locked = await made(api.POST('/ebus/actions', { params: { header }, body: { action_type: 'lock', object_id: object.id } }));
const noted = { action_type: 'x.note', object_id: object.id, payload: { text: 'no such kind' } };
const refused = await api.POST('/ebus/actions', { params: { header }, body: noted });
assert.ok(refused.error !== undefined && 'body' in refused.error && refused.error.body.message !== '');
const found = await made(api.POST('/objects/search', { body: { filter: { and: [{ field: 'id', op: 'eq', value: object.id }] } } }));
assert.deepEqual(found.items.map(({ status }) => status), ['locked']);
const action = await made(api.GET('/ebus/actions/{id}', { params: { path: { id: locked.id } } }));
assert.equal(action.action_type, 'lock');
const batch = await made(api.GET('/batches/{id}', { params: { path: { id: action.batch_id } } }));
assert.ok(['sealed', 'anchoring', 'anchored', 'finalized'].includes(batch.status));
const events = await made(api.GET('/ebus/events', { params: { query: { object_id: object.id } } }));
assert.ok(events.items.some(({ type }) => type === 'object.locked'));
const missing = await api.GET('/objects/{id}', { params: { path: { id: `obj_${'0'.repeat(26)}` } } });
assert.equal(missing.error?.code, 'RESOURCE_NOT_FOUND');
console.log(JSON.stringify([...signer.called]));
