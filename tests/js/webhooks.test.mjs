// Webhooks, verified by the reference library of Standard Webhooks.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import { KedgeClient, readTrust } from './kedge-client.mjs';
import { eventually, startSystem } from './harness.mjs';

let system;
let receiver;
const received = [];

before(async () => {
  system = await startSystem();
  receiver = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    received.push({ headers: request.headers, body: Buffer.concat(chunks).toString('utf8') });
    response.writeHead(204).end();
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
});

after(async () => {
  receiver?.close();
  if (system) assert.equal(await system.stop(), 0, 'the server drains and ends well');
});

test('messages verify, and changed ones do not', async () => {
  const ann = new KedgeClient(system.baseUrl, await readTrust(system.baseUrl));
  await ann.register({ email: 'ann@example.com', password: 'a long enough passphrase' });
  const url = `http://127.0.0.1:${receiver.address().port}/hook`;
  const webhook = JSON.stringify({ url, events: ['template.created'] });
  const made = await ann.change('POST', '/webhooks', 'webhook.create', '', webhook);
  const rotation = JSON.stringify({ overlap_s: 600 });
  const rotated = await ann.change('POST', `/webhooks/${made.id}/rotate`, 'webhook.rotate', made.id, rotation);
  await ann.createTemplate({ name: 'ticket' });
  await eventually('a message', () => received.length > 0);
  const [{ headers, body }] = received;
  for (const { secret } of [made, rotated]) {
    const verifier = new Webhook(secret);
    const event = verifier.verify(body, headers);
    assert.deepEqual([event.type, event.data.name], ['template.created', 'ticket']);
    const refused = (changedBody, changed) => assert.throws(() => verifier.verify(changedBody, { ...headers, ...changed }), WebhookVerificationError);
    refused(body.replace('ticket', 'tickets'), {});
    refused(body, { 'webhook-id': `${headers['webhook-id']}0` });
    refused(body, { 'webhook-timestamp': String(Number(headers['webhook-timestamp']) + 1) });
    refused(body, { 'webhook-signature': 'v1,AAAA' });
  }
  const stranger = new Webhook(`whsec_${Buffer.alloc(32, 1).toString('base64')}`);
  assert.throws(() => stranger.verify(body, headers), WebhookVerificationError);
});
