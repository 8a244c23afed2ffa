// The API reference at /docs, in a browser: a page for each operation, requests only on a press of a button, and calls that
// work as they are shown. With REFERENCE_FILES=folder it shows the files of that folder, in place of those in the server.

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { DESK, PASSWORD, PHONE, type Watched, person, seriousFindings, showBuild, stage, watch } from './harness';

const on = stage();
const run = promisify(execFile);
const shots = process.env['REFERENCE_SHOTS'];
const root = resolve(import.meta.dirname, '../../..');
/** As the server puts them together. */
const SCRIPTS = ['document', 'code', 'snippets', 'quickstart', 'trial', 'pages'];

type Content = Record<string, { examples?: Record<string, { summary: string }> }>;

interface Operation {
  operationId: string;
  summary: string;
  path: string;
  method: string;
  tags: string[];
  requestBody?: { content: Content };
  responses: Record<string, { $ref?: string }>;
  'x-signature'?: object;
}

let document_: {
  paths: Record<string, Record<string, Operation>>;
  tags: { name: string }[];
  components: { schemas: object; responses: Record<string, { content: Content }> };
};
let operations: Operation[];

beforeAll(async () => {
  document_ = (await (await fetch(`${on.server.baseUrl}/openapi.json`)).json()) as typeof document_;
  operations = Object.entries(document_.paths).flatMap(([path, item]) => Object.entries(item).map(([method, operation]) => ({ ...operation, path, method })));
});

type Options = Parameters<typeof watch>[1];

/** Opens the reference at an address. */
async function openReference(hash = '', options: Options = {}, prepared: (watched: Watched) => Promise<void> = async () => {}): Promise<Watched> {
  const watched = await watch(on, options);
  const folder = process.env['REFERENCE_FILES'];
  if (folder !== undefined) {
    const headers = { 'content-security-policy': (await fetch(`${on.server.baseUrl}/docs`)).headers.get('content-security-policy') ?? '' };
    const read = (...names: string[]): string => names.map((name) => readFileSync(join(folder, name), 'utf8')).join('');
    await watched.context.route('**/docs', (route) => route.fulfill({ headers, contentType: 'text/html; charset=utf-8', body: read('page.html') }));
    await watched.context.route('**/docs/reference.css', (route) => route.fulfill({ headers, contentType: 'text/css', body: read('reference.css') }));
    await watched.context.route('**/docs/reference.js', (route) => route.fulfill({ headers, contentType: 'text/javascript', body: read(...SCRIPTS.map((name) => `${name}.js`)) }));
  }
  const build = process.env['CONSOLE_DIST'];
  if (build !== undefined) await showBuild(watched.context, on, build);
  await prepared(watched);
  await watched.page.goto(`${on.server.baseUrl}/docs${hash}`);
  await watched.page.locator('h1').waitFor();
  return watched;
}

const headingOf = (page: Page): Promise<string | null> => page.locator('h1').textContent();

async function follow(page: Page, hash: string): Promise<void> {
  await page.evaluate(async (to) => {
    const changed = new Promise((resolve_) => addEventListener('hashchange', resolve_, { once: true }));
    location.hash = to;
    await changed;
  }, hash);
}

/** What a page asks for by itself. */
const OWN = ['/docs', '/docs/reference.css', '/docs/reference.js', '/openapi.json'];

const formOf = (page: Page) => page.locator('.trial');

async function openTrial(page: Page): Promise<void> {
  await page.getByText('Try it on this server').click();
}

/** What an operation's page shows. */
interface Shown {
  heading: string;
  current: string | null;
  crumb: string;
  height: number;
  text: string;
  options: string[];
  hasForm: boolean;
  note: string;
  curl: string;
  typescript: string;
  python: string;
}

