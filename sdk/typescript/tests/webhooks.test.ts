// Webhooks: messages of a real server verify, and changed ones do not.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingHttpHeaders, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { Refused, contentOf, verifyReceipt, verifyWebhook } from '@kedge/sdk';
import { bytesOf, eventually, registered, serverOfFile } from './setup.js';

const server = serverOfFile({ KEDGE_WEBHOOK_ALLOWED_NETWORKS: '["127.0.0.0/8"]' });
const received: { headers: IncomingHttpHeaders; body: string }[] = [];
const receiver = createServer(async (request, response) => {
  received.push({ headers: request.headers, body: (await bytesOf(request)).toString('utf8') });
  response.writeHead(204).end();
});

before(async () => {
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
});

after(() => receiver.close());

test('messages verify with each secret of a rotation, and changed ones do not', async () => {
  const ann = await registered(server.baseUrl);
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  const made = await ann.createWebhook({ url, events: ['template.created'] });
  const rotated = await ann.rotateWebhookSecret(made.id, { overlap_s: 600 });
  await ann.createTemplate({ name: 'ticket' });
  const [{ headers, body }] = await eventually('a message', () => received.length > 0 && [received[0] as (typeof received)[0]]);
  for (const secrets of [made.secret, rotated.secret, ['whsec_AAAA', rotated.secret]]) {
    const event = verifyWebhook(body, headers, secrets);
    assert.deepEqual([event.type, (event.data as { name: string }).name], ['template.created', 'ticket']);
  }
  const { receipt, action_id: id } = verifyWebhook(Buffer.from(body), new Headers(headers as Record<string, string>), made.secret);
  const { action } = await ann.getActionProof(id as string);
  verifyReceipt(receipt as object, await ann.trust(), contentOf(action as Parameters<typeof contentOf>[0]));
  const refused = (changedBody: string, changed: IncomingHttpHeaders, secrets: string | string[] = made.secret): void =>
    assert.throws(() => verifyWebhook(changedBody, { ...headers, ...changed }, secrets), Refused);
  refused(body.replace('ticket', 'tickets'), {});
  refused(body, { 'webhook-id': `${String(headers['webhook-id'])}0` });
  refused(body, { 'webhook-timestamp': String(Number(headers['webhook-timestamp']) + 1) });
  refused(body, { 'webhook-timestamp': String(Number(headers['webhook-timestamp']) - 3600) });
  refused(body, { 'webhook-signature': 'v1,AAAA' });
  refused(body, { 'webhook-signature': undefined });
  refused(body, {}, `whsec_${Buffer.alloc(32, 1).toString('base64')}`);
  refused(body, {}, []);
  const { id: delivery } = (await ann.listWebhookDeliveries(made.id)).items[0] as { id: string };
  await ann.redeliver(made.id, delivery);
  assert.equal((await ann.testWebhook(made.id)).webhook_id, made.id);
  await ann.updateWebhook(made.id, { active: false });
  await ann.deleteWebhook(made.id);
  assert.equal((await ann.listWebhooks()).items.length, 0);
});
