// The story of one user, from registering to a receipt that they check themselves.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { PASSWORD, type Watched, go, logIn, open, person, stage } from './harness';

const on = stage();

/** The standing of each step of the check that is shown. */
const standings = ({ page }: Watched): Promise<Record<string, string>> =>
  page.$$eval('.steps [data-step]', (lines) => Object.fromEntries(lines.map((line) => [line.getAttribute('data-step'), line.getAttribute('data-standing')])));

async function drop({ page }: Watched, name: string, text: string): Promise<void> {
  await page.locator('input[name=file]').setInputFiles({ name, mimeType: 'application/json', buffer: Buffer.from(text) });
}

test('register, define, mint, change, watch and check', async () => {
  const watched = await open(on, '/register');
  const { page } = watched;
  await page.getByLabel('E-mail').fill('story@example.com');
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Show' }).click();
  expect(await page.getByLabel('Your new key').textContent()).toMatch(/^0x[0-9a-f]{64}$/);
  await page.getByLabel('I have saved the key').check();
  await page.getByRole('button', { name: 'Register' }).click();
  await page.getByRole('button', { name: 'Log out' }).waitFor();

  await go(page, '/templates', 'Templates');
  await page.getByLabel('Name', { exact: true }).fill('ticket');
  await page.getByLabel('Default properties').fill('{ "gate": "D" }');
  await page.getByRole('button', { name: 'Sign and make' }).click();
  await page.getByRole('heading', { level: 1, name: 'Template', exact: true }).waitFor();
  await page.getByText('The template has no rules of its own: owners and admins of the organization mint').waitFor();
  await page.getByLabel('Properties (optional)').fill('{ "seat": 12, "serial": 9007199254740993 }');
  await page.getByRole('button', { name: 'Sign and mint' }).click();
  await page.getByRole('heading', { level: 1, name: 'Object', exact: true }).waitFor();
  const object = page.url().split('/').at(-1) as string;
  const timeline = page.getByRole('list', { name: 'History' }).getByRole('listitem');
  await expect.poll(() => timeline.allTextContents()).toHaveLength(1);

  await page.getByLabel('Payload', { exact: true }).fill('{ "seat": 13 }');
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByRole('region', { name: 'What would happen' }).getByRole('row', { name: 'seat 12 13' }).waitFor();
  await page.getByRole('button', { name: 'Sign and send' }).click();
  await page.getByText('The receipt was checked.').waitFor();
  await expect.poll(async () => (await timeline.allTextContents()).map((text) => /^(mint|update)/.exec(text)?.[0])).toEqual(['update', 'mint']);
  // What is chosen is what is sent, also after the form was emptied.
  for (const [kind, changes] of [['Lock', 3], ['Unlock', 4]] as const) {
    await page.getByRole('radio', { name: kind, exact: true }).check();
    await page.getByRole('button', { name: 'Sign and send' }).click();
    await expect.poll(async () => (await timeline.allTextContents()).length).toBe(changes);
  }
  await expect.poll(() => page.getByRole('radio', { name: 'Update' }).isChecked()).toBe(true);
  expect(await page.getByLabel('Payload', { exact: true }).inputValue()).toBe('');
  // No number is rounded on its way through the page.
  await page.getByRole('region', { name: 'Properties', exact: true }).getByText('9007199254740993').waitFor();

  await go(page, '/objects', 'Objects');
  await page.getByRole('link', { name: object.slice(0, 12) }).waitFor();
  await page.getByLabel('Property').fill('seat');
  await page.getByLabel('Value').fill('12');
  await page.getByRole('button', { name: 'Find' }).click();
  await page.getByText('No object matches.').waitFor();
  await page.getByLabel('Value').fill('13');
  await page.getByRole('button', { name: 'Find' }).click();
  await page.getByRole('link', { name: object.slice(0, 12) }).waitFor();
  expect(watched.faults).toEqual([]);
  expect(watched.outside).toEqual([]);
  await watched.context.close();
});

test('an event of another program arrives while the page is open', async () => {
  const { client, email, key } = await person(on);
  const watched = await open(on);
  const { page } = watched;
  await logIn(page, { email, key });
  await go(page, '/events', 'Live events');
  const log = page.getByRole('log', { name: 'Events' });
  await log.getByText('wallet.registered').waitFor();
  const template = await client.createTemplate({ name: 'live' });
  await log.getByText('template.created').waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  await client.mintObject({ template_id: template.id });
  await page.getByRole('button', { name: 'Continue' }).click();
  await log.getByText('object.created').waitFor();
  // What happened during the pause is not lost, and nothing is there twice.
  expect(await log.getByText('template.created').count()).toBe(1);
  expect(watched.faults).toEqual([]);
  await watched.context.close();
});