const shownPage = (page: Page): Promise<Shown> =>
  page.evaluate(() => {
    const text = (selector: string): string => document.querySelector(selector)?.textContent ?? '';
    const call = (language: string): string => {
      [...document.querySelectorAll<HTMLElement>('.samples .sample:first-child [role=tab]')].find(({ textContent }) => textContent === language)?.click();
      return text('.samples .sample:first-child pre');
    };
    return {
      heading: text('h1'),
      current: document.querySelector('#side a[aria-current]')?.getAttribute('href') ?? null,
      crumb: text('.crumb'),
      height: document.documentElement.scrollHeight,
      text: text('article'),
      options: [...document.querySelectorAll('.sample option')].map(({ textContent }) => textContent),
      hasForm: document.querySelector('form') !== null,
      note: text('.samples .note'),
      typescript: call('TypeScript'),
      python: call('Python'),
      curl: call('curl'),
    };
  });

/** The pages of all operations, which the first test reads. */
const shown = new Map<string, Shown>();

test('every operation, tag and schema has a page, which its address opens, and none is long', async () => {
  const { page, context, faults, outside } = await openReference();
  for (const { operationId, summary, tags } of operations) {
    await follow(page, `#/${operationId}`);
    const one = await shownPage(page);
    expect([one.heading, one.current, one.crumb]).toEqual([summary, `#/${operationId}`, tags.join('')]);
    expect(one.height, operationId).toBeLessThan(9_000);
    shown.set(operationId, one);
  }
  for (const { name } of document_.tags) {
    await follow(page, `#/tag/${encodeURIComponent(name)}`);
    expect(await headingOf(page)).toBe(name);
  }
  const names = Object.keys(document_.components.schemas);
  const astray: (string | null)[] = [];
  for (const name of names) {
    await follow(page, `#/schema/${name}`);
    expect(await headingOf(page)).toBe(name);
    const linked = await page.evaluate(() => [...document.querySelectorAll('main a[href^="#/schema/"]')].map((link) => link.getAttribute('href')?.slice('#/schema/'.length) ?? null));
    astray.push(...linked.filter((to) => !names.includes(to ?? '')));
  }
  expect([astray, faults, outside]).toEqual([[], [], []]);
  await context.close();
});

test('a page shows its answers, its examples and its call', () => {
  expect(shown.size).toBe(operations.length);
  for (const { operationId, path, method, responses, requestBody } of operations) {
    const one = shown.get(operationId) as Shown;
    const missing = [method.toUpperCase(), path, ...Object.keys(responses)].filter((text) => !one.text.includes(text));
    const refused = Object.values(responses).flatMap(({ $ref }) => ($ref === undefined ? [] : [document_.components.responses[$ref.split('/').at(-1) ?? '']]));
    const codes = refused.flatMap((response) => Object.keys(response?.content['application/json']?.examples ?? {}));
    missing.push(...codes.filter((code) => !one.text.includes(code)));
    const titles = Object.values(Object.values(requestBody?.content ?? {})[0]?.examples ?? {}).map(({ summary }) => summary);
    if (one.options.length > 0) missing.push(...titles.filter((title) => titles.length > 1 && !one.options.includes(title)));
    expect(missing, operationId).toEqual([]);
    expect(one.curl, operationId).toMatch(/\bcurl [^]*http:/);
  }
  expect(shown.get('mintObject')?.text, 'schemas are shown to their ends').toContain('previous_integrity');
  expect(shown.get('mintObject')?.text, 'the right that an API key needs is stated').toContain('objects.create');
  expect(shown.get('mintObject')?.curl).toMatch(/^kedge sign --url \S+ [^]*--kind mint /);
  expect(shown.get('uploadFile')?.curl).toContain('-F file=@');
  expect(shown.get('deleteWebhook')?.curl).toContain('--kind webhook.delete');
});

// Holds invariant 49.
test('what is signed or changes something has no form', () => {
  const withForm = operations.filter(({ operationId }) => shown.get(operationId)?.hasForm);
  const reads = operations.filter(({ method }) => method === 'get');
  expect(withForm.map(({ operationId }) => operationId).sort()).toEqual([...reads.map(({ operationId }) => operationId), 'countObjects', 'login', 'previewActions', 'searchObjects'].sort());
  expect(withForm.filter((operation) => operation['x-signature'] !== undefined)).toEqual([]);
  for (const [id, { hasForm, note }] of shown) if (!hasForm) expect(note, id).toContain('the page does not send it');
});

