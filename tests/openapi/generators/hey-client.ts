// At least ten requests with the client that hey-api makes.

import assert from 'node:assert/strict';
import { client } from './hey/client.gen.js';
import * as service from './hey/index.js';
import { UNSIGNED, connected } from './signing.mjs';

const url = process.argv[2]!;
const signer = await connected(url);
client.setConfig({ baseUrl: url, fetch: signer.fetch });
const headers = UNSIGNED;

async function made<T>(request: Promise<{ data?: T; error?: unknown }>): Promise<T> {
  const { data, error } = await request;
  assert.ok(data !== undefined, JSON.stringify(error));
  return data;
}

const domain = await made(service.getDomain());
assert.deepEqual(domain.extensions, []);
const blind = Buffer.from('not guessable at all').toString('base64');
const body = { email: `hey-${signer.address}@example.com`, password: 'correct horse battery staple', address: signer.address, blind };
const account = await made(service.registerWallet({ headers, body }));
signer.token = account.access_token;
assert.equal(account.wallet.role, 'owner');
const me = await made(service.getOwnWallet());
assert.equal(me.address, signer.address);
const template = await made(service.createTemplate({ headers, body: { name: 'Hey', properties: { size: 1 } } }));
const object = await made(service.mintObject({ headers, body: { template_id: template.id } }));
const path = { id: object.id };
assert.deepEqual((await made(service.getObject({ path }))).properties, { size: 1 });
await made(service.updateObject({ path, headers, body: { properties: { size: 2 } } }));
const locked = await made(service.submitAction({ headers, body: { action_type: 'lock', object_id: object.id } }));
const found = await made(service.searchObjects({ body: { filter: { and: [{ field: 'id', op: 'eq', value: object.id }] } } }));
assert.deepEqual(found.items.map(({ status }) => status), ['locked']);
const action = await made(service.getAction({ path: { id: locked.id } }));
assert.equal(action.action_type, 'lock');
const batch = await made(service.getBatch({ path: { id: action.batch_id } }));
assert.ok(['sealed', 'anchoring', 'anchored', 'finalized'].includes(batch.status));
const events = await made(service.listEvents({ query: { object_id: object.id } }));
assert.ok(events.items.some(({ type }) => type === 'object.locked'));
const missing = await service.getObject({ path: { id: `obj_${'0'.repeat(26)}` } });
assert.equal(missing.error?.code, 'RESOURCE_NOT_FOUND');
console.log(JSON.stringify([...signer.called]));
