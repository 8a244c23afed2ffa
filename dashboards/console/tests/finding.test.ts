// The search, by keyboard alone: ids, numbers, hashes, addresses and names lead to their pages.

import { expect, test } from 'vitest';
import { known } from '../src/places';
import { DESK, PHONE, go, logIn, open, person, seriousFindings, stage } from './harness';

const on = stage();

test('an id of every kind leads to its page, or to the page that lists it', () => {
  const id = (prefix: string): string => `${prefix}_${'0123456789abcdefghjkmnpqrs'}`;
  const pathOf = (prefix: string): string | undefined => known(` ${id(prefix).toUpperCase()} `, [])[0]?.path;
  for (const [prefix, page] of [['obj', 'objects'], ['tpl', 'templates'], ['act', 'actions'], ['bat', 'batches'], ['anc', 'anchors'], ['fil', 'files'], ['whk', 'webhooks'], ['dsp', 'disputes']] as const) {
    expect(pathOf(prefix)).toBe(`/${page}/${id(prefix)}`);
  }
  for (const [prefix, path] of [['wal', '/members'], ['key', '/keys'], ['org', '/usage'], ['evt', '/events'], ['dlv', '/webhooks'], ['var', '/templates']] as const) expect(pathOf(prefix)).toBe(path);
  for (const nothing of ['', ' ', id('xyz'), 'obj_short', '../wallets']) expect(known(nothing, [])).toEqual([]);
  expect(known('usa', [{ path: '/usage', name: 'Usage' }])).toEqual([{ kind: 'Page', title: 'Usage', note: '', path: '/usage' }]);
});

test('a keyboard alone finds ids, numbers, hashes, addresses and names', async () => {
  const { client, email, key } = await person(on);
  const evil = 'ticket <img src=x onerror=alert(1)>';
  const template = await client.createTemplate({ name: evil });
  const object = await client.mintObject({ template_id: template.id, properties: { name: 'front row' } });
  const { page, context, faults, outside } = await open(on);
  await logIn(page, { email, key });
  const box = page.getByRole('combobox', { name: 'Search' });
  const options = page.getByRole('listbox').getByRole('option');
  /** Searches for a text, chooses what has these words, and opens it. */
  const find = async (text: string, words: string, heading: string | RegExp): Promise<void> => {
    await page.keyboard.press('Control+k');
    await box.waitFor();
    await page.keyboard.type(text);
    await options.filter({ hasText: words }).first().waitFor();
    const count = await options.count();
    for (let steps = 0; steps < count; steps += 1) {
      if (((await page.locator('[role=option][aria-selected=true]').textContent()) ?? '').includes(words)) break;
      await page.keyboard.press('ArrowDown');
    }
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
  };
  await find(object.id, object.id, 'Object');
  expect(page.url()).toContain(`#/objects/${object.id}`);
  await find('0', 'Batch 0', 'Batch 0');
  await find(String(object.sequence), `mint at sequence ${object.sequence}`, 'Action');
  expect(page.url()).toContain(`#/actions/${object.action_id}`);
  const batch = await client.getBatch('0');
  await find(batch.merkle_root, 'merkle root', 'Batch 0');
  await find(object.receipt.leaf.content, 'mint', 'Action');
  await find('TICKET', evil, 'Template');
  await find('front row', 'front row', 'Object');
  const { address } = await client.getOwnWallet();
  await find(address, email, 'Members');
  await find('usage', 'Usage', 'Usage');

  // Without a text, the pages that were open lately.
  await page.keyboard.press('Control+k');
  await options.filter({ hasText: 'Members' }).waitFor();
  expect(await options.first().textContent()).toContain('Usage');
  await page.keyboard.press('Escape');
  await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
  expect(await page.evaluate(() => [localStorage.length, sessionStorage.length])).toEqual([0, 0]);

  // Nothing found is said; the button opens the search too, and gets the focus back.
  const button = page.getByRole('button', { name: 'Search' });
  await button.click();
  await page.keyboard.type(`0x${'5'.repeat(64)}`);
  await page.getByText('Nothing was found.').waitFor();
  await page.keyboard.press('Escape');
  await expect.poll(() => button.evaluate((one) => document.activeElement === one)).toBe(true);
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await page.keyboard.press('Control+k');
  await box.waitFor();
  expect(await options.count(), 'a logout forgets the recent pages').toBe(0);
  expect(faults).toEqual([]);
  expect(outside).toEqual([]);
  await context.close();
});

test('the open search has no serious finding and fits', async () => {
  const { client, email } = await person(on);
  for (const name of ['one', 'two', 'three']) await client.createTemplate({ name: `${name} ${'a long name '.repeat(8)}` });
  const { page, context, faults } = await open(on);
  await logIn(page, { email });
  await go(page, '/templates', 'Templates');
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Search' }).waitFor();
  await page.keyboard.type('long name');
  await expect.poll(() => page.getByRole('option').count()).toBe(3);
  for (const [screen, viewport] of [['desk', DESK], ['phone', PHONE]] as const) {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      expect(await seriousFindings(page), `${screen}, ${colorScheme}`).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      if (process.env['CONSOLE_SHOTS']) await page.screenshot({ path: `${process.env['CONSOLE_SHOTS']}/search-${screen}-${colorScheme}.png` });
    }
  }
  expect(faults).toEqual([]);
  await context.close();
});