/** Methods of the Python client that are not called as the operation is. */
const PYTHON_NAMES: Record<string, string> = {
  registerWallet: 'register',
  logout: 'log_out',
  getFileContent: 'download_file',
  exportLog: 'export_lines',
  streamEvents: 'follow_events',
};
const snake = (id: string): string => id.replace(/(?<=[a-z])([A-Z])/g, '_$1').toLowerCase();

/** The last call of a client: what is before it makes the client, and logs in. */
const lastCall = (text: string, client: string): string => text.slice([...text.matchAll(new RegExp(`(?<![\\w'"/.])${client}\\.\\w+\\(`, 'g'))].at(-1)?.index ?? 0);

test('the methods of the calls are those of the SDKs', async () => {
  const source = (...paths: string[]): string => paths.map((path) => readFileSync(join(root, 'sdk', path), 'utf8')).join('\n');
  const methods = (text: string, pattern: RegExp): Map<string, string> => new Map([...text.matchAll(pattern)].map(([whole, name]) => [name ?? '', whole]));
  const typescript = methods(source('typescript/src/generated/operations.ts', 'typescript/src/client/kedge.ts'), /^ {2}(?:async )?\*?(\w+)\(.*$/gm);
  const python = methods(source('python/src/kedge/generated/client.py', 'python/src/kedge/client.py'), /^ {4}def (\w+)\([^]*?\) -> /gm);
  for (const [id, one] of shown) {
    expect(/^kedge\.(\w+)\(/.exec(lastCall(one.typescript, 'kedge'))?.[1]).toBe(id);
    expect(typescript.has(id), `the TypeScript client has ${id}`).toBe(true);
    const [, name = '', given = ''] = /^client\.(\w+)\(([^]*?)\)(?::\n|\n|$)/.exec(lastCall(one.python, 'client')) ?? [];
    expect([PYTHON_NAMES[id] ?? snake(id), `iter_${snake(id).replace(/^(list|search)_/, '')}`]).toContain(name.replace(/_found$/, ''));
    expect(python.has(name), `the Python client has ${name}`).toBe(true);
    // Names of arguments alone: texts are left out, and with them the members of dictionaries.
    const words = [...given.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""').matchAll(/(\w+)=/g)].map(([, word]) => word);
    for (const word of words) expect(python.get(name), id).toMatch(new RegExp(`\\b${word}: `));
  }
  const programs = join(mkdtempSync(join(tmpdir(), 'kedge-reference-')), 'programs.json');
  writeFileSync(programs, JSON.stringify([...shown.values()].map(({ python: text }) => text)));
  await run('python3', ['-c', 'import ast, json, sys\nfor text in json.load(open(sys.argv[1])): ast.parse(text)', programs]);
  rmSync(dirname(programs), { recursive: true });
});

test('the filter leaves what fits, and its group', async () => {
  const { page, context } = await openReference();
  const left = (): Promise<(string | null)[]> => page.evaluate(() => [...document.querySelectorAll<HTMLElement>('#pages li')].filter(({ hidden }) => !hidden).map((item) => item.firstElementChild?.getAttribute('href') ?? null));
  const whole = await left();
  const filter = page.getByPlaceholder('Filter');
  await filter.fill('email_taken invitation');
  expect(await left()).toEqual(['#/registerWallet']);
  expect(await page.locator('#pages details:visible').count()).toBe(1);
  expect(await page.getByRole('status').textContent()).toBe('1 page fits.');
  await filter.fill('nothing has this word');
  expect(await left()).toEqual([]);
  await filter.press('Escape');
  expect(await left()).toEqual(whole);
  await context.close();
});

test('light and dark can be chosen, and the choice is kept', async () => {
  const { page, context } = await openReference('', { colorScheme: 'dark' });
  const ground = (): Promise<string> => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await ground();
  await page.getByRole('button', { name: 'Light or dark' }).click();
  const light = await ground();
  expect(light).not.toBe(dark);
  await page.reload();
  expect(await ground()).toBe(light);
  await context.close();
});

test('an address opens its page at first, and so do the anchors of earlier versions', async () => {
  const addresses: [hash: string, heading: string, becomes: string][] = [
    ['#/mintObject', 'Mint an object', '#/mintObject'],
    ['#mintObject', 'Mint an object', '#/mintObject'],
    [`#tag-${document_.tags[0]?.name.replaceAll(' ', '-')}`, document_.tags[0]?.name ?? '', `#/tag/${encodeURIComponent(document_.tags[0]?.name ?? '')}`],
    ['#top', 'Kedge API', '#/'],
    ['#/schema/ObjectView', 'ObjectView', '#/schema/ObjectView'],
    ['#/nothing', 'No such page', '#/nothing'],
  ];
  for (const [hash, heading, becomes] of addresses) {
    const { page, context, faults } = await openReference(hash);
    expect(await headingOf(page), hash).toBe(heading);
    expect(await page.evaluate(() => location.hash)).toBe(becomes);
    expect(faults).toEqual([]);
    await context.close();
  }
});

test('a chosen example is shown in the call, the body and the answer', async () => {
  const { page, context } = await openReference('#/mintObject');
  const call = page.getByLabel('Example: Request');
  const titles = await call.locator('option').allTextContents();
  await call.selectOption(titles[1] as string);
  expect(await page.getByLabel('Example: body.json').inputValue()).toBe(titles[1]);
  const body = await page.getByRole('region', { name: 'body.json' }).locator('pre').textContent();
  await page.getByRole('tab', { name: 'Python' }).first().click();
  const template = (JSON.parse(body ?? '') as { template_id: string }).template_id;
  expect(await page.locator('.samples pre').first().textContent()).toContain(`"template_id": "${template}"`);
  await context.close();
});

test('next and previous walk through all pages, and the browser goes back', async () => {
  const { page, context } = await openReference('#/mintObject');
  await page.getByRole('link', { name: /^Next/ }).click();
  const second = await headingOf(page);
  expect(second).not.toBe('Mint an object');
  expect(await page.evaluate(() => [scrollY, document.activeElement?.tagName])).toEqual([0, 'H1']);
  await page.getByRole('link', { name: /^Previous/ }).click();
  expect(await headingOf(page)).toBe('Mint an object');
  await page.goBack();
  expect(await headingOf(page)).toBe(second);
  await context.close();
});

// Holds invariant 49.
test('an address sends nothing, fills nothing in, and runs nothing', async () => {
  const hostile = [
    '#/getHealth?send=1',
    '#/getVersion',
    '#/getBatch?id=1&token=stolen',
    '#/getObject/obj_1/send',
    '#/getHealth#send',
    '#/<img src=x onerror=alert(1)>',
    '#/%3Cscript%3Ealert(1)%3C/script%3E',
    '#javascript:alert(1)',
    '#/__proto__',
    '#/constructor',
    '#/schema/__proto__',
    '#/%',
    '#%E0%A4%A',
  ];
  const { page, context, asked, faults, outside } = await openReference();
  page.on('dialog', () => faults.push('a dialog'));
  for (const hash of hostile) {
    await page.goto('about:blank');
    asked.length = 0;
    await page.goto(`${on.server.baseUrl}/docs${hash}`);
    await page.locator('h1').waitFor();
    await page.waitForTimeout(100);
    expect(asked.map((url) => url.split('#')[0]).sort(), hash).toEqual(OWN);
    expect(await page.locator('main img, main script, main iframe').count()).toBe(0);
    const filled = await page.evaluate(() => [...document.querySelectorAll<HTMLInputElement>('main input')].filter(({ value }) => value !== '').length);
    expect([filled, faults, outside.filter((url) => url !== 'about:blank')], hash).toEqual([0, [], []]);
  }
  await context.close();
});

// Holds invariant 49.
test('a read is sent when its button is pressed, and its answer is shown', async () => {
  const { page, context, asked, faults, outside } = await openReference('#/getHealth');
  await openTrial(page);
  expect(asked.sort()).toEqual(OWN);
  await page.getByRole('button', { name: 'Send the request' }).click();
  await formOf(page).getByText('200 OK').waitFor();
  expect(asked.filter((url) => !OWN.includes(url))).toEqual(['/healthz']);
  expect(await formOf(page).locator('.headers').textContent()).toContain('x-request-id');
  expect(await formOf(page).locator('pre').textContent()).toContain('"status"');

  // A path's value stays in its place, whatever it holds.
  await follow(page, '#/getBatch');
  await openTrial(page);
  await page.getByLabel('id', { exact: true }).fill('..');
  await page.getByRole('button', { name: 'Send the request' }).click();
  await formOf(page).getByText('Fill in id.').waitFor();
  await page.getByLabel('id', { exact: true }).fill('../healthz?a=1#b');
  await page.getByRole('button', { name: 'Send the request' }).click();
  await formOf(page).getByText(/^4\d\d /).waitFor();
  expect(asked.at(-1)).toBe('/batches/..%2Fhealthz%3Fa%3D1%23b');
  expect([faults, outside]).toEqual([[], []]);
  await context.close();
});

// Holds invariant 49.
test('a token is in the memory of the page alone, and goes only where it is needed', async () => {
  const { email } = await person(on);
  const { page, context, faults, outside } = await openReference('#/login');
  const sent = new Map<string, string | undefined>();
  page.on('request', (request) => sent.set(new URL(request.url()).pathname, request.headers()['authorization']));
  await openTrial(page);
  await page.getByLabel('Body of the request').fill(JSON.stringify({ email, password: PASSWORD }));
  await page.getByRole('button', { name: 'Send the request' }).click();
  await page.getByRole('button', { name: 'Use this token' }).click();
  await follow(page, '#/getOwnWallet');
  await openTrial(page);
  expect(await page.getByLabel('Value').getAttribute('type')).toBe('password');
  await page.getByRole('button', { name: 'Send the request' }).click();
  await formOf(page).getByText('200 OK').waitFor();
  expect(await formOf(page).locator('pre').textContent()).toContain(email);
  await follow(page, '#/getVersion');
  await openTrial(page);
  await page.getByRole('button', { name: 'Send the request' }).click();
  await formOf(page).getByText('200 OK').waitFor();
  expect(sent.get('/wallets/me')).toMatch(/^Bearer /);
  expect([sent.has('/version'), sent.get('/version')]).toEqual([true, undefined]);

  const token = sent.get('/wallets/me')?.slice(7) ?? '';
  const stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state]));
  expect(stored).not.toContain(token.slice(0, 20));
  await page.reload();
  await follow(page, '#/getOwnWallet');
  await openTrial(page);
  expect(await page.getByLabel('Value').inputValue()).toBe('');
  expect([faults, outside]).toEqual([[], []]);
  await context.close();
});

