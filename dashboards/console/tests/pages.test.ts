// Every page, on a desk and on a phone, light and dark: nothing serious for axe, nothing wider than the screen. Screenshots
// go to the folder that CONSOLE_SHOTS names.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { anchorNow } from './chain';
import { DESK, PASSWORD, PHONE, type Watched, go, logIn, open, person, seriousFindings, stage } from './harness';

const on = stage();
const shots = process.env['CONSOLE_SHOTS'];

/** The paths of all pages, with their headings. */
const pages: [path: string, heading: string | RegExp][] = [
  ['/', 'Overview'],
  ['/objects', 'Objects'],
  ['/templates', 'Templates'],
  ['/actions', 'Actions'],
  ['/files', 'Files'],
  ['/events', 'Live events'],
  ['/check', 'Check it yourself'],
  ['/batches', 'Batches'],
  ['/batches/1', 'Batch 1'],
  ['/anchors', 'Anchors'],
  ['/disputes', 'Disputes'],
  ['/usage', 'Usage'],
  ['/members', 'Members'],
  ['/keys', 'API keys'],
  ['/webhooks', 'Webhooks'],
  ['/wallet', 'Your wallet'],
  ['/nothing', 'No such page'],
];

let who: Awaited<ReturnType<typeof person>>;

beforeAll(async () => {
  who = await person(on);
  const { client } = who;
  const template = await client.createTemplate({ name: 'ticket', properties: { gate: 'D' }, actions: [{ kind: 'x.stamp', who: 'owner' }] });
  await client.createVariations(template.id, { variations: [{ name: 'balcony', properties: { floor: 2 } }] } as never);
  const object = await client.mintObject({ template_id: template.id, properties: { seat: 1, note: 'a long text '.repeat(30) } });
  await client.updateObject(object.id, { properties: { seat: 2 } });
  await client.submitAction({ action_type: 'lock', object_id: object.id });
  const webhook = await client.createWebhook({ url: 'https://example.com/a/rather/long/path/for/a/phone', events: ['*'] });
  await client.createApiKey({ name: 'robot', permissions: [{ resource: 'objects', crud: { read: true, update: true } }] });
  await client.inviteMember({ role: 'member', email: 'friend@example.com' });
  const file = await client.uploadFile({ file: new TextEncoder().encode('%PDF-1.7\n'), name: `${'a long name '.repeat(12)}.pdf` });
  await anchorNow(on.server.socketPath);
  const [anchor] = await client.listAnchors().take(1);
  const more: [string, string | RegExp][] = [
    [`/objects/${object.id}`, 'Object'],
    [`/templates/${template.id}`, 'Template'],
    [`/actions/${object.action_id}`, 'Action'],
    [`/webhooks/${webhook.id}`, 'Webhook'],
    [`/files/${file.id}`, 'File'],
    [`/anchors/${anchor?.id}`, /^Anchor/],
  ];
  pages.push(...more);
});

/** Waits until nothing is being read any more. */
const settled = async ({ page }: Watched): Promise<void> => {
  await page.waitForFunction(() => !/Reading…|Loading…/.test(document.querySelector('main')?.textContent ?? ''));
};

async function examine(watched: Watched, name: string): Promise<string[]> {
  const { page } = watched;
  await settled(watched);
  if (shots !== undefined) await page.screenshot({ path: `${shots}/${name}.png`, fullPage: true });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  const findings = await seriousFindings(page);
  return [...findings, ...(wide > 0 ? [`${wide} px wider than the screen`] : [])].map((text) => `${name}: ${text}`);
}

const nameOf = (path: string): string => path.replace(/\/[a-z]{3}_.*$/, '-one').replaceAll('/', '-').slice(1) || 'home';

describe.each([
  { screen: 'desk', viewport: DESK },
  { screen: 'phone', viewport: PHONE },
])('on a $screen', ({ screen, viewport }) => {
  test.each(['light', 'dark'] as const)('%s pages have no serious finding and fit', async (colorScheme) => {
    const watched = await open(on, '/', { viewport, colorScheme });
    const found: string[] = [];
    for (const [path, heading] of [['/register', 'Register'], ['/login', 'Log in'], ['/objects', 'Log in first']] as const) {
      await go(watched.page, path, heading);
      found.push(...(await examine(watched, `${screen}-${colorScheme}-out${path.replace('/', '-')}`)));
    }
    await logIn(watched.page, who);
    for (const [path, heading] of pages) {
      await go(watched.page, path, heading);
      found.push(...(await examine(watched, `${screen}-${colorScheme}-${nameOf(path)}`)));
    }
    expect(found).toEqual([]);
    expect(watched.faults).toEqual([]);
    expect(watched.outside).toEqual([]);
    await watched.context.close();
  });
});

test('a keyboard alone logs in and reaches a page', async () => {
  const { context, page, faults } = await open(on);
  const focused = (): Promise<string> => page.evaluate(() => document.activeElement?.textContent ?? '');
  /** Presses Tab until the focus is on what has this text. */
  const tabTo = async (text: string): Promise<void> => {
    for (let i = 0; i < 60; i += 1) {
      await page.keyboard.press('Tab');
      if ((await focused()) === text) return;
    }
    throw new Error(`no Tab leads to ${text}`);
  };
  await page.getByText('Newest checkpoint').waitFor();
  await page.keyboard.press('Tab');
  expect(await focused()).toBe('Skip to the page');
  await tabTo('Log in');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Log in' }).waitFor();
  // The focus followed the route, so the next field is the first of the page.
  await page.keyboard.press('Tab');
  await page.keyboard.type(who.email);
  await page.keyboard.press('Tab');
  await page.keyboard.type(PASSWORD);
  await page.keyboard.press('Tab');
  await page.keyboard.press('ArrowDown');
  await page.getByLabel('Private key').waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.type(who.key);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Log out' }).waitFor();
  await tabTo('Objects');
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement as Element).outlineStyle);
  expect(outline, 'the focus is visible').toBe('solid');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Objects' }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

test('the menu of a phone opens and closes by keyboard', async () => {
  const { context, page } = await open(on, '/', { viewport: PHONE });
  const toggle = page.getByRole('button', { name: 'Menu' });
  expect(await page.getByRole('link', { name: 'Batches' }).count()).toBe(0);
  await toggle.focus();
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Batches', exact: true }).waitFor();
  expect(await toggle.getAttribute('aria-expanded')).toBe('true');
  await page.keyboard.press('Escape');
  await expect.poll(() => toggle.getAttribute('aria-expanded')).toBe('false');
  expect(await toggle.evaluate((button) => document.activeElement === button)).toBe(true);
  await context.close();
});

afterAll(() => {
  if (shots !== undefined) console.log(`screenshots are in ${shots}`);
});
