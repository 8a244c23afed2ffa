// The overview, usage and the log's lists: charts with their figures, compact tables, few requests, and the service's state.

import { expect, test } from 'vitest';
import { axisEnd, bucketed, durationEnd, lasting, relative } from '../src/figures';
import { anchorNow } from './chain';
import { DESK, PHONE, type Watched, go, logIn, open, person, seriousFindings, stage } from './harness';

const on = stage();
const MINUTE = 60_000;

/** Opens the figures of a chart and returns the rows of their table. */
async function figures({ page }: Watched, title: string): Promise<string[][]> {
  const chart = page.locator('figure', { has: page.getByText(title, { exact: true }) });
  await chart.locator('summary').click();
  const table = chart.getByRole('region', { name: `Figures: ${title}` });
  await table.waitFor();
  return table.locator('tbody tr').evaluateAll((rows) => rows.map((row) => [...row.querySelectorAll('td')].map(({ textContent }) => textContent ?? '')));
}

test('what happened is counted in buckets that cover all of it', () => {
  const now = 100 * MINUTE + 30_000;
  const each = [0, 1, 1, 5].map((minutes) => ({ at: now - minutes * MINUTE, count: 2 }));
  const { each: width, buckets } = bucketed(each, now, false);
  expect(width).toBe('minute');
  expect(buckets.map(({ count }) => count)).toEqual([2, 0, 0, 0, 4, 2]);
  // The first bucket is not whole if there is more before it.
  expect(bucketed(each, now, true).buckets).toHaveLength(5);
  expect(bucketed([...each, { at: now - 90 * MINUTE, count: 1 }], now, false).each).toBe('5 minutes');
  const long = bucketed([{ at: 0, count: 1 }, { at: 365 * 24 * 60 * MINUTE, count: 1 }], 365 * 24 * 60 * MINUTE, false);
  expect([long.each, long.buckets.length]).toEqual(['day', 40]);
  expect(bucketed([], now, false).buckets).toHaveLength(1);
  expect([0, 1, 3, 7, 10, 11, 499].map(axisEnd)).toEqual([1, 1, 5, 10, 10, 20, 500]);
  expect(durationEnd(16 * MINUTE)).toBe(20 * MINUTE);
  expect([relative(now - 5_000, now), relative(now - 5 * MINUTE, now), relative(now + 3 * 60 * MINUTE, now)]).toEqual(['just now', '5 min ago', 'in 3 h']);
  expect([relative(now - 700 * 24 * 60 * MINUTE, now), relative(now - 1_825 * 24 * 60 * MINUTE, now)]).toEqual(['700 days ago', '5 years ago']);
  expect(lasting(350)).toBe('350 ms');
});

test('an empty log is said to be empty, in words', async () => {
  const watched = await open(on);
  const { page } = watched;
  await page.route(/\/(batches|anchors)\?/, (route) => route.fulfill({ json: { items: [], cursor: null, has_more: false } }));
  await page.reload();
  for (const words of ['No action is in the log yet.', 'No batch is sealed yet.', 'Nothing is anchored yet.', 'It shows from the second anchor on.']) {
    await page.getByText(words).waitFor();
  }
  expect(await page.locator('figure svg').count()).toBe(0);
  expect(watched.faults).toEqual([]);
  await watched.context.close();
});

test('the charts show what the API tells, and their figures are a table', async () => {
  const { client } = await person(on);
  const template = await client.createTemplate({ name: 'counted' });
  await client.mintObject({ template_id: template.id });
  await anchorNow(on.server.socketPath);
  await client.mintObject({ template_id: template.id });
  await anchorNow(on.server.socketPath);
  await expect.poll(async () => (await client.listAnchors().take(9)).length, { timeout: 60_000 }).toBeGreaterThan(1);
  const watched = await open(on);
  const { page } = watched;
  await page.getByRole('img', { name: /^Actions per batch: \d+ values, from 1 to \d+/ }).waitFor();
  const { items } = await client.listBatches({ limit: 50, order: 'desc' });
  const rows = await figures(watched, 'Actions per batch');
  expect(rows.map(([name, value]) => [name, value?.split(' ')[0]])).toEqual(items.map(({ number, action_count: count }) => [`Batch ${number}`, String(count)]));
  const anchors = await client.listAnchors({ limit: 40, order: 'desc' });
  const covered = await figures(watched, 'Batches per anchor');
  expect(covered.map(([name, value]) => [name, value?.split(' ')[0]])).toEqual(
    anchors.items.map(({ number, first_batch: first, last_batch: last }) => [`Anchor ${number}`, String(last === null ? 0 : last - first + 1)]),
  );
  // Pointing at a bar tells its value.
  const plot = page.getByRole('img', { name: /^Batches per anchor/ });
  const box = await plot.boundingBox();
  await plot.hover({ position: { x: (box?.width ?? 0) - 8, y: 60 } });
  await page.getByText(new RegExp(`^Anchor ${anchors.items[0]?.number}: `)).first().waitFor();
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await seriousFindings(page), colorScheme).toEqual([]);
  }
  await page.setViewportSize(PHONE);
  await expect.poll(async () => (await plot.boundingBox())?.width ?? 0).toBeLessThan(300);
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
  expect(watched.faults).toEqual([]);
  await watched.context.close();
});

