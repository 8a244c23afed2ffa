// Programs in the manner of the earlier SDKs: their calls, pages and action forms, on a real server.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CompatAuthError, CompatClient, CompatError, CompatNotFoundError, CompatRateLimitError, CompatTimeoutError } from '@kedge/sdk/compat';
import { generatePrivateKey } from 'viem/accounts';
import { PASSWORD, serverOfFile } from './setup.js';

const server = serverOfFile();
const options = () => ({ baseUrl: server.baseUrl, signer: generatePrivateKey() });

test('accounts, templates, objects and the event bus', async () => {
  const client = new CompatClient(options());
  const tokens = await client.wallets.register('user@example.com', PASSWORD, { name: 'Ann' });
  assert.ok(tokens.access_token && tokens.refresh_token);
  const wallet = await client.wallets.me();
  assert.deepEqual([wallet.email, wallet.name], ['user@example.com', 'Ann']);
  assert.equal((await client.wallets.updateMe({ name: 'Bea' })).name, 'Bea');

  const template = await client.templates.create({ name: 'My Template', properties: { color: 'red' } });
  const variation = await client.templates.createVariation(template.id, { name: 'blue', properties: { color: 'blue' } });
  assert.equal((await client.templates.listVariations(template.id)).items[0]?.id, variation.id);
  const page = await client.templates.list({ limit: 20 });
  assert.deepEqual([page.items[0]?.name, page.next], ['My Template', null]);

  // Both forms of an action.
  const minted = await client.eventBus.execute({ action: { mint: { template_id: template.id, custom: { name: 'My First Object' } } } });
  assert.equal((await client.eventBus.getAction(minted.action_id)).id, minted.action_id);
  const object = minted.object_id as string;
  await client.eventBus.execute({ action: { update: { id: object, custom: { level: 2 } } } });
  assert.deepEqual((await client.objects.get(object)).properties, { color: 'red', name: 'My First Object', level: 2 });
  await client.eventBus.execute({ action_type: 'lock', object_id: object });
  await client.eventBus.execute({ action_type: 'unlock', payload: { object_id: object } });
  await client.eventBus.execute({ action: { transfer: { id: object, to: wallet.id } } });
  assert.equal((await client.eventBus.listActions({ limit: 20 })).items.length, 9);
  await assert.rejects(client.eventBus.execute({ action: { mint: { template_id: template.id, num: 3 } } }), TypeError);

  const mint = { action_type: 'mint', template_id: template.id, payload: { properties: { level: 1 } } };
  assert.equal((await client.eventBus.executeBatch([mint, mint, mint])).length, 3);
  const first = await client.objects.list({ limit: 3 });
  const second = await client.objects.list({ limit: 3, next: first.next });
  assert.deepEqual([first.items.length, second.items.length, second.next], [3, 1, null]);
  assert.equal((await client.objects.search({ template_id: template.id, properties: { level: 1 } })).items.length, 3);
  assert.equal((await client.objects.count({ template_id: template.id })).count, 4);
  assert.equal((await client.objects.activity(object)).items.length, 5);
  const created = await client.objects.create({ template_id: template.id, properties: {} });
  assert.equal((await client.objects.update(created.id, { properties: { level: 9 } })).properties['level'], 9);
});

test('organizations, keys, files, webhooks and batches', async () => {
  const client = new CompatClient(options());
  await client.wallets.register('owner@example.com', PASSWORD);
  const { organization_id: organization } = await client.wallets.me();
  assert.equal((await client.organizations.get(organization)).tier, 'free');
  assert.equal((await client.organizations.listMembers(organization)).items.length, 1);
  const { id } = await client.organizations.invite(organization, { role: 'member' });
  assert.equal((await client.organizations.listInvitations(organization)).length, 1);
  await client.organizations.deleteInvitation(organization, id);
  await assert.rejects(client.organizations.get('org_00000000000000000000000000'), CompatNotFoundError);

  const crud = { create: true, read: true, update: true, delete: true };
  const key = await client.apiKeys.create({ name: 'reader', permissions: [{ resource: 'templates', crud }] });
  const reader = new CompatClient({ ...options(), token: key.key, authMode: 'api_key' });
  assert.deepEqual((await reader.templates.list()).items, []);
  assert.equal((await client.apiKeys.list()).length, 1);
  await client.apiKeys.delete(key.id);
  await assert.rejects(reader.templates.list(), CompatAuthError);

  const form = new FormData();
  form.append('file', new File(['some text'], 'note.txt'));
  const record = await client.storage.upload(form);
  assert.equal(record.url, (await client.storage.get(record.id)).url);

  const webhook = await client.webhooks.create({ url: 'https://example.com/hook', events: ['*'] });
  assert.equal((await client.webhooks.update(webhook.id, { active: false })).active, false);
  await client.webhooks.delete(webhook.id);
  assert.equal((await client.webhooks.list()).items.length, 0);
  const { items } = await client.sequencer.listBatches({ limit: 1 });
  assert.equal((await client.sequencer.getBatch(items[0]?.id as string)).number, 0);
});

test('errors have the classes and members of the earlier SDKs', async () => {
  const client = new CompatClient(options());
  await assert.rejects(client.wallets.login('user@example.com', 'wrong password here'), CompatAuthError);
  const { access_token: token } = await client.wallets.register('errors@example.com', PASSWORD);
  const other = new CompatClient({ baseUrl: server.baseUrl });
  other.setToken(token);
  await assert.rejects(other.objects.get('obj_00000000000000000000000000'), (error) => {
    assert.ok(error instanceof CompatNotFoundError && error instanceof CompatError);
    return error.code === 'RESOURCE_NOT_FOUND' && error.status === 404;
  });
  const limited = new CompatClient({
    baseUrl: server.baseUrl,
    retry: { maxAttempts: 1 },
    fetch: async () => new Response('{"code":"RATE_LIMITED","status":429,"body":{"message":"slow down"}}', { status: 429, headers: { 'retry-after': '7' } }),
  });
  await assert.rejects(limited.templates.list(), (error) => error instanceof CompatRateLimitError && error.retryAfter === 7);
  const silent = new CompatClient({ baseUrl: 'http://127.0.0.1:9', timeout: 100 });
  await assert.rejects(silent.templates.list(), CompatTimeoutError);
});
