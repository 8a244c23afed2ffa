// What forms and notices say: once, as long as it is true, and what the reader can do about it.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { KedgeClient, generateKey } from '@kedge/sdk';
import { PASSWORD, go, logIn, open, person, stage } from './harness';

const on = stage();

test('a login leads to where one wanted to go', async () => {
  const { client, email, key } = await person(on);
  const { id } = await client.createTemplate({ name: 'wanted' });
  const { page, context } = await open(on, `/templates/${id}`);
  await page.getByRole('main').getByRole('link', { name: 'Log in' }).click();
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.getByLabel('A key that I have').check();
  await page.getByLabel('Private key').fill(key);
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Template', exact: true }).waitFor();
  expect(page.url()).toContain(`#/templates/${id}`);
  // Another login begins at the overview.
  await page.getByRole('button', { name: 'Log out' }).click();
  await logIn(page, { email });
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await context.close();
});

test('the form asks for the password that the server asks for', async () => {
  const { components } = (await (await fetch(`${on.server.baseUrl}/openapi.json`)).json()) as {
    components: { schemas: { RegisterBody: { properties: { password: { minLength: number } } } } };
  };
  const least = components.schemas.RegisterBody.properties.password.minLength;
  const { page, context } = await open(on, '/register');
  const password = page.getByLabel('Password', { exact: true });
  expect(await password.getAttribute('minlength')).toBe(String(least));
  await page.getByText(`At least ${least} characters.`).waitFor();
  await page.getByLabel('E-mail').fill('short@example.com');
  await password.pressSequentially('x'.repeat(least - 1));
  expect(await password.evaluate((field: HTMLInputElement) => field.validity.tooShort)).toBe(true);
  await password.press('y');
  expect(await password.evaluate((field: HTMLInputElement) => field.validity.valid)).toBe(true);
  await context.close();
});

test('what is wrong with one field is said once, with the field’s name', async () => {
  const { email, key } = await person(on);
  const { page, context } = await open(on);
  await logIn(page, { email, key });
  await go(page, '/webhooks', 'Webhooks');
  await page.getByLabel('URL').fill('http://example.com/hook');
  await page.getByRole('button', { name: 'Sign and make' }).click();
  const text = (await page.getByRole('alert').textContent()) ?? '';
  expect(text).toMatch(/^VALIDATION_ERROR url /);
  expect(text).not.toContain('/url');
  expect(await page.getByRole('alert').getByRole('listitem').count()).toBe(0);
  await context.close();
});

test('an owner is not sent to an owner, and a member is', async () => {
  const { client, email, key } = await person(on);
  const owner = await open(on);
  await logIn(owner.page, { email, key });
  await go(owner.page, '/disputes', 'Disputes');
  // A claim that is bound to another wallet’s key.
  const vectors = readFileSync(new URL('../../../crates/protocol/vectors/files.json', import.meta.url), 'utf8');
  const line = vectors.split('\n').find((text) => text.includes('"kind":"claim","valid":true')) ?? '';
  const { file } = JSON.parse(line.replace(/,$/, '')) as { file: object };
  await owner.page.getByLabel('Evidence or claim').fill(JSON.stringify(file));
  await owner.page.getByRole('button', { name: 'Bring it' }).click();
  await owner.page.getByText('is not a key of your wallet').waitFor();
  expect(await owner.page.getByRole('alert').textContent()).not.toMatch(/role|owner/);
  await owner.context.close();

  const { code, organization_id } = await client.inviteMember({ role: 'member' });
  const memberKey = generateKey();
  const member = new KedgeClient({ baseUrl: on.server.baseUrl, signer: memberKey });
  const memberEmail = `member.${email}`;
  await member.registerWallet({ email: memberEmail, password: PASSWORD, organization_id, invitation: code as string });
  const guest = await open(on);
  await logIn(guest.page, { email: memberEmail, key: memberKey });
  await go(guest.page, '/webhooks', 'Webhooks');
  await guest.page.getByLabel('URL').fill('https://example.com/hook');
  await guest.page.getByRole('button', { name: 'Sign and make' }).click();
  await guest.page.getByText('Your role is member. If that is the reason, an owner').waitFor();
  await guest.context.close();
});

test('a notice goes when its form is used again, and an invitation’s code when it is revoked', async () => {
  const { email, key } = await person(on);
  const { page, context } = await open(on);
  await logIn(page, { email, key });
  await go(page, '/wallet', 'Your wallet');
  await page.getByLabel('Name to show').fill('first');
  await page.getByRole('button', { name: 'Sign and change' }).click();
  await page.getByText('Changed.').waitFor();
  await page.getByLabel('Name to show').pressSequentially('s');
  await expect.poll(() => page.getByText('Changed.').count()).toBe(0);

  await go(page, '/members', 'Members');
  await page.getByRole('button', { name: 'Sign and invite' }).click();
  const code = page.getByLabel('The invitation code', { exact: true });
  await code.waitFor();
  await page.getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('group', { name: 'Revoke it?' }).getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('Done.').waitFor();
  await expect.poll(() => code.count()).toBe(0);

  await go(page, '/keys', 'API keys');
  await page.getByLabel('Name', { exact: true }).fill('robot');
  await page.getByLabel('objects: read').check();
  await page.getByRole('button', { name: 'Sign and make' }).click();
  const secret = page.getByLabel('The key', { exact: true });
  await secret.waitFor();
  await page.getByRole('button', { name: 'Rotate' }).click();
  await page.getByText('The key has a new secret.').waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('group', { name: 'Delete this key?' }).getByRole('button', { name: 'Delete' }).click();
  await page.getByText('The key is deleted.').waitFor();
  expect([await page.getByText('The key has a new secret.').count(), await secret.count()]).toEqual([0, 0]);
  await context.close();
});

test('a file that shows no fault is not brought: the page says what it is, and checks it', async () => {
  const { client, email, key } = await person(on);
  const template = await client.createTemplate({ name: 'no fault' });
  const { receipt } = await client.mintObject({ template_id: template.id });
  const { page, context, faults } = await open(on);
  await logIn(page, { email, key });
  await go(page, '/disputes', 'Disputes');
  const brought: string[] = [];
  page.on('request', (request) => {
    if (request.method() === 'POST' && new URL(request.url()).pathname === '/disputes') brought.push(request.url());
  });
  const choose = (name: string, text: string): Promise<void> => page.locator('input[name=file]').setInputFiles({ name, mimeType: 'application/json', buffer: Buffer.from(text) });
  await choose('note.json', '{"format":"other"}');
  await page.getByText('This is neither evidence (format kedge.evidence) nor a claim').waitFor();
  await page.getByRole('button', { name: 'Bring it' }).click();
  await page.getByRole('alert').filter({ hasText: 'neither evidence' }).waitFor();
  await choose('large.json', `"${'x'.repeat(4 * 1024 * 1024)}"`);
  await page.getByText('large.json has more than 4 MiB').waitFor();
  await choose('receipt.json', JSON.stringify(receipt));
  await page.getByText('This is a receipt, which shows no fault by itself.').waitFor();
  await page.getByRole('button', { name: 'Check it' }).click();
  await page.getByRole('heading', { level: 1, name: 'Check it yourself' }).waitFor();
  await page.getByText('It holds.').waitFor();
  expect(brought).toEqual([]);
  expect(faults).toEqual([]);
  await context.close();
});
