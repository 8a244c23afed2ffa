// Refusals before the body was read reach this platform's clients, every time.

import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, test } from 'node:test';
import { startDevelopment } from './harness.mjs';

const TIMES = 100;
const SMALL = 2_000;
const LARGE = 3_000_000;

let server;

before(async () => {
  server = await startDevelopment({ KEDGE_RATE_LIMITS: 'off' });
});

after(async () => {
  if (server) await server.stop();
});

const REFUSALS = [
  ['POST', '/files', 401, 'UNAUTHENTICATED'],
  ['POST', '/nothing', 404, 'RESOURCE_NOT_FOUND'],
  ['PUT', '/objects', 405, 'METHOD_NOT_ALLOWED'],
];

for (const [name, bytes] of [['small', SMALL], ['large', LARGE]]) {
  // Holds invariant 121.
  test(`fetch with a ${name} form gets every refusal`, async () => {
    const content = new Uint8Array(bytes);
    for (let i = 0; i < TIMES; i++) {
      const [method, path, status, code] = REFUSALS[i % REFUSALS.length];
      const body = new FormData();
      body.append('file', new Blob([content]), 'a.bin');
      const answer = await fetch(`${server.baseUrl}${path}`, { method, body, headers: { authorization: 'Bearer e30.e30.AAAA' } });
      assert.equal(answer.status, status, `${path} ${i}`);
      assert.equal((await answer.json()).code, code);
    }
  });
}

/** Sends the body in two writes with a pause; resolves with the answer. */
function inTwoWrites(path, bytes) {
  return new Promise((resolve, reject) => {
    const url = new URL(`${server.baseUrl}${path}`);
    const headers = { 'content-type': 'application/json', 'content-length': 2 * bytes };
    const sent = request(url, { method: 'POST', headers }, async (answer) => {
      let text = '';
      answer.on('error', reject);
      for await (const chunk of answer) text += chunk;
      resolve({ status: answer.statusCode, body: JSON.parse(text) });
    });
    sent.on('error', reject);
    sent.write(Buffer.alloc(bytes, ' '));
    setTimeout(() => sent.end(Buffer.alloc(bytes, ' ')), 3);
  });
}

// Holds invariant 121.
test('node:http in two writes gets every refusal', async () => {
  for (let i = 0; i < TIMES; i++) {
    const answer = await inTwoWrites('/objects', i % 2 ? SMALL : LARGE / 10);
    assert.deepEqual([answer.status, answer.body.code], [401, 'UNAUTHENTICATED'], `${i}`);
  }
});
