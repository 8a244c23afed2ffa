// A browser wallet: a provider after EIP-1193, which EIP-6963 announces, with a real key in it.

import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { expect, test } from 'vitest';
import { PASSWORD, type Watched, go, open, stage } from './harness';

const on = stage();

/** Puts a wallet into the page. Returns what it was asked to sign. */
async function install({ page, context }: Watched, { refuses = false } = {}): Promise<{ signed: { message: { actions: { kind: string }[] } }[] }> {
  const account = privateKeyToAccount(generatePrivateKey());
  const signed: { message: { actions: { kind: string }[] } }[] = [];
  await context.exposeFunction('askWallet', async (method: string, parameters: string[]) => {
    if (method === 'eth_requestAccounts' || method === 'eth_accounts') return [account.address];
    if (method === 'eth_chainId') return '0x7a69';
    if (method !== 'eth_signTypedData_v4') throw new Error(`the wallet has no ${method}`);
    const typed = JSON.parse(parameters[1] as string);
    if (refuses) throw new Error('User rejected the request.');
    signed.push(typed);
    return account.signTypedData(typed);
  });
  await context.addInitScript(() => {
    const { askWallet } = window as unknown as { askWallet: (method: string, parameters: unknown) => Promise<unknown> };
    const provider = { request: ({ method, params }: { method: string; params?: unknown }) => askWallet(method, params ?? []), on: () => {}, removeListener: () => {} };
    const detail = Object.freeze({ info: { uuid: '1', name: 'Test <b>wallet</b>', icon: 'data:,', rdns: 'test' }, provider });
    const announce = (): boolean => dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }));
    addEventListener('eip6963:requestProvider', announce);
  });
  await page.reload();
  return { signed };
}

async function registerWith({ page }: Watched, email: string): Promise<void> {
  await go(page, '/register', 'Register');
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.getByLabel('Browser wallet: Test <b>wallet</b>').check();
  await page.getByRole('button', { name: 'Register' }).click();
}

test('a browser wallet registers and signs, and sees the words of each action', async () => {
  const watched = await open(on);
  const { page } = watched;
  const { signed } = await install(watched);
  await registerWith(watched, 'wallet@example.com');
  await page.getByRole('button', { name: 'Log out' }).waitFor();
  await go(page, '/templates', 'Templates');
  await page.getByLabel('Name', { exact: true }).fill('by wallet');
  await page.getByRole('button', { name: 'Sign and make' }).click();
  await page.getByRole('heading', { level: 1, name: 'Template', exact: true }).waitFor();
  expect(signed.map(({ message }) => message.actions.map(({ kind }) => kind))).toEqual([['wallet.register'], ['template.create']]);
  await go(page, '/wallet', 'Your wallet');
  await page.getByText('The browser wallet').waitFor();
  expect(watched.faults).toEqual([]);
  expect(watched.outside).toEqual([]);
  await watched.context.close();
});

test('what the wallet’s owner refuses is not sent', async () => {
  const watched = await open(on);
  await install(watched, { refuses: true });
  await registerWith(watched, 'unwilling@example.com');
  await watched.page.getByRole('alert').getByText('User rejected the request').waitFor();
  expect(await watched.page.getByRole('button', { name: 'Log out' }).count()).toBe(0);
  await watched.context.close();
});