test('a long or endless answer is cut, and its text is text', async () => {
  const { page, context, faults } = await openReference('#/getVersion', {}, async ({ context: of }) => {
    const line = '<img src=x onerror="globalThis.harmed = 1">';
    await of.route('**/version', (route) => route.fulfill({ contentType: 'application/json', headers: { 'x-request-id': line }, body: `"${line.repeat(100_000).replaceAll('"', "'")}"` }));
  });
  await openTrial(page);
  await page.getByRole('button', { name: 'Send the request' }).click();
  await formOf(page).getByText('The answer is cut after 200,000 bytes.').waitFor();
  expect((await formOf(page).locator('pre').textContent())?.length).toBe(200_000);
  expect(await page.locator('main img').count()).toBe(0);
  expect(await page.evaluate(() => (globalThis as { harmed?: number }).harmed)).toBeUndefined();

  // Whole numbers keep their digits.
  await context.route('**/healthz', (route) => route.fulfill({ contentType: 'application/json', body: '{"n":12345678901234567890,"e":[],"t":"a,b:{c}"}' }));
  await follow(page, '#/getHealth');
  await openTrial(page);
  await page.getByRole('button', { name: 'Send the request' }).click();
  await formOf(page).getByText('200 OK').waitFor();
  expect(await formOf(page).locator('pre').textContent()).toBe('{\n  "n": 12345678901234567890,\n  "e": [],\n  "t": "a,b:{c}"\n}');
  expect(faults).toEqual([]);
  await context.close();
});

