// Lost answers: the client sends the same bytes again, and everything is done exactly once.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { after, before, test } from 'node:test';
import { KedgeClient, readTrust } from './kedge-client.mjs';
import { startDevelopment } from './harness.mjs';

let server;
let way;

/** A proxy that loses the answers to the next `lose` changes, after the server carried them out. */
async function startLossyWay(target) {
  const seen = [];
  const state = { lose: 0, seen };
  const proxy = createServer(async (incoming, outgoing) => {
    const chunks = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const signed = incoming.headers['x-signature'];
    if (signed) seen.push(signed);
    const onward = request(`${target}${incoming.url}`, { method: incoming.method, headers: incoming.headers }, async (answer) => {
      const parts = [];
      for await (const part of answer) parts.push(part);
      if (signed && state.lose > 0) {
        state.lose -= 1;
        outgoing.destroy();
        return;
      }
      outgoing.writeHead(answer.statusCode, answer.headers);
      outgoing.end(Buffer.concat(parts));
    });
    onward.end(Buffer.concat(chunks));
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  state.baseUrl = `http://127.0.0.1:${proxy.address().port}`;
  state.stop = () => proxy.closeAllConnections() ?? proxy.close();
  return state;
}

before(async () => {
  server = await startDevelopment({ KEDGE_RATE_LIMITS: 'off' });
  way = await startLossyWay(server.baseUrl);
});

after(async () => {
  way?.stop();
  if (server) assert.equal(await server.stop(), 0, 'the server drains and ends well');
});

// Holds invariant 95.
test('what was done by a request without an answer is found done, with its answer', async () => {
  const ann = new KedgeClient(way.baseUrl, await readTrust(way.baseUrl));
  way.lose = 1;
  await ann.register({ email: 'ann@example.com', password: 'a long enough passphrase' });
  way.lose = 2;
  const template = await ann.createTemplate({ name: 'once' });
  way.seen.length = 0;
  way.lose = 1;
  const mint = { kind: 'mint', target: template.id, payload: '{}' };
  const batch = await ann.batch([mint, mint], { atomic: true });
  assert.equal(batch.results.length, 2);
  assert.equal(new Set(way.seen).size, 1, 'it is signed once');
  assert.equal(way.seen.length, 2, 'it is sent twice');
  const { body } = await ann.get('/objects');
  assert.equal(body.items.length, 2, 'it is done once');
});

// Holds invariant 95.
test('without a key that the server knows, the spent nonce says so', async () => {
  const bob = new KedgeClient(way.baseUrl, await readTrust(way.baseUrl));
  await bob.register({ email: 'bob@example.com', password: 'a long enough passphrase' });
  const payload = JSON.stringify({ name: 'spent' });
  const { headers } = await bob.sign([{ kind: 'template.create', target: '', payload }]);
  await bob.send('POST', '/templates', payload, headers);
  // As after a lost answer, but the first sending had no key.
  way.lose = 1;
  const answer = await bob.sendSigned('POST', '/templates', payload, headers).catch((error) => error);
  const done = answer.body?.already_done === true || answer.code === 'NONCE_REUSED';
  assert.ok(done, String(answer));
  const { body } = await bob.get('/templates');
  assert.equal(body.items.length, 1, 'it is done once');
});
