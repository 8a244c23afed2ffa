// What the reference at /docs is made of. dashboards/console/tests/reference.test.ts shows it in a browser.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startDevelopment } from './harness.mjs';

let server;

before(async () => {
  server = await startDevelopment();
});

after(async () => {
  if (server) await server.stop();
});

// Holds invariant 49.
test('the page names no other server, and its policy holds it to that', async () => {
  let size = 0;
  for (const path of ['/docs', '/docs/reference.css', '/docs/reference.js']) {
    const answer = await fetch(`${server.baseUrl}${path}`);
    assert.equal(answer.status, 200, path);
    const policy = answer.headers.get('content-security-policy');
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:;/);
    assert.doesNotMatch(policy, /unsafe|http|\*/);
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
    const text = (await answer.text()).replaceAll('http://www.w3.org/2000/svg', '');
    size += text.length;
    assert.doesNotMatch(text, /https?:\/\/|\burl\(|@import|(?:inner|outer)HTML|insertAdjacent|document\.write|\beval\(|style=|\son[a-z]+="/, path);
    const tag = answer.headers.get('etag');
    assert.equal((await fetch(`${server.baseUrl}${path}`, { headers: { 'if-none-match': tag } })).status, 304, path);
  }
  assert.ok(size < 90_000, `${size} bytes`);
  const data = await fetch(`${server.baseUrl}/openapi.json`);
  assert.equal(data.headers.get('content-security-policy'), "default-src 'none'; frame-ancestors 'none'");
});
