// The mark of objects and templates that says as of which checkpoint they are proven, and state proofs that are checked.

import { readFileSync } from 'node:fs';
import { JsonText, type KedgeClient, type Schemas, writeJson } from '@kedge/sdk';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { anchorNow, rpcOf } from './chain';
import { type Watched, go, logIn, open, person, stage } from './harness';

const on = stage();
/** A loaded machine makes fewer checkpoints than one a second. */
const WAIT = { wait: 60 };

const mark = (page: Page, standing: string) => page.locator(`.proof[data-standing=${standing}]`);

/** The standing of each step of the check that is shown. */
const standings = (page: Page): Promise<Record<string, string>> =>
  page.$$eval('.steps [data-step]', (lines) => Object.fromEntries(lines.map((line) => [line.getAttribute('data-step'), line.getAttribute('data-standing')])));

async function drop(page: Page, name: string, text: string): Promise<void> {
  await page.locator('input[name=file]').setInputFiles({ name, mimeType: 'application/json', buffer: Buffer.from(text) });
}

/** What a click saves. */
async function saved(page: Page, button: string): Promise<string> {
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: button }).click()]);
  return readFileSync(await download.path(), 'utf8');
}

interface Begun extends Watched {
  readonly client: KedgeClient;
  readonly template: string;
  readonly object: Schemas['ChangedObjectView'];
}

/** A page with a login that owns an object, which a checkpoint covers. */
async function begun(): Promise<Begun> {
  const { client, email, key } = await person(on);
  const { id: template } = await client.createTemplate({ name: 'proven', properties: { gate: 'D' }, max_supply: '5' });
  const object = await client.mintObject({ template_id: template, properties: { seat: 1 } });
  await client.getCheckpoint({ at_least: object.sequence, ...WAIT });
  const watched = await open(on);
  await logIn(watched.page, { email, key });
  return { ...watched, client, template, object };
}

test('an object and its template are marked as proven, and the proof is offered', async () => {
  const { page, context, faults, outside, object, template } = await begun();
  await go(page, `/objects/${object.id}`, 'Object');
  await mark(page, 'proven').waitFor();
  expect(await mark(page, 'proven').textContent()).toMatch(/^✓ Proven as of the checkpoint over \d+ batches: sequence \d+, .*, (not anchored yet|anchored, the server says)\.$/);
  await page.getByText('Check it without this page').click();
  await page.getByText(`kedge verify state state-${object.id}.json --rpc RPC --contract 0x`).waitFor();
  const file = JSON.parse(await saved(page, 'Save the state proof')) as Schemas['StateProof'];
  expect([file.key, file.present, file.texts.properties]).toEqual([object.id, true, '{"gate":"D","seat":1}']);
  await page.getByRole('button', { name: 'Check it step by step' }).click();
  await page.getByText('It holds.').waitFor();
  await page.getByText(`${object.id} was active at version 1, number 1 of its template, and owned by 0x`).waitFor();
  await go(page, `/templates/${template}`, 'Template');
  await mark(page, 'proven').waitFor();
  expect(faults).toEqual([]);
  expect(outside).toEqual([]);
  await context.close();
});

