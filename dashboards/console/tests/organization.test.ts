// What an organization manages: keys, members, webhooks with deliveries, usage, disputes.

import { execFileSync } from 'node:child_process';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KedgeClient, verifyWebhook, writeJson } from '@kedge/sdk';
import { expect, test } from 'vitest';
import { anchorNow } from './chain';
import { PASSWORD, type Watched, go, logIn, open, person, stage } from './harness';

const on = stage({ KEDGE_WEBHOOK_ALLOWED_NETWORKS: '["127.0.0.0/8"]' });

async function opened(): Promise<Watched & { client: KedgeClient }> {
  const { client, email, key } = await person(on);
  const watched = await open(on);
  await logIn(watched.page, { email, key });
  return { ...watched, client };
}

test('an API key is made with narrow rights, shown once, rotated and deleted', async () => {
  const { page, context, faults } = await opened();
  await go(page, '/keys', 'API keys');
  await page.getByLabel('Name', { exact: true }).fill('robot');
  await page.getByRole('button', { name: 'Sign and make' }).click();
  await page.getByText('Grant at least one right.').waitFor();
  await page.getByLabel('objects: read').check();
  await page.getByRole('button', { name: 'Sign and make' }).click();
  const secret = page.getByLabel('The key', { exact: true });
  const key = (await secret.textContent()) ?? '';
  const status = (path: string, shown: string): Promise<number> =>
    fetch(`${on.server.baseUrl}${path}`, { headers: { 'x-api-key': shown } }).then((answer) => answer.status);
  expect([await status('/objects', key), await status('/webhooks', key), await status('/objects', `${key}x`)]).toEqual([200, 403, 401]);
  await page.getByRole('region', { name: 'API keys' }).getByText('objects: read').waitFor();

  await page.getByRole('button', { name: 'Rotate' }).click();
  await expect.poll(() => secret.textContent()).not.toBe(key);
  expect(await status('/objects', (await secret.textContent()) ?? '')).toBe(200);
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('group', { name: 'Delete this key?' }).getByRole('button', { name: 'Delete' }).click();
  await page.getByText('The key is deleted.').waitFor();
  expect(await status('/objects', key)).toBe(401);
  await page.getByText('There are no API keys yet.').waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

test('an invited member joins, changes role and is removed', async () => {
  const { page, context, faults } = await opened();
  await go(page, '/members', 'Members');
  await page.getByLabel('Role', { exact: true }).selectOption('admin');
  await page.getByRole('button', { name: 'Sign and invite' }).click();
  const code = (await page.getByLabel('The invitation code', { exact: true }).textContent()) ?? '';
  await page.getByRole('button', { name: 'Copy the organization’s id' }).waitFor();
  const organization = /org_[0-9a-z]{26}/.exec((await page.locator('main').textContent()) ?? '')?.[0] ?? '';

  const guest = await open(on, '/register');
  await guest.page.getByLabel('E-mail').fill('guest@example.com');
  await guest.page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await guest.page.getByLabel('I have an invitation').check();
  await guest.page.getByLabel('Organization', { exact: true }).fill(organization);
  await guest.page.getByLabel('Invitation code').fill(code);
  await guest.page.getByLabel('I have saved the key').check();
  await guest.page.getByRole('button', { name: 'Register' }).click();
  await guest.page.getByRole('button', { name: 'Log out' }).waitFor();
  await go(guest.page, '/members', 'Members');
  await guest.page.getByRole('cell', { name: 'guest@example.com' }).waitFor();

  await go(page, '/', 'Overview');
  await go(page, '/members', 'Members');
  const role = page.getByLabel('Role of guest@example.com');
  expect(await role.inputValue()).toBe('admin');
  await role.selectOption('member');
  await page.getByText('Done.').waitFor();
  await expect.poll(() => role.inputValue()).toBe('member');
  await page.getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('group', { name: 'Remove this member?' }).getByRole('button', { name: 'Remove' }).click();
  await expect.poll(() => role.count()).toBe(0);
  // The guest is out at once, and sees that.
  await go(guest.page, '/objects', 'Objects');
  await guest.page.getByRole('alert').waitFor();
  expect(faults).toEqual([]);
  await context.close();
  await guest.context.close();
});

test('a webhook is made, tested and switched off, and its deliveries are shown', async () => {
  const bodies: { body: string; headers: Headers }[] = [];
  let answer = 500;
  const receiver = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    bodies.push({ body: Buffer.concat(pieces).toString(), headers: new Headers(request.headers as Record<string, string>) });
    response.writeHead(answer).end();
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const { page, context, client, faults } = await opened();
  await go(page, '/webhooks', 'Webhooks');
  await page.getByLabel('URL').fill(`http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`);
  await page.getByLabel('template.created').check();
  await page.getByRole('button', { name: 'Sign and make' }).click();
  const secret = (await page.getByLabel('The signing secret', { exact: true }).textContent()) ?? '';
  await page.getByRole('link', { name: /^whk_/ }).click();
  await page.getByRole('heading', { level: 1, name: 'Webhook', exact: true }).waitFor();
  await client.createTemplate({ name: 'delivered' });
  await expect.poll(() => bodies.length).toBeGreaterThan(0);
  const [{ body, headers } = { body: '', headers: new Headers() }] = bodies;
  expect(verifyWebhook(body, headers, [secret]).type).toBe('template.created');
  const row = page.getByRole('row', { name: /template\.created/ });
  await expect
    .poll(async () => {
      await page.getByRole('button', { name: 'Read again' }).click();
      return row.textContent();
    })
    .toMatch(/pending.*500/);
  answer = 200;
  await row.getByRole('button', { name: 'Send again' }).click();
  await expect
    .poll(async () => {
      await page.getByRole('button', { name: 'Read again' }).click();
      return row.first().textContent();
    })
    .toMatch(/delivered/);

  await page.getByRole('button', { name: 'Switch off' }).click();
  await page.getByRole('button', { name: 'Switch on' }).waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('group', { name: 'Delete this webhook?' }).getByRole('button', { name: 'Delete' }).click();
  await page.getByText('There are no webhooks yet.').waitFor();
  expect(faults).toEqual([]);
  await context.close();
  receiver.close();
});

test('a test of a webhook says whether it arrived, with the answer and how long it took', async () => {
  let answer = 204;
  const receiver = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(answer).end());
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const { page, context, client, faults } = await opened();
  const webhook = await client.createWebhook({ url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`, events: ['template.created'] });
  await go(page, `/webhooks/${webhook.id}`, 'Webhook');
  const send = page.getByRole('button', { name: 'Send a test' });
  await send.click();
  await page.getByText('The test message arrived.').waitFor();
  expect(await page.getByRole('status').filter({ hasText: 'arrived' }).textContent()).toMatch(/204.* after \d+ (ms|s|min)\./);
  answer = 500;
  await send.click();
  await page.getByText('The test message did not arrive.').waitFor();
  expect(await page.getByRole('alert').textContent()).toMatch(/500/);
  expect(await page.getByText('The test message arrived.').count()).toBe(0);
  // A delivery shows its answer, and how long after it was queued the last attempt began.
  answer = 200;
  await client.createTemplate({ name: 'delivered soon' });
  const row = page.getByRole('row', { name: /template\.created/ });
  await expect
    .poll(async () => {
      await page.getByRole('button', { name: 'Read again' }).click();
      return row.first().textContent();
    })
    .toMatch(/delivered.*200.*\d+ (ms|s)/);
  expect(faults).toEqual([]);
  await context.close();
  receiver.close();
});

test('usage is shown against the limits', async () => {
  const { page, context, faults } = await opened();
  await go(page, '/usage', 'Usage');
  await page.getByRole('meter', { name: 'Bytes in the log' }).waitFor();
  await page.getByText(/ of 1 GiB$/).waitFor();
  await page.getByText(/At this rate it is reached/).waitFor();
  expect(await page.getByRole('meter').count()).toBeGreaterThan(3);
  expect(faults).toEqual([]);
  await context.close();
});

test('a dispute that shows no fault is refused with the reason', async () => {
  const { page, context, faults } = await opened();
  await go(page, '/disputes', 'Disputes');
  const verdicts = readFileSync(new URL('../../../crates/protocol/vectors/verdicts.json', import.meta.url), 'utf8');
  // Evidence about another log.
  const line = verdicts.split('\n').find((text) => text.includes('"kedge.evidence"')) ?? '';
  const file = JSON.stringify(JSON.parse(line.replace(/,$/, '')).file);
  await page.getByLabel('Evidence or claim').fill(file);
  await page.getByRole('button', { name: 'Bring it' }).click();
  await page.getByRole('alert').waitFor();
  expect(await page.getByRole('alert').textContent()).toMatch(/VALIDATION_ERROR|STATE_VIOLATION|domain|log/);
  expect(faults).toEqual([]);
  await context.close();
});

test('a claim that holds is brought, and its verdict is in the log', async () => {
  const { page, context, client, faults } = await opened();
  const { action_id: id } = await client.createTemplate({ name: 'claimed' });
  await anchorNow(on.server.socketPath);
  await expect.poll(async () => (await client.getActionProof(id)).anchor !== null, { timeout: 60_000 }).toBe(true);
  const folder = mkdtempSync(join(tmpdir(), 'kedge-claim-'));
  const proof = join(folder, 'proof.json');
  writeFileSync(proof, writeJson(await client.getActionProof(id)));
  const { domain } = await client.trust();
  const contract = String(domain.verifyingContract);
  // The server accepts a claim from the wallet that has the claimant's key alone.
  const { address } = await client.getOwnWallet();
  const options = ['--disclose', 'kind,payload', '--dev-insecure', '--claimant', address, '--resolver', contract, '--purpose', `0x${'07'.repeat(32)}`];
  const asked = ['prove', 'claim', proof, ...options, '--url', on.server.baseUrl];
  const claim = execFileSync(process.env['KEDGE_BIN'] ?? '', asked, { encoding: 'utf8' });
  rmSync(folder, { recursive: true });

  await go(page, '/disputes', 'Disputes');
  await page.locator('input[name=file]').setInputFiles({ name: 'claim.json', mimeType: 'application/json', buffer: Buffer.from(claim) });
  await expect.poll(() => page.getByLabel('Evidence or claim').inputValue()).toBe(claim);
  await page.getByRole('button', { name: 'Bring it' }).click();
  await page.getByRole('heading', { level: 1, name: 'Dispute', exact: true }).waitFor();
  const [dispute] = await client.listDisputes().take(1);
  expect(dispute?.kind).toBe('claim');
  await page.getByText(dispute?.id ?? 'no dispute').first().waitFor();
  await go(page, '/disputes', 'Disputes');
  await page.getByRole('link', { name: (dispute?.id ?? '').slice(0, 12) }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

test('a file is uploaded, listed, and saved only if it matches its digest', async () => {
  const { page, context, client, faults } = await opened();
  await go(page, '/files', 'Files');
  await page.getByText('There are no files yet.').waitFor();
  await page.getByRole('button', { name: 'Sign and upload' }).click();
  await page.getByText('Choose a file.').waitFor();
  const content = Buffer.from('%PDF-1.7\n<script>alert(1)</script>\u0000');
  await page.locator('input[name=file]').setInputFiles({ name: 'plan <b>.pdf', mimeType: 'application/pdf', buffer: content });
  await page.getByRole('button', { name: 'Sign and upload' }).click();
  await page.getByRole('heading', { level: 1, name: 'File', exact: true }).waitFor();
  await page.getByText('application/pdf').waitFor();
  const [stored] = await client.listFiles().take(1);
  expect([stored?.name, stored?.size_bytes]).toEqual(['plan <b>.pdf', content.length]);
  await page.getByText(stored?.sha256 ?? 'no digest').waitFor();

  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Check and save' }).click();
  await page.getByText('matches the digest in the log').waitFor();
  expect(readFileSync(await (await download).path())).toEqual(content);
  // A server that hands out something else is found out.
  await page.route('**/content', (route) => route.fulfill({ status: 200, body: 'another content' }));
  await page.getByRole('button', { name: 'Check and save' }).click();
  await page.getByText('does not match the digest in the log').waitFor();

  await go(page, '/files', 'Files');
  await page.getByRole('link', { name: 'plan <b>.pdf' }).click();
  await page.getByRole('heading', { level: 1, name: 'File', exact: true }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

test('without a key nothing can be changed, and the page says how to add one', async () => {
  const { email, key } = await person(on);
  const { page, context, faults } = await open(on);
  await logIn(page, { email });
  await page.getByText('reads only').waitFor();
  await go(page, '/templates', 'Templates');
  await page.getByRole('link', { name: 'add your key' }).click();
  await page.getByRole('heading', { level: 1, name: 'Your wallet' }).waitFor();
  await page.getByLabel('Private key').fill(`0x${'11'.repeat(32)}`);
  await page.getByRole('button', { name: 'Use it' }).click();
  await page.getByText('is not a key of this wallet').waitFor();
  await page.getByLabel('Private key').fill(key);
  await page.getByRole('button', { name: 'Use it' }).click();
  await page.getByText('A key in this page’s memory signs').waitFor();
  await go(page, '/templates', 'Templates');
  await page.getByLabel('Name', { exact: true }).fill('with the key');
  await page.getByRole('button', { name: 'Sign and make' }).click();
  await page.getByRole('heading', { level: 1, name: 'Template', exact: true }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});