// Holds invariant 172.
test('a dropped receipt is green, and with one changed byte red at the step that fails', async () => {
  const { client } = await person(on);
  const template = await client.createTemplate({ name: 'checked' });
  const { receipt } = await client.mintObject({ template_id: template.id, properties: { seat: 1 } });
  const good = JSON.stringify(receipt);
  // The page needs no login.
  const watched = await open(on, '/check');
  const { page } = watched;
  await drop(watched, 'receipt.json', good);
  await page.getByText('It holds.').waitFor();
  expect(await standings(watched)).toEqual({ form: 'good', words: 'open', log: 'good', leaf: 'good', path: 'good', header: 'good' });

  await page.getByText('What only you know').click();
  await page.getByLabel('Contents of your actions').fill(receipt.leaf.content);
  await drop(watched, 'receipt.json', good);
  await expect.poll(async () => (await standings(watched))['words']).toBe('good');
  await page.getByLabel('Contents of your actions').fill(`0x${'0'.repeat(64)}`);
  await drop(watched, 'receipt.json', good);
  await page.getByText('the receipt is for another action').first().waitFor();
  expect((await standings(watched))['words']).toBe('bad');
  await page.getByLabel('Contents of your actions').fill('');

  const turned = (hash: string): string => `${hash.slice(0, -1)}${hash.endsWith('0') ? '1' : '0'}`;
  const { root } = receipt.batch.header;
  await drop(watched, 'another root.json', good.replace(root, turned(root)));
  await page.getByText('the proof leads to another root').first().waitFor();
  expect(await standings(watched)).toEqual({ form: 'good', words: 'open', log: 'good', leaf: 'good', path: 'bad', header: 'waiting' });
  const { signature } = receipt.batch;
  await drop(watched, 'another signature.json', good.replace(signature, `${signature.slice(0, 20)}${signature[20] === '0' ? '1' : '0'}${signature.slice(21)}`));
  await page.getByText('It does not hold.').waitFor();
  await expect.poll(async () => (await standings(watched))['header']).toBe('bad');
  expect(watched.faults).toEqual([]);
  expect(watched.outside).toEqual([]);
  await watched.context.close();
});

// Holds invariant 172.
test('a proof file is walked to the contract, through an RPC of the user’s choice', async () => {
  const { client, email, key } = await person(on);
  const { action_id: id } = await client.createTemplate({ name: 'anchored' });
  const { anchorNow, rpcOf } = await import('./chain');
  await anchorNow(on.server.socketPath);
  await client.createTemplate({ name: 'anchored after that' });
  await anchorNow(on.server.socketPath);
  const rpc = rpcOf(on.server.output());
  await expect.poll(async () => (await client.getActionProof(id)).anchor !== null, { timeout: 60_000 }).toBe(true);
  const watched = await open(on);
  const { page } = watched;
  await logIn(page, { email, key });
  await go(page, `/actions/${id}`, 'Action');
  await page.getByRole('button', { name: 'Check it here' }).click();
  await page.getByText('It holds.').waitFor();
  const steps = { form: 'good', words: 'good', log: 'good', leaf: 'good', path: 'good', header: 'good', history: 'good', authorship: 'good', contract: 'open' };
  expect(await standings(watched)).toEqual(steps);
  expect(watched.outside).toEqual([]);
  await page.getByLabel('RPC of an Ethereum node').fill(rpc);
  await page.getByRole('button', { name: 'Ask the contract' }).click();
  await page.getByText('The contract holds this history since block').waitFor();
  expect((await standings(watched))['contract']).toBe('good');
  expect(new Set(watched.outside.map((url) => new URL(url).origin))).toEqual(new Set([new URL(rpc).origin]));

  // The chain, walked by keyboard.
  await go(page, '/batches', 'Batches');
  await page.getByText('follows batch').first().waitFor();
  await go(page, '/batches/0', 'Batch 0');
  await page.getByText('Its leaves lead to its root.').waitFor();
  await page.getByText('The sequencer’s key signed its header.').waitFor();
  await page.keyboard.press('ArrowRight');
  await page.getByRole('heading', { level: 1, name: 'Batch 1' }).waitFor();
  await page.getByText('It begins where the batch before it ends.').waitFor();
  expect(await page.locator('.verdict.bad').count()).toBe(0);
  await go(page, '/anchors', 'Anchors');
  await page.getByText('follows anchor 0').waitFor();
  await page.getByRole('link', { name: 'Anchor 1' }).click();
  await page.getByText('Its history extends that of anchor 0.').waitFor();
  await page.getByText('The sequencer’s key signed its checkpoint.').waitFor();
  expect(await page.locator('.verdict.bad').count()).toBe(0);
  expect(watched.faults).toEqual([]);
  await watched.context.close();
});

