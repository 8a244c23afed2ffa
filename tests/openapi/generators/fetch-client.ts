// At least ten requests with the client that openapi-generator makes for fetch.

import assert from 'node:assert/strict';
import * as generated from './fetch/index.js';
import { UNSIGNED, connected } from './signing.mjs';

const url = process.argv[2]!;
const signer = await connected(url);
const configuration = new generated.Configuration({ basePath: url, fetchApi: signer.fetch });
const signed = {
  xSignature: UNSIGNED['X-Signature'],
  xSignatureAddress: UNSIGNED['X-Signature-Address'],
  xSignatureNonce: UNSIGNED['X-Signature-Nonce'],
  xSignatureDeadline: UNSIGNED['X-Signature-Deadline'],
  xSignatureSalt: UNSIGNED['X-Signature-Salt'],
};
const accounts = new generated.AccountsApi(configuration);
const templates = new generated.TemplatesApi(configuration);
const objects = new generated.ObjectsApi(configuration);
const bus = new generated.ActionBusApi(configuration);

const domain = await new generated.ServiceApi(configuration).getDomain();
assert.deepEqual(domain.extensions, []);
const blind = Buffer.from('not guessable at all').toString('base64');
const registerBody = { email: `fetch-${signer.address}@example.com`, password: 'correct horse battery staple', address: signer.address, blind };
const account = await accounts.registerWallet({ ...signed, registerBody });
signer.token = account.accessToken;
assert.equal(account.wallet.role, generated.Role.Owner);
const me = await accounts.getOwnWallet();
assert.equal(me.address, signer.address);
const template = await templates.createTemplate({ ...signed, templateBody: { name: 'Fetch', properties: { size: 1 } } });
const object = await objects.mintObject({ ...signed, objectBody: { templateId: template.id } });
assert.deepEqual((await objects.getObject({ id: object.id })).properties, { size: 1 });
await objects.updateObject({ ...signed, id: object.id, objectPatch: { properties: { size: 2 } } });
const locked = await bus.submitAction({ ...signed, actionBody: { actionType: 'lock', objectId: object.id } });
const filter = { and: [{ field: 'id', op: 'eq' as const, value: object.id }] };
const found = await objects.searchObjects({ searchBody: { filter } });
assert.deepEqual(found.items.map(({ status }) => status), [generated.ObjectStatus.Locked]);
const action = await bus.getAction({ id: locked.id });
assert.equal(action.actionType, 'lock');
const batch = await new generated.LogApi(configuration).getBatch({ id: action.batchId });
assert.ok(Object.values(generated.BatchStatus).includes(batch.status));
const events = await new generated.EventsApi(configuration).listEvents({ objectId: object.id });
assert.ok(events.items.some(({ type }) => type === 'object.locked'));
const missing = await objects.getObject({ id: `obj_${'0'.repeat(26)}` }).catch((error) => error);
assert.ok(missing instanceof generated.ResponseError);
assert.equal((await missing.response.json()).code, 'RESOURCE_NOT_FOUND');
console.log(JSON.stringify([...signer.called]));
