// The reference page in a DOM: it shows every operation of the document, searches, and contacts no other server.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Browser } from 'happy-dom';
import { startSystem } from './harness.mjs';

let system;
let api;
let browser;
let page;
let document;

before(async () => {
  system = await startSystem();
  api = await (await fetch(`${system.baseUrl}/openapi.json`)).json();
  // The page is the server's own.
  browser = new Browser({ settings: { enableJavaScriptEvaluation: true, suppressInsecureJavaScriptEnvironmentWarning: true } });
  page = browser.newPage();
  await page.goto(`${system.baseUrl}/docs`);
  await page.waitUntilComplete();
  document = page.mainFrame.document;
});

after(async () => {
  if (browser) await browser.close();
  if (system) await system.stop();
});

const resolved = (node) => (node.$ref ? node.$ref.slice(2).split('/').reduce((at, part) => at[part], api) : node);
const operations = () =>
  Object.entries(api.paths).flatMap(([path, item]) => Object.entries(item).map(([method, operation]) => ({ path, method, ...operation })));

test('every operation is shown with its answers, its examples and a request', () => {
  assert.equal(document.querySelectorAll('.operation').length, operations().length);
  for (const { path, method, operationId, summary, responses, requestBody } of operations()) {
    const article = document.getElementById(operationId);
    assert.ok(article, operationId);
    const text = article.textContent;
    assert.ok(text.includes(method.toUpperCase()) && text.includes(path) && text.includes(summary), operationId);
    assert.ok(text.includes(`curl `) && text.includes(system.baseUrl), operationId);
    for (const [status, response] of Object.entries(responses)) {
      assert.ok(text.includes(status), `${operationId} ${status}`);
      for (const code of Object.keys(response.$ref ? resolved(response).content['application/json'].examples : {})) {
        assert.ok(text.includes(code), `${operationId} ${code}`);
      }
    }
    for (const { summary: title } of Object.values(Object.values(requestBody?.content ?? {})[0]?.examples ?? {})) {
      const options = [...article.querySelectorAll('option')].map((option) => option.textContent);
      assert.ok(options.length === 0 || options.includes(title), `${operationId} ${title}`);
    }
    assert.ok(document.querySelector(`nav a[href="#${operationId}"]`), operationId);
  }
  const mint = document.getElementById('mintObject').textContent;
  assert.ok(mint.includes('previous_integrity'), 'schemas are shown to their ends');
  assert.ok(mint.includes(`kedge sign --url ${system.baseUrl} --kind mint`), 'signed requests state how they are signed');
  assert.ok(mint.includes('objects.create'), 'the right that an API key needs is stated');
  assert.ok(document.getElementById('uploadFile').textContent.includes('-F file=@'), 'uploads are multipart');
  assert.ok(document.getElementById('deleteWebhook').textContent.includes('--kind webhook.delete'));
});

test('the search leaves what fits, the tags stay with it', () => {
  const shown = () => [...document.querySelectorAll('.operation')].filter((article) => !article.hidden).map(({ id }) => id);
  const search = (text) => {
    const input = document.getElementById('search');
    input.value = text;
    input.dispatchEvent(new page.mainFrame.window.Event('input'));
  };
  search('email_taken invitation');
  assert.deepEqual(shown(), ['registerWallet']);
  const tags = [...document.querySelectorAll('.tag')].filter((tag) => !tag.hidden);
  assert.equal(tags.length, 1);
  search('nothing has this word');
  assert.deepEqual(shown(), []);
  search('');
  assert.equal(shown().length, operations().length);
});

test('light and dark can be chosen', () => {
  const theme = () => document.documentElement.dataset.theme;
  document.getElementById('theme').click();
  const first = theme();
  assert.ok(['light', 'dark'].includes(first));
});

// Holds invariant 49.
test('the page asks nobody else, and its policy holds it to that', async () => {
  for (const path of ['/docs', '/docs/reference.css', '/docs/reference.js']) {
    const answer = await fetch(`${system.baseUrl}${path}`);
    assert.equal(answer.status, 200, path);
    const policy = answer.headers.get('content-security-policy');
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:;/);
    assert.doesNotMatch(policy, /unsafe|http|\*/);
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
    const text = (await answer.text()).replaceAll('http://www.w3.org/2000/svg', '');
    assert.doesNotMatch(text, /https?:\/\/|\burl\(|@import|innerHTML|style=|\son[a-z]+="/, path);
    const tag = answer.headers.get('etag');
    assert.equal((await fetch(`${system.baseUrl}${path}`, { headers: { 'if-none-match': tag } })).status, 304, path);
  }
  const data = await fetch(`${system.baseUrl}/openapi.json`);
  assert.equal(data.headers.get('content-security-policy'), "default-src 'none'; frame-ancestors 'none'");
});
