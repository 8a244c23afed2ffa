// Makes the pictures of the console that README and docs show, of a server with examples in it:
// KEDGE_BIN=/absolute/path/kedge npm run pictures

import { setTimeout as sleep } from 'node:timers/promises';
import { KedgeClient, generateKey } from '@kedge/sdk';
import { chromium } from 'playwright-core';
import { startServer } from '../../../sdk/typescript/scripts/server.mjs';

const FOLDER = new URL('../../../docs/pictures/', import.meta.url).pathname;
const PASSWORD = 'a long enough passphrase';
const DESK = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };
/** Updates that are sent together, so that the batches differ. */
const BURSTS = [3, 9, 1, 14, 6, 22, 11, 4, 17, 8, 26, 12, 2, 19, 7];
const ANCHORED_MS = 60_000;

const SCHEMA = {
  type: 'object',
  properties: {
    name: { type: 'string', title: 'Name' },
    painter: { type: 'string', title: 'Painter' },
    year: { type: 'integer', title: 'Year', minimum: 1400 },
    technique: { title: 'Technique', enum: ['oil', 'watercolour', 'ink'] },
    picture: { type: 'string', title: 'Picture', 'x-file': true },
  },
  required: ['name', 'painter'],
};

/** Made up, as their painters are. */
const PAINTINGS = [
  { name: 'Harbour before rain', painter: 'Ida Holm', year: 1908, technique: 'oil', colours: ['#23395d', '#8fb3d9', '#f2c57c'] },
  { name: 'Two boats, one rope', painter: 'Ida Holm', year: 1911, technique: 'watercolour', colours: ['#0b525b', '#9ad1d4', '#f4f1de'] },
  { name: 'Anchor on sand', painter: 'Jon Vik', year: 1932, technique: 'oil', colours: ['#7f5539', '#e6ccb2', '#457b9d'] },
  { name: 'Night watch at the lock', painter: 'Jon Vik', year: 1934, technique: 'ink', colours: ['#111827', '#374151', '#fde68a'] },
  { name: 'Low tide', painter: 'Mara Lind', year: 1959, technique: 'watercolour', colours: ['#6d6875', '#e5989b', '#ffcdb2'] },
];

/** A picture of a painting, as a PNG file. */
async function painted(browser, [sky, sea, light]) {
  const page = await browser.newPage({ viewport: { width: 480, height: 360 } });
  await page.setContent(`<body style="margin:0;height:100vh;background:radial-gradient(circle at 72% 28%, ${light} 0 9%, transparent 10%), linear-gradient(${sky} 58%, ${sea} 58% 74%, ${sky})">`);
  const bytes = await page.screenshot();
  await page.close();
  return bytes;
}

async function filled(server, browser) {
  const key = generateKey();
  const email = 'curator@example.com';
  const client = new KedgeClient({ baseUrl: server.baseUrl, signer: key });
  await client.registerWallet({ email, password: PASSWORD });
  const template = await client.createTemplate({ name: 'Painting', schema: SCHEMA, public_access: true });
  const objects = [];
  for (const { colours, ...properties } of PAINTINGS) {
    const file = new Blob([await painted(browser, colours)], { type: 'image/png' });
    const { id: picture } = await client.uploadFile({ file, name: `${properties.name}.png` });
    objects.push(await client.mintObject({ template_id: template.id, properties: { ...properties, picture } }));
  }
  for (const size of BURSTS) {
    const updates = Array.from({ length: size }, (_, place) => client.updateObject(objects[place % objects.length].id, { properties: { year: 1900 + place } }));
    await Promise.all(updates);
    await sleep(700);
  }
  for (const [place, { year }] of PAINTINGS.entries()) await client.updateObject(objects[place].id, { properties: { year } });
  return { client, key, email, template, objects };
}

async function loggedIn(browser, server, { key, email }, options) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  await page.goto(`${server.baseUrl}/console#/login`);
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.getByLabel('A key that I have').check();
  await page.getByLabel('Private key').fill(key);
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
  await page.getByRole('button', { name: 'Log out' }).waitFor();
  return page;
}

/** Waits until the anchor of an object's first action is final. */
async function anchored(client, server, { action_id: id }) {
  const end = Date.now() + ANCHORED_MS;
  while (Date.now() < end) {
    const answer = await fetch(`${server.baseUrl}/ebus/actions/${id}/proof`, { headers: { authorization: `Bearer ${client.session.access_token}` } });
    if (answer.ok && (await answer.json()).anchor !== null) return;
    await sleep(500);
  }
  throw new Error(`${id} is not anchored`);
}

async function shown(page, path, name, until = async () => {}) {
  await page.evaluate((to) => {
    location.hash = to;
  }, path);
  await until();
  await page.waitForTimeout(1_500);
  await page.screenshot({ path: `${FOLDER}${name}.png` });
}

const server = await startServer({ KEDGE_RATE_LIMITS: 'off', KEDGE_ANCHOR_INTERVAL_S: '5' });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
try {
  const filling = await filled(server, browser);
  const { client, template, objects } = filling;
  await anchored(client, server, objects[0]);
  const proven = (page) => async () => {
    await page.getByRole('button', { name: 'Show the picture' }).click();
    await page.getByText(/^\W*Proven/).first().waitFor();
  };
  const light = await loggedIn(browser, server, filling, { viewport: DESK, colorScheme: 'light' });
  await shown(light, '/', 'overview');
  await shown(light, `/objects?template_id=${template.id}`, 'objects');
  await shown(light, `/objects/${objects[0].id}`, 'object', proven(light));
  const dark = await loggedIn(browser, server, filling, { viewport: DESK, colorScheme: 'dark' });
  await shown(dark, '/batches', 'batches-dark');
  await shown(dark, `/actions/${objects[0].action_id}`, 'check-dark', async () => {
    await dark.getByRole('button', { name: 'Check it here' }).click();
    await dark.getByText('It holds.').waitFor();
  });
  const phone = await loggedIn(browser, server, filling, { viewport: PHONE, colorScheme: 'dark' });
  await shown(phone, `/objects/${objects[3].id}`, 'object-phone', proven(phone));
} finally {
  await browser.close();
  await server.stop();
}
