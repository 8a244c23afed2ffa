// What is sent, and what cannot happen: sizes, caching and policy; stored text that is no markup; hostile files.

import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { go, logIn, open, person, stage } from './harness';

const on = stage();

/** The most that a first load may send, in bytes: less than with viem in it. The goal is 300 kB. */
const FIRST_LOAD_MAX = 100_000;

// Holds invariant 171.
test('the page has a strict policy, and its files are compressed and kept', async () => {
  const page = await fetch(on.url, { headers: { 'accept-encoding': 'br' } });
  const policy = page.headers.get('content-security-policy') ?? '';
  for (const part of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"]) {
    expect(policy).toContain(part);
  }
  expect(policy).not.toMatch(/unsafe|\*(?!;| )|data:/);
  expect(page.headers.get('x-content-type-options')).toBe('nosniff');
  expect(page.headers.get('referrer-policy')).toBe('no-referrer');
  expect(page.headers.get('content-encoding')).toBe('br');
  const again = await fetch(on.url, { headers: { 'accept-encoding': 'br', 'if-none-match': page.headers.get('etag') ?? '' } });
  expect(again.status).toBe(304);
  const [path] = /\/console\/assets\/[^"]+\.js/.exec(await page.text()) ?? [];
  const script = await fetch(`${on.server.baseUrl}${path}`, { headers: { 'accept-encoding': 'gzip' } });
  expect(script.headers.get('cache-control')).toContain('immutable');
  expect(script.headers.get('content-encoding')).toBe('gzip');
  expect((await fetch(`${on.url}/nothing`)).status).toBe(404);
  expect((await fetch(on.url, { method: 'POST' })).status).toBe(405);
});

// Holds invariant 171.
test('a first load is small, and asks no other host', async () => {
  const context = await on.browser.newContext();
  const page = await context.newPage();
  const sizes = new Map<string, number>();
  page.on('requestfinished', async (request) => {
    const { responseBodySize } = await request.sizes();
    sizes.set(request.url(), responseBodySize);
  });
  const begun = Date.now();
  await page.goto(on.url);
  await page.getByRole('link', { name: 'Register', exact: true }).waitFor();
  const interactive = Date.now() - begun;
  await page.getByText('Newest checkpoint').waitFor();
  await page.waitForLoadState('networkidle');
  const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  console.log(`first load: ${sizes.size} requests, ${total} bytes; a link can be used after ${interactive} ms`);
  expect(sizes.size).toBeGreaterThan(3);
  expect(total).toBeLessThan(FIRST_LOAD_MAX);
  for (const url of sizes.keys()) expect(url.startsWith(`${on.server.baseUrl}/`), url).toBe(true);
  await context.close();
});

// Holds invariant 171.
test('stored text is never markup, a link or a script', async () => {
  const { client, email, key } = await person(on);
  const evil = '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>';
  const template = await client.createTemplate({ name: evil, description: evil, properties: { [evil]: evil } });
  const object = await client.mintObject({ template_id: template.id, properties: { link: 'javascript:document.title="owned"' } });
  const webhook = await client.createWebhook({ url: 'https://example.com/%3Cscript%3E?javascript:alert(1)', description: evil, events: ['*'] });
  await client.createApiKey({ name: evil, permissions: [{ resource: 'objects', crud: { read: true } }] });
  await client.updateOwnWallet({ nickname: evil.slice(0, 60) });
  const { page, context, faults, outside } = await open(on);
  await logIn(page, { email, key });
  const paths: [string, string][] = [
    ['/templates', 'Templates'],
    [`/templates/${template.id}`, 'Template'],
    [`/objects/${object.id}`, 'Object'],
    [`/actions/${object.action_id}`, 'Action'],
    ['/webhooks', 'Webhooks'],
    [`/webhooks/${webhook.id}`, 'Webhook'],
    ['/keys', 'API keys'],
    ['/members', 'Members'],
    ['/events', 'Live events'],
  ];
  for (const [path, heading] of paths) {
    await go(page, path, heading);
    await page.waitForFunction(() => !/Reading…|Loading…/.test(document.querySelector('main')?.textContent ?? ''));
    // The text is there, as text; all links are the console's own, and one leads to the API reference.
    const { scripts, images, links } = await page.evaluate(() => ({
      scripts: document.querySelectorAll('body script:not([src])').length,
      images: document.querySelectorAll('main img').length,
      links: [...document.querySelectorAll('a')].map((link) => link.getAttribute('href') ?? ''),
    }));
    expect({ path, scripts, images }).toEqual({ path, scripts: 0, images: 0 });
    for (const link of links) expect(link, path).toMatch(/^(#\/|\/docs$)/);
    expect(await page.title()).not.toBe('owned');
  }
  await go(page, `/templates/${template.id}`, 'Template');
  await page.getByText(evil).first().waitFor();
  // A path that somebody made up leads nowhere.
  await go(page, `/objects/${encodeURIComponent('../wallets/me')}`, 'Object');
  await page.getByRole('alert').waitFor();
  expect(faults).toEqual([]);
  expect(outside).toEqual([]);
  await context.close();
});

// Holds invariant 172.
test('hostile files are refused with a reason, and the page stays usable', async () => {
  const { page, context, faults } = await open(on, '/check');
  let files = 0;
  const check = async (text: string, reason: RegExp): Promise<void> => {
    files += 1;
    const name = `file${files}.json`;
    await page.locator('input[name=file]').setInputFiles({ name, mimeType: 'application/json', buffer: Buffer.from(text) });
    await page.getByRole('heading', { name }).waitFor();
    await expect.poll(() => page.getByRole('alert').textContent(), { timeout: 40_000 }).toMatch(reason);
    // The page answers while a file is checked.
    expect(await page.evaluate(() => 1 + 1)).toBe(2);
  };
  await check('', /no JSON/);
  await check('[]', /no receipt/);
  await check('{"receipt":null}', /no receipt/);
  const [deep, many] = [100_000, 200_000];
  await check(`{"leaf":1,"leaf_index":1,"path":${'['.repeat(deep)}${']'.repeat(deep)}}`, /deep|no JSON|lacks|stack/);
  await check(`{"receipt":{"leaf":1,"leaf_index":${'['.repeat(deep)}12345678901234567890${']'.repeat(deep)},"path":1}}`, /deep|stack|lacks|no object/);
  await check(`{"leaf":{},"leaf_index":0,"path":[${'"0x00",'.repeat(many)}"0x00"]}`, /lacks the member|is no/);
  await check(`{"a":"${'x'.repeat(9_000_000)}"}`, /too large/);
  await check('{"leaf":{"content":"<img src=x onerror=alert(1)>"},"leaf_index":0,"path":[]}', /no word of 32 bytes/);
  await check('{"__proto__":{"polluted":1},"leaf":1,"leaf_index":1,"path":1}', /lacks|no member|unknown/);
  expect(await page.evaluate(() => ({} as { polluted?: number }).polluted)).toBeUndefined();
  expect(faults).toEqual([]);
  await context.close();
});

// Holds invariant 171.
test('login and key are in memory alone, unless the user wants them kept in the tab', async () => {
  const { email, key } = await person(on);
  const { page, context } = await open(on);
  await logIn(page, { email, key });
  const stored = (): Promise<string[]> => page.evaluate(() => [JSON.stringify(localStorage), JSON.stringify(sessionStorage), document.cookie]);
  expect(await stored()).toEqual(['{}', '{}', '']);
  await page.reload();
  await page.getByRole('link', { name: 'Register', exact: true }).waitFor();

  await logIn(page, { email, key });
  await go(page, '/wallet', 'Your wallet');
  await page.getByLabel('Keep login and key in this tab').check();
  const [local, session] = await stored();
  expect(local).toBe('{}');
  expect(session).toContain(key.slice(2));
  await page.reload();
  await page.getByRole('button', { name: 'Log out' }).waitFor();
  await go(page, '/wallet', 'Your wallet');
  await page.getByText('A key in this page’s memory signs').waitFor();
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByRole('link', { name: 'Register', exact: true }).first().waitFor();
  expect(await stored()).toEqual(['{}', '{}', '']);
  await context.close();
});

// Holds invariant 171.
test('no page of another origin can frame the console', async () => {
  const framing = createServer((_, answer) => answer.setHeader('content-type', 'text/html').end(`<iframe src="${on.url}"></iframe>`)).listen(0, '127.0.0.1');
  await once(framing, 'listening');
  const context = await on.browser.newContext();
  const page = await context.newPage();
  const refusals: string[] = [];
  page.on('console', (message) => refusals.push(message.text()));
  await page.goto(`http://127.0.0.1:${(framing.address() as AddressInfo).port}/`);
  await expect.poll(() => refusals.join()).toMatch(/frame-ancestors/);
  await context.close();
  framing.close();
});
