// The operator's page: a listener of its own, a token that only the server's user can read, and few commands.

import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { DESK, PHONE, person, seriousFindings, stage } from './harness';

const held = createServer().listen(0, '127.0.0.1');
await once(held, 'listening');
const { port } = held.address() as AddressInfo;
held.close();
const url = `http://127.0.0.1:${port}`;
const on = stage({ KEDGE_OPERATOR_PAGE_LISTEN: `127.0.0.1:${port}` });

const token = (): string => readFileSync(join(dirname(on.server.socketPath), 'data/keys/operator-page.token'), 'utf8').trim();

const command = (body: string, shown: string | null): Promise<Response> =>
  fetch(`${url}/operator/command`, { method: 'POST', body, headers: shown === null ? {} : { authorization: `Bearer ${shown}` } });

// Holds invariant 173.
test('commands need the token, and only some are there', async () => {
  const status = '{"command":"status"}';
  for (const wrong of [null, '', 'x', token().slice(0, -1)]) expect((await command(status, wrong)).status).toBe(401);
  const good = await command(status, token());
  expect(good.status).toBe(200);
  expect(await good.json()).toMatchObject({ ok: true, mode: 'read_write', requests_under_way: 0 });
  for (const refused of ['{"command":"backup","directory":"/tmp/never"}', '{"command":"rotate_token_key"}', 'x']) {
    expect((await command(refused, token())).status, refused).toBe(403);
  }
  expect((await fetch(`${url}/operator/command`)).status).toBe(405);
  expect((await fetch(`${url}/readyz`)).status).toBe(404);
  // The API's own address has no commands, and no page of another origin may read what this one answers.
  expect((await fetch(`${on.server.baseUrl}/operator/command`, { method: 'POST', body: status })).status).toBe(404);
  expect(good.headers.get('access-control-allow-origin')).toBeNull();
  const page = await fetch(`${url}/console`);
  expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  expect(page.headers.get('x-content-type-options')).toBe('nosniff');
});

// Holds invariant 202.
test('the page shows head, lag, queue and tiers, anchors, and sets a tier', async () => {
  const { client } = await person(on);
  const context = await on.browser.newContext({ colorScheme: 'dark', reducedMotion: 'reduce' });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(error.message));
  await page.goto(url);
  await page.getByLabel('Token').fill('wrong');
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByText("the token is not the server's").waitFor();
  await page.getByLabel('Token').fill(token());
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByRole('heading', { name: 'Lag of the chain' }).waitFor();
  await page.getByText('none yet').waitFor();
  await page.getByRole('button', { name: 'Anchor now' }).click();
  await page.getByText('The newest checkpoint is being anchored.').waitFor();
  await page.getByText(/number 0/).waitFor();
  const { id } = await client.getOwnOrganization();
  const tiers = page.getByRole('region', { name: 'Tiers and their limits' });
  await tiers.waitFor();
  const shown = async (tier: string): Promise<string[]> => {
    const cells = await tiers.getByRole('row').filter({ has: page.getByRole('cell', { name: tier, exact: true }) }).getByRole('cell').allInnerTexts();
    return cells.map((text) => text.trim());
  };
  expect((await shown('developer')).slice(1)).toEqual(['0', '500', (50_000).toLocaleString('en-US'), '50 GiB', '99 USD per month']);
  expect((await shown('custom')).slice(1, 3)).toEqual(['0', 'as agreed']);
  await page.getByLabel('Organization', { exact: true }).fill(id);
  await page.getByLabel('Tier', { exact: true }).selectOption('custom');
  const perMinute = page.getByRole('textbox', { name: 'Requests a minute' });
  await perMinute.fill('1234');
  await page.getByRole('textbox', { name: 'Bytes in the log' }).fill('10240');
  await page.getByRole('button', { name: 'Set it' }).click();
  await page.getByText('has the tier custom').waitFor();
  // The emptied form is whole again: no field of the other tier is left.
  expect(await perMinute.count()).toBe(0);
  // The table is counted again at once, and the organization's own limits are those it is compared with.
  await expect.poll(async () => (await shown('custom'))[1]).toBe('1');
  const nearest = page.getByRole('region', { name: 'Organizations nearest to a limit' });
  const row = nearest.getByRole('row').filter({ has: page.getByTitle(id) });
  await row.getByText('custom').waitFor();
  await row.getByText('10 KiB').waitFor();
  // The course since the page was opened, and who has used how much of a limit.
  await page.getByRole('img', { name: /^In flight: from 0 to/ }).waitFor();
  await page.getByRole('img', { name: /^Batches not anchored: from/ }).waitFor();
  await page.getByRole('img', { name: /^Used of the nearest limit: \d+ values/ }).waitFor();
  await page.getByRole('meter', { name: 'Signed requests in flight' }).waitFor();
  const segments = page.getByRole('region', { name: 'How the log is kept' }).getByRole('row');
  expect(await segments.count()).toBe(4);
  await segments.filter({ hasText: 'archived' }).waitFor();
  const { tier, limits } = await client.getOwnOrganization();
  expect([tier, limits.requests_per_minute, limits.requests_per_day]).toEqual(['custom', 1234, null]);
  for (const [name, viewport, colorScheme] of [
    ['operator', DESK, 'dark'],
    ['operator-light', DESK, 'light'],
    ['operator-phone', PHONE, 'light'],
    ['operator-phone-dark', PHONE, 'dark'],
  ] as const) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    expect(await seriousFindings(page), name).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), `${name} is not wider than the screen`).toBeLessThanOrEqual(0);
    if (process.env['CONSOLE_SHOTS']) await page.screenshot({ path: `${process.env['CONSOLE_SHOTS']}/${name}.png`, fullPage: true });
  }
  expect(await page.evaluate(() => [localStorage.length, sessionStorage.length])).toEqual([0, 0]);
  expect(faults).toEqual([]);
  await context.close();
});