test('a stream is read until the reader stops it', async () => {
  const { client } = await person(on);
  await client.createTemplate({ name: 'stream' });
  const { page, context, faults } = await openReference('#/streamEvents');
  await openTrial(page);
  await page.getByLabel('Value').fill(client.session?.access_token ?? '');
  await page.getByText('optional parameters').click();
  await page.getByLabel('after_sequence').fill('0');
  await page.getByRole('button', { name: 'Send the request' }).click();
  await page.waitForTimeout(500);
  await page.getByRole('button', { name: 'Stop' }).click();
  await formOf(page).getByText('You stopped it.').waitFor();
  expect(await formOf(page).locator('pre').textContent()).toContain('template.created');
  expect(faults).toEqual([]);
  await context.close();
});

test('texts of the document are never markup', async () => {
  const bad = '<img src=x onerror="globalThis.harmed=1"><a href="javascript:alert(1)">x</a>';
  const { page, context, faults } = await openReference('#/getHealth', {}, async ({ context: of }) => {
    const text = JSON.stringify(document_, (key, value: unknown) => (typeof value === 'string' && ['summary', 'description', 'title', 'name'].includes(key) ? `${value} ${bad}` : value));
    await of.route('**/openapi.json', (route) => route.fulfill({ contentType: 'application/json', body: text }));
  });
  for (const hash of ['#/', '#/guide', '#/signing', '#/errors', '#/mintObject', '#/listObjects', '#/schemas', '#/schema/ObjectView']) {
    await follow(page, hash).catch(() => {});
    expect(await page.locator('main img, [href^="javascript"]').count(), hash).toBe(0);
  }
  expect(await page.locator('main').textContent()).toContain('ObjectView');
  expect(await page.evaluate(() => (globalThis as { harmed?: number }).harmed)).toBeUndefined();
  expect(faults).toEqual([]);
  await context.close();
});