test('a change is not marked as proven before a checkpoint covers it', async () => {
  const { page, context, faults, client, object, template } = await begun();
  const old = writeJson((await client.objects.stateProof(object.id)).answer);
  await client.updateObject(object.id, { properties: { seat: 2 } });
  await client.submitAction({ action_type: 'lock', object_id: object.id });
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route(/\/state-proof/, async (route) => {
    if (!route.request().url().includes('min_sequence')) return route.fulfill({ contentType: 'application/json', body: old });
    await released;
    return route.continue();
  });
  await go(page, `/objects/${object.id}`, 'Object');
  await mark(page, 'behind').waitFor();
  expect(await mark(page, 'behind').textContent()).toMatch(/Version 1 is proven as of the checkpoint.* 2 changes after it are not proven yet \(see the history\)\.The page waits/);
  await page.getByRole('button', { name: 'see the history' }).click();
  release();
  await mark(page, 'proven').waitFor({ timeout: 60_000 });

  // A mint changes the counts of a template, which has no other version then.
  const counts = writeJson((await client.templates.stateProof(template)).answer);
  const next = await client.mintObject({ template_id: template });
  await page.unroute(/\/state-proof/);
  await page.route(/\/state-proof/, (route) => (route.request().url().includes('min_sequence') ? route.continue() : route.fulfill({ contentType: 'application/json', body: counts })));
  await page.route(new RegExp(`/templates/${template}/state-proof.*min_sequence`), (route) => route.abort());
  await go(page, `/templates/${template}`, 'Template');
  await mark(page, 'behind').getByText('What was minted, burned or added after it is not proven yet').waitFor();
  await page.unrouteAll();
  await client.getCheckpoint({ at_least: next.sequence, ...WAIT });
  await page.getByRole('button', { name: 'Look again' }).click();
  await mark(page, 'proven').waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

test('where there is no proof, the page says why, and does not raise an alarm', async () => {
  const { page, context, object } = await begun();
  for (const [status, code] of [[409, 'SEQUENCE_NOT_REACHED'], [503, 'ARCHIVE_UNAVAILABLE']] as const) {
    await page.route(/\/state-proof/, (route) => route.fulfill({ status, json: { code, status, body: { message: `a reason of ${status}`, request_id: 'x' } } }));
    await go(page, '/objects', 'Objects');
    await go(page, `/objects/${object.id}`, 'Object');
    await mark(page, 'open').getByText('Not proven yet:').waitFor();
    await mark(page, 'open').getByText(`a reason of ${status}`).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await page.unrouteAll();
  }
  await page.getByRole('button', { name: 'Look again' }).click();
  await mark(page, 'proven').waitFor();
  await context.close();
});

test('a server that shows other than it proves is caught, and its answer is kept', async () => {
  const { page, context, client, object } = await begun();
  const priced = await client.updateObject(object.id, { properties: { price: new JsonText('12.50') } as never });
  await client.getCheckpoint({ at_least: priced.sequence, ...WAIT });
  await page.route(new RegExp(`/objects/${object.id}$`), async (route) => {
    const answer = await route.fetch();
    const body = (await answer.text()).replace('"status":"active"', '"status":"locked"');
    await route.fulfill({ response: answer, body });
  });
  await go(page, `/objects/${object.id}`, 'Object');
  await mark(page, 'bad').getByText(`status of ${object.id} differs from the proven entry`).waitFor();
  const kept = await saved(page, 'Save the answer');
  // Evidence has the numbers as the server spelled them.
  expect(kept).toContain('"price":12.50');
  await go(page, '/check', 'Check it yourself');
  await drop(page, 'refused.json', kept);
  await page.getByText('It does not hold.').waitFor();
  expect((await standings(page))['shown']).toBe('bad');
  await page.unrouteAll();

  await page.route(/\/state-proof/, async (route) => {
    const answer = await route.fetch();
    const proof = (await answer.json()) as Schemas['StateProof'];
    await route.fulfill({ response: answer, json: { ...proof, texts: { properties: '{"seat":7}' } } });
  });
  await go(page, `/objects/${object.id}`, 'Object');
  await mark(page, 'bad').getByText('texts.properties').waitFor();
  expect(JSON.parse(await saved(page, 'Save the answer'))).toMatchObject({ id: object.id, state_proof: { texts: { properties: '{"seat":7}' } } });
  await context.close();
});

test('a state proof and an answer with one are checked, and a bent one is red', async () => {
  const { page, context, faults, outside, client, object, template } = await begun();
  const { answer } = await client.objects.stateProof(object.id);
  const good = { form: 'good', checkpoint: 'good', anchor: 'good', nodes: 'good', entry: 'good', texts: 'good' };
  await go(page, '/check', 'Check it yourself');
  await drop(page, 'state.json', writeJson(answer));
  await page.getByText('It holds.').waitFor();
  expect(await standings(page)).toMatchObject(good);
  const bent = (text: string): string => `${text.slice(0, -1)}${text.endsWith('0') ? '1' : '0'}`;
  const wrong: [step: string, file: Schemas['StateProof']][] = [
    ['nodes', { ...answer, nodes: [...answer.nodes.slice(0, -1), bent(answer.nodes.at(-1) as string)] }],
    ['nodes', { ...answer, entry: bent(answer.entry) }],
    ['texts', { ...answer, texts: { properties: '{}' } }],
    ['checkpoint', { ...answer, checkpoint: { ...answer.checkpoint, signature: bent(answer.checkpoint.signature.slice(0, -4)) + answer.checkpoint.signature.slice(-4) } }],
  ];
  for (const [step, file] of wrong) {
    await drop(page, `bent ${step}.json`, writeJson(file));
    await page.getByRole('heading', { name: `bent ${step}.json` }).waitFor();
    await page.getByText('It does not hold.').waitFor();
    expect([step, (await standings(page))[step]]).toEqual([step, 'bad']);
    await drop(page, 'state.json', writeJson(answer));
    await page.getByText('It holds.').waitFor();
  }

  const item = await client.getTemplate(template, { prove: true });
  await drop(page, 'answer.json', writeJson(item));
  await page.getByText(`${template} was at version 1, with 1 minted of at most 5, and 0 burned.`).waitFor();
  expect(await standings(page)).toMatchObject({ ...good, shown: 'good' });
  await drop(page, 'changed.json', writeJson({ ...item, max_supply: '6' }));
  await page.getByText('max_supply of').first().waitFor();
  expect((await standings(page))['shown']).toBe('bad');

  const absent = await client.state.proof(`obj_${'0'.repeat(26)}`);
  await drop(page, 'absent.json', writeJson(absent.answer));
  await page.getByText('the log had made nothing under obj_').first().waitFor();
  expect(faults).toEqual([]);
  expect(outside).toEqual([]);
  await context.close();
});

test('the contract verifies a state proof of an anchored checkpoint', async () => {
  const { page, context, faults, client, object } = await begun();
  await anchorNow(on.server.socketPath);
  const isAnchored = async (): Promise<boolean> => (await client.objects.stateProof(object.id)).anchored;
  await expect.poll(isAnchored, { timeout: 60_000 }).toBe(true);
  await go(page, `/objects/${object.id}`, 'Object');
  await mark(page, 'proven').getByText('anchored, the server says').waitFor();
  await page.getByRole('button', { name: 'Check it step by step' }).click();
  await page.getByText('It holds.').waitFor();
  await page.getByLabel('RPC of an Ethereum node').fill(rpcOf(on.server.output()));
  await page.getByRole('button', { name: 'Ask the contract' }).click();
  await page.getByText('The contract verified the proof itself: it holds the checkpoint since block').waitFor();
  expect((await standings(page))['contract']).toBe('good');
  expect(faults).toEqual([]);
  await context.close();
});
