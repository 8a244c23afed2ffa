// What the browser tests share: one server with the console in it, one browser, and pages that record what went wrong. With
// CONSOLE_DIST=folder they show the build in that folder, instead of the one in the server.

import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import { KedgeClient, generateKey } from '@kedge/sdk';
import { type Browser, type BrowserContext, type Page, chromium } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { type RunningServer, startServer } from '../../../sdk/typescript/scripts/server.mjs';

export const PASSWORD = 'a long enough passphrase';
export const DESK = { width: 1280, height: 850 };
/** As narrow as WCAG's reflow asks (1.4.10). */
export const PHONE = { width: 320, height: 640 };

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** A server and a browser for the tests of a file. */
export interface Stage {
  server: RunningServer;
  browser: Browser;
  /** The console's address. */
  url: string;
}

/** A page, and what went wrong in it. */
export interface Watched {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors in the page's log, exceptions, and violations of the policy. */
  readonly faults: string[];
  /** Requests to the server, with their queries. */
  readonly asked: string[];
  /** Requests to other hosts than the server. */
  readonly outside: string[];
}

/** Starts server and browser before the tests of a file, and ends them after. */
export function stage(options: Record<string, string> = {}): Stage {
  const all = {} as Stage;
  beforeAll(async () => {
    all.server = await startServer({ KEDGE_RATE_LIMITS: 'off', ...options });
    // A page that the test serves has no address, so it may ask no RPC of this machine.
    const args = process.env['CONSOLE_DIST'] === undefined ? [] : ['--disable-features=LocalNetworkAccessChecks'];
    all.browser = await chromium.launch({ executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium', args: ['--no-sandbox', ...args] });
    all.url = `${all.server.baseUrl}/console`;
  });
  afterAll(async () => {
    await all.browser?.close();
    expect(await all.server?.stop(), 'the server drains and ends well').toBe(0);
  });
  return all;
}

const TYPES: Record<string, string> = { '.css': 'text/css', '.html': 'text/html', '.js': 'text/javascript', '.json': 'application/json', '.svg': 'image/svg+xml' };

/** Answers for the server from a folder, with the headers of the server's page. */
export async function showBuild(context: BrowserContext, { url }: Stage, folder: string): Promise<void> {
  const policy = (await fetch(url)).headers.get('content-security-policy');
  await context.route(new RegExp(`^${url}(/.*)?$`), async (route) => {
    const { pathname } = new URL(route.request().url());
    const path = join(folder, pathname.replace(/^\/console\/?/, '') || 'index.html');
    if (!existsSync(path)) return route.fulfill({ status: 404 });
    const headers = { 'content-type': TYPES[extname(path)] ?? 'application/octet-stream', ...(policy === null ? {} : { 'content-security-policy': policy }) };
    return route.fulfill({ body: readFileSync(path), headers });
  });
}

type ContextOptions = Parameters<Browser['newContext']>[0];

/** Opens a page of the console. */
export async function open(on: Stage, path = '/', options: ContextOptions = {}): Promise<Watched> {
  const watched = await watch(on, options);
  const build = process.env['CONSOLE_DIST'];
  if (build !== undefined) await showBuild(watched.context, on, build);
  await watched.page.goto(`${on.url}#${path}`);
  return watched;
}

/** A page that shows nothing yet. */
export async function watch(on: Stage, options: ContextOptions = {}): Promise<Watched> {
  const context = await on.browser.newContext({ viewport: DESK, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const watched: Watched = { page, context, faults: [], asked: [], outside: [] };
  page.on('pageerror', (error) => watched.faults.push(`exception: ${error.message}`));
  page.on('console', (message) => {
    // A refusal that the test provokes is in the log too; the policy's violations are there as errors.
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) watched.faults.push(message.text());
  });
  page.on('request', (request) => {
    const url = request.url();
    if (url.startsWith(`${on.server.baseUrl}/`)) watched.asked.push(url.slice(on.server.baseUrl.length));
    else if (!url.startsWith('blob:') && !url.startsWith('data:')) watched.outside.push(url);
  });
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => console.error(`policy: ${violatedDirective} ${blockedURI}`));
  });
  return watched;
}

/** Goes to another path of the console, as its links do. */
export async function go(page: Page, path: string, heading: string | RegExp): Promise<void> {
  await page.evaluate((to) => {
    location.hash = to;
  }, path);
  await page.getByRole('heading', { level: 1, name: heading }).waitFor();
}

let people = 0;

/** A wallet that is registered without the console, with its key. */
export async function person(on: Stage): Promise<{ client: KedgeClient; email: string; key: `0x${string}` }> {
  const key = generateKey();
  people += 1;
  const email = `person${people}.${process.pid}@example.com`;
  const client = new KedgeClient({ baseUrl: on.server.baseUrl, signer: key });
  await client.registerWallet({ email, password: PASSWORD });
  return { client, email, key };
}

/** Logs in on the page for it. */
export async function logIn(page: Page, { email, key }: { email: string; key?: string }): Promise<void> {
  await go(page, '/login', 'Log in');
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  if (key !== undefined) {
    await page.getByLabel('A key that I have').check();
    await page.getByLabel('Private key').fill(key);
  }
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
  await page.getByRole('button', { name: 'Log out' }).waitFor();
}

/** What axe finds that is serious or worse, once no colour is on its way to another one. */
export async function seriousFindings(page: Page): Promise<string[]> {
  await page.evaluate(async () => {
    const ending = document.getAnimations().filter(({ effect }) => effect?.getComputedTiming().endTime !== Infinity);
    await Promise.allSettled(ending.map(({ finished }) => finished));
  });
  await page.evaluate(axeSource);
  return page.evaluate(async () => {
    const { axe } = window as unknown as { axe: { run: () => Promise<{ violations: { id: string; impact: string; help: string; nodes: { html: string; failureSummary: string }[] }[] }> } };
    const { violations } = await axe.run();
    const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
    return serious.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.slice(0, 3).map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(' | ')}`);
  });
}