test('the keyboard alone is enough', async () => {
  const { page, context } = await openReference();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('content');
  await page.keyboard.press('/');
  await page.keyboard.type('mint an object');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Mint an object' }).waitFor();
  await page.getByRole('tab', { name: 'curl' }).first().focus();
  await page.keyboard.press('ArrowRight');
  expect(await page.evaluate(() => [document.activeElement?.textContent, document.activeElement?.getAttribute('aria-selected')])).toEqual(['TypeScript', 'true']);
  await page.keyboard.press('ArrowRight');
  expect(await page.locator('.samples pre').first().textContent()).toContain('client.mint_object(');
  await page.keyboard.press('ArrowRight');
  expect(await page.locator('.samples pre').first().textContent()).toContain('curl -X POST');
  await context.close();
});

test('the menu of a phone opens, finds and closes', async () => {
  const { page, context } = await openReference('', { viewport: PHONE });
  const side = page.locator('#side');
  expect(await side.isVisible()).toBe(false);
  await page.getByRole('button', { name: 'Menu' }).click();
  const [bar, top] = await page.evaluate(() => ['.bar', '.filter'].map((part) => document.querySelector(part)?.getBoundingClientRect()));
  expect(top?.top, 'the filter is under the bar').toBeGreaterThanOrEqual(bar?.bottom ?? 0);
  await page.getByPlaceholder('Filter').fill('healthz');
  await side.locator('a[href="#/getHealth"]').click();
  expect(await side.isVisible()).toBe(false);
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.keyboard.press('Escape');
  expect(await side.isVisible()).toBe(false);
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('menu');
  await context.close();
});

test('reference and console lead to each other', async () => {
  const { page, context } = await openReference();
  await page.getByRole('link', { name: 'Console' }).first().click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await page.getByRole('link', { name: 'API reference' }).click();
  await page.getByRole('heading', { level: 1, name: 'Kedge API' }).waitFor();
  await context.close();
});

const PAGES = ['#/', '#/guide', '#/signing', '#/errors', '#/tag/Objects', '#/mintObject', '#/listObjects', '#/submitBatch', '#/searchObjects', '#/getBatch', '#/getFileContent', '#/schemas', '#/schema/ObjectView', '#/nothing'];