test('usage has the day’s course and the organization’s own actions', async () => {
  const { client, email, key } = await person(on);
  await client.createTemplate({ name: 'used' });
  const watched = await open(on);
  const { page } = watched;
  await logIn(page, { email, key });
  await go(page, '/usage', 'Usage');
  await page.getByRole('img', { name: /^Requests today \(UTC\): from 0 to \d+/ }).waitFor();
  const counted = await figures(watched, 'Your actions per minute');
  const own = await client.listActions().take(100);
  expect(counted.reduce((sum, [, value]) => sum + Number(value), 0)).toBe(own.length);
  const used = page.getByRole('meter', { name: 'Requests today (UTC)' });
  expect(Number(await used.getAttribute('aria-valuenow'))).toBeGreaterThan(0);
  expect(await used.getAttribute('aria-valuetext')).toMatch(/ % used$/);
  expect(watched.faults).toEqual([]);
  await watched.context.close();
});

test('thirty small batches are a compact table from one request, and a walk along them asks little', async () => {
  const { client, email, key } = await person(on);
  const template = await client.createTemplate({ name: 'many' });
  for (let made = 0; made < 30; made += 1) await client.mintObject({ template_id: template.id });
  // Without a login first: no other page asks anything.
  const watched = await open(on, '/batches');
  const { page } = watched;
  const asked = (): string[] => watched.asked.filter((path) => /^\/(batches|sequencer-keys|checkpoint|anchors)/.test(path));
  const table = page.getByRole('region', { name: 'Batches, newest first' });
  await table.getByText(/^follows batch/).first().waitFor();
  expect(asked()).toEqual(['/batches?limit=50&order=desc']);
  const rows = await table.locator('tbody tr').count();
  expect(rows).toBeGreaterThan(29);
  for (const viewport of [DESK, PHONE]) {
    await page.setViewportSize(viewport);
    const box = await table.boundingBox();
    expect((box?.height ?? 0) / (rows + 1)).toBeLessThan(44);
  }
  await page.setViewportSize(DESK);
  // The exact time is there, and the whole hash is copied.
  const time = table.locator('time').first();
  expect(await time.getAttribute('title')).toContain((await time.getAttribute('datetime')) ?? 'no time');
  await watched.context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await table.getByRole('button', { name: /^Copy the head after batch/ }).first().click();
  await table.getByRole('button', { name: 'Copied' }).waitFor();
  const { items } = await client.listBatches({ limit: 1, order: 'desc' });
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(items[0]?.head);

  await logIn(page, { email, key });
  await go(page, '/batches/3', 'Batch 3');
  await page.getByText('It begins where the batch before it ends.').waitFor();
  watched.asked.length = 0;
  for (const number of [4, 5, 6, 7]) {
    await page.keyboard.press('ArrowRight');
    await page.getByRole('heading', { level: 1, name: `Batch ${number}` }).waitFor();
    await page.getByText('It begins where the batch before it ends.').waitFor();
    await page.getByRole('region', { name: 'Actions of the batch' }).waitFor();
  }
  expect(asked().length).toBeLessThanOrEqual(8);
  expect(await page.locator('.verdict.bad').count()).toBe(0);
  expect(watched.faults).toEqual([]);
  await watched.context.close();
});

test('every page says that the service accepts no changes, and why', async () => {
  const watched = await open(on);
  const { page } = watched;
  await page.getByText('accepts changes').waitFor();
  expect(await page.getByRole('alert').count()).toBe(0);
  const reason = 'the disk is full <b>';
  await page.route('**/readyz', async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ status: 503, json: { ...((await answer.json()) as object), status: 'not_ready', mode: 'read_only', reason } });
  });
  await page.reload();
  await page.getByRole('alert').filter({ hasText: `The service accepts no changes: ${reason}.` }).waitFor();
  await go(page, '/anchors', 'Anchors');
  expect(await page.getByRole('alert').count()).toBe(1);
  await page.unroute('**/readyz');
  await page.reload();
  await expect.poll(() => page.getByRole('alert').count()).toBe(0);
  await watched.context.close();
});
