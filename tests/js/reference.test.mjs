// The reference in a DOM: every operation has a page with a call in each language, whose methods the SDKs have; the filter
// finds; no other server is named. A browser shows it in dashboards/console/tests/reference.test.ts.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
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

async function go(hash) {
  page.mainFrame.window.location.hash = hash;
  await page.waitUntilComplete();
  return document.querySelector('article');
}

/** The call of the page that is shown, in a language. */
function call(language) {
  const box = document.querySelector('.samples .sample');
  [...box.querySelectorAll('[role=tab]')].find(({ textContent }) => textContent === language).click();
  return box.querySelector('pre').textContent;
}

test('every operation has a page with its answers, its examples and a request', async () => {
  for (const { path, method, operationId, summary, responses, requestBody } of operations()) {
    const article = await go(`#/${operationId}`);
    const text = article.textContent;
    assert.ok(document.getElementById(operationId), operationId);
    assert.ok(text.includes(method.toUpperCase()) && text.includes(path) && text.includes(summary), operationId);
    assert.ok(call('curl').includes('curl ') && call('curl').includes(system.baseUrl), operationId);
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
    assert.ok(document.querySelector(`nav a[href="#/${operationId}"][aria-current]`), operationId);
  }
  const mint = (await go('#/mintObject')).textContent;
  assert.ok(mint.includes('previous_integrity'), 'schemas are shown to their ends');
  assert.ok(call('curl').includes(`kedge sign --url ${system.baseUrl}`) && call('curl').includes('--kind mint'), 'signed requests state how they are signed');
  assert.ok(mint.includes('objects.create'), 'the right that an API key needs is stated');
  await go('#/uploadFile');
  assert.ok(call('curl').includes('-F file=@'), 'uploads are multipart');
  await go('#/deleteWebhook');
  assert.ok(call('curl').includes('--kind webhook.delete'));
});

test('every schema has a page, and a link to it', async () => {
  for (const name of Object.keys(api.components.schemas)) {
    const article = await go(`#/schema/${name}`);
    assert.equal(article.querySelector('h1').textContent, name);
    for (const link of article.querySelectorAll('a[href^="#/schema/"]')) {
      assert.ok(decodeURIComponent(link.getAttribute('href').slice(9)) in api.components.schemas, `${name} leads to ${link.getAttribute('href')}`);
    }
  }
});

const sdk = (path) => readFileSync(fileURLToPath(new URL(`../../sdk/${path}`, import.meta.url)), 'utf8');

/** Methods of the Python client that are not called as the operation is. */
const PYTHON_NAMES = {
  registerWallet: 'register',
  logout: 'log_out',
  getFileContent: 'download_file',
  exportLog: 'export_lines',
  streamEvents: 'follow_events',
};
const snake = (id) => id.replace(/(?<=[a-z])([A-Z])/g, '_$1').toLowerCase();

test('the methods of the calls are those of the SDKs', async () => {
  const methods = (text, pattern) => new Map([...text.matchAll(pattern)].map(([whole, name]) => [name, whole]));
  const typescript = methods(sdk('typescript/src/generated/operations.ts') + sdk('typescript/src/client/kedge.ts'), /^ {2}(?:async )?\*?(\w+)\(.*$/gm);
  const python = methods(sdk('python/src/kedge/generated/client.py') + sdk('python/src/kedge/client.py'), /^ {4}def (\w+)\([^]*?\) -> /gm);
  const programs = [];
  for (const { operationId } of operations()) {
    await go(`#/${operationId}`);
    const [, calledHere] = /\bkedge\.(\w+)\((?![^]*\bkedge\.)/.exec(call('TypeScript'));
    assert.equal(calledHere, operationId);
    assert.ok(typescript.has(operationId), `the TypeScript client has ${operationId}`);
    const text = call('Python');
    programs.push(text);
    const [, name, given] = /\bclient\.(\w+)\(([^]*)\)(?::\n|\n|$)(?![^]*\bclient\.)/.exec(text);
    const expected = [PYTHON_NAMES[operationId] ?? snake(operationId), `iter_${snake(operationId).replace(/^(list|search)_/, '')}`];
    assert.ok(expected.includes(name.replace(/_found$/, '')), `${operationId} is ${name}`);
    assert.ok(python.has(name), `the Python client has ${name}`);
    // Words of the call alone: those in texts are after a quote, and those of dictionaries in quotes.
    for (const [, word] of given.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""').matchAll(/(\w+)=/g)) {
      assert.ok(new RegExp(`\\b${word}: `).test(python.get(name)), `${name} takes ${word}`);
    }
  }
  execFileSync('python3', ['-c', 'import ast, json, sys\nfor text in json.load(sys.stdin): ast.parse(text)'], { input: JSON.stringify(programs) });
});

test('the filter leaves what fits, and its group', () => {
  const shown = () => [...document.querySelectorAll('#pages li')].filter((item) => !item.hidden).map((item) => item.firstChild.getAttribute('href'));
  const filter = (text) => {
    const input = document.getElementById('filter');
    input.value = text;
    input.dispatchEvent(new page.mainFrame.window.Event('input'));
  };
  const whole = shown().length;
  filter('email_taken invitation');
  assert.deepEqual(shown(), ['#/registerWallet']);
  assert.equal([...document.querySelectorAll('#pages details')].filter((group) => !group.hidden).length, 1);
  assert.equal(document.getElementById('found').textContent, '1 page fits.');
  filter('nothing has this word');
  assert.deepEqual(shown(), []);
  filter('');
  assert.equal(shown().length, whole);
});

test('light and dark can be chosen', () => {
  const theme = () => document.documentElement.dataset.theme;
  document.getElementById('theme').click();
  const first = theme();
  assert.ok(['light', 'dark'].includes(first));
  document.getElementById('theme').click();
  assert.notEqual(theme(), first);
});

// Holds invariant 49.
test('the page names no other server, and its policy holds it to that', async () => {
  let size = 0;
  for (const path of ['/docs', '/docs/reference.css', '/docs/reference.js']) {
    const answer = await fetch(`${system.baseUrl}${path}`);
    assert.equal(answer.status, 200, path);
    const policy = answer.headers.get('content-security-policy');
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:;/);
    assert.doesNotMatch(policy, /unsafe|http|\*/);
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
    const text = (await answer.text()).replaceAll('http://www.w3.org/2000/svg', '');
    size += text.length;
    assert.doesNotMatch(text, /https?:\/\/|\burl\(|@import|(?:inner|outer)HTML|insertAdjacent|document\.write|\beval\(|style=|\son[a-z]+="/, path);
    const tag = answer.headers.get('etag');
    assert.equal((await fetch(`${system.baseUrl}${path}`, { headers: { 'if-none-match': tag } })).status, 304, path);
  }
  assert.ok(size < 90_000, `${size} bytes`);
  const data = await fetch(`${system.baseUrl}/openapi.json`);
  assert.equal(data.headers.get('content-security-policy'), "default-src 'none'; frame-ancestors 'none'");
});