// Holds invariant 172.
test('an export of the whole log is green, and with one changed leaf red', async () => {
  const { client } = await person(on);
  const template = await client.createTemplate({ name: 'exported' });
  const { sequence } = await client.mintObject({ template_id: template.id });
  // An export ends at the newest checkpoint.
  const { checkpoint } = await client.getCheckpoint({ at_least: sequence, wait: 60 });
  let text = '';
  for await (const piece of client.exportLog()) text += piece;
  const watched = await open(on, '/check');
  const { page } = watched;
  await drop(watched, 'log.ndjson', text);
  await page.getByText('It holds.').waitFor();
  await page.getByText(/The whole log holds: \d+ batches and \d+ actions/).waitFor();
  expect(await page.locator('main').textContent()).toContain(`${checkpoint.sequence} actions`);
  const [leaf = ''] = /"leaves":\["0x[0-9a-f]{64}/.exec(text) ?? [];
  expect(leaf).not.toBe('');
  await drop(watched, 'another leaf.ndjson', text.replace(leaf, `${leaf.slice(0, -1)}${leaf.endsWith('0') ? '1' : '0'}`));
  await page.getByText('It does not hold.').waitFor();
  expect(watched.faults).toEqual([]);
  expect(watched.outside).toEqual([]);
  await watched.context.close();
});

// Holds invariant 172.
test('a server that lies about a batch is caught by the page', async () => {
  const { client } = await person(on);
  await client.createTemplate({ name: 'in a batch' });
  const watched = await open(on, '/');
  const { page } = watched;
  const turned = (hash: string): string => `${hash.slice(0, -1)}${hash.endsWith('0') ? '1' : '0'}`;
  await page.route(/\/batches\/1$/, async (route) => {
    const answer = await route.fetch();
    const batch = (await answer.json()) as { merkle_root: string };
    await route.fulfill({ response: answer, json: { ...batch, merkle_root: turned(batch.merkle_root) } });
  });
  await go(page, '/batches/1', 'Batch 1');
  await page.getByText('Its leaves lead to another root.').waitFor();
  await page.getByText(/The sequencer’s key did not sign its header/).waitFor();
  expect(await page.locator('.verdict.bad').count()).toBe(2);
  await watched.context.close();
});

// Holds invariant 172.
test('a claim is checked with a key, and refused when a word of it is changed', async () => {
  const vectors = readFileSync(new URL('../../../crates/protocol/vectors/files.json', import.meta.url), 'utf8');
  const { domain, sequencer } = JSON.parse(`${(vectors.split('\n')[0] ?? '').replace(/,$/, '')}}`);
  const line = vectors.split('\n').find((text) => text.includes('"kind":"claim","valid":true')) ?? '';
  const { file } = JSON.parse(line.replace(/,$/, '')) as { file: { disclosed: { kind?: { text?: string } } } };
  const watched = await open(on, '/check');
  const { page } = watched;
  await page.getByText('What the check trusts').click();
  await page.getByLabel('Chain id').fill(String(domain.chain_id));
  await page.getByLabel('First contract of the log').fill(domain.verifying_contract);
  await page.getByLabel('Sequencer').fill(sequencer);
  await page.getByRole('button', { name: 'Trust this' }).click();
  await page.getByText('Files are now checked against this.').waitFor();
  await drop(watched, 'claim.json', JSON.stringify(file));
  await page.getByText('It holds.').waitFor();
  expect((await standings(watched))['proof']).toBe('good');
  await page.getByText('with which anybody can forge claims').waitFor();
  await drop(watched, 'claim.json', JSON.stringify(file).replace(/"a":\["0x(.)/, (_, digit) => `"a":["0x${digit === '0' ? '1' : '0'}`));
  await page.getByText('It does not hold.').waitFor();
  expect(watched.faults).toEqual([]);
  await watched.context.close();
});