test.each([
  ['desk', DESK, 'light'],
  ['phone', { width: 390, height: 844 }, 'dark'],
  ['narrow', PHONE, 'light'],
] as const)('on a %s, pages have no serious finding and fit (%o, %s)', async (screen, viewport, colorScheme) => {
  const watched = await openReference('', { viewport, colorScheme });
  const { page, context, faults } = watched;
  const wrong: string[] = [];
  for (const hash of PAGES) {
    if (hash !== '#/') await follow(page, hash);
    if ((await page.locator('form').count()) > 0) {
      await openTrial(page);
      for (const more of await page.locator('.trial details:not([open]) > summary').all()) await more.click();
      if (hash === '#/getBatch') {
        await page.getByLabel('id', { exact: true }).fill('0');
        await page.getByRole('button', { name: 'Send the request' }).click();
        await formOf(page).locator('.headers').waitFor();
      }
    }
    if (shots !== undefined) await page.screenshot({ path: `${shots}/${screen}-${colorScheme}-${hash.replaceAll(/\W+/g, '') || 'start'}.png`, fullPage: true });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wide > 0) wrong.push(`${hash}: ${wide} px wider than the screen`);
    wrong.push(...(await seriousFindings(page)).map((text) => `${hash}: ${text}`));
  }
  expect([wrong, faults]).toEqual([[], []]);
  await context.close();
});

/** The text of a box, in a language. */
const textIn = (page: Page, box: string, language: string): Promise<string[]> =>
  page.evaluate(
    ([selector, name]) =>
      [...document.querySelectorAll(selector as string)].map((each) => {
        [...each.querySelectorAll<HTMLElement>('[role=tab]')].find(({ textContent }) => textContent === name)?.click();
        return each.querySelector('pre')?.textContent ?? '';
      }),
    [box, language],
  );

/** A folder in which programs find the SDK. */
function project(): string {
  const folder = mkdtempSync(join(tmpdir(), 'kedge-reference-'));
  mkdirSync(join(folder, 'node_modules/@kedge'), { recursive: true });
  symlinkSync(join(root, 'sdk/typescript'), join(folder, 'node_modules/@kedge/sdk'));
  symlinkSync(join(root, 'dashboards/console/node_modules/@types'), join(folder, 'node_modules/@types'));
  return folder;
}

test('the quickstart runs, in TypeScript and with curl', async () => {
  const { page, context } = await openReference();
  const folder = project();
  const [typescript, curl] = [await textIn(page, '.quickstart .sample', 'TypeScript'), await textIn(page, '.quickstart .sample', 'curl')];
  writeFileSync(join(folder, 'quickstart.mjs'), typescript.join('\n\n'));
  const { stdout: printed } = await run(process.execPath, ['quickstart.mjs'], { cwd: folder });
  expect(printed).toMatch(/^registered wal_\w+\nminted obj_\w+ at sequence \d+\nafter sequence \d+, obj_\w+ is at version 1/);

  symlinkSync(process.env['KEDGE_BIN'] ?? '', join(folder, 'kedge'));
  const environment = { ...process.env, PATH: `${folder}${delimiter}${process.env['PATH']}` };
  const { stdout: checked } = await run('bash', ['-euo', 'pipefail', '-c', curl.join('\n\n')], { cwd: folder, env: environment });
  expect(checked).toMatch(/valid +yes[^]*valid +yes/);
  rmSync(folder, { recursive: true });
  await context.close();
});

test('every call in TypeScript compiles against the SDK', async () => {
  const { page, context } = await openReference();
  const folder = project();
  const quickstart = await textIn(page, '.quickstart .sample', 'TypeScript');
  writeFileSync(join(folder, 'quickstart.ts'), quickstart.join('\n'));
  for (const [id, { typescript }] of shown) writeFileSync(join(folder, `${id}.ts`), typescript);
  const options = { module: 'NodeNext', target: 'ES2022', strict: true, exactOptionalPropertyTypes: true, noEmit: true, skipLibCheck: true, types: ['node'] };
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, include: ['*.ts'] }));
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
  const { stdout } = await run(process.execPath, [tsc], { cwd: folder }).catch((error: { stdout: string }) => error);
  expect(stdout).toBe('');
  rmSync(folder, { recursive: true });
  await context.close();
});
