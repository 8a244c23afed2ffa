// The package as users get it: packed, installed into an empty folder, type-checked without mercy, and run on the
// README's tour.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { packageFolder, serverOfFile } from './setup.js';

const run = promisify(execFile);
const root = fileURLToPath(packageFolder);
const server = serverOfFile();
let folder: string;

/** The code of the README's tour: its blocks, one after the other. */
function tour(): string {
  const text = readFileSync(join(root, 'README.md'), 'utf8');
  const section = text.slice(text.indexOf('## A tour'), text.indexOf('## What to know'));
  return [...section.matchAll(/```ts\n([^]*?)```/g)].map(([, code]) => code).join('\n');
}

const EVERY_ENTRY = `
import { KedgeClient, type Schemas } from '@kedge/sdk';
import { verifyReceipt } from '@kedge/sdk/verify';
import { accelerate, keepAliveFetch } from '@kedge/sdk/node';
import { CompatClient } from '@kedge/sdk/compat';

export const client = new KedgeClient({ baseUrl: 'http://127.0.0.1:9', fetch: keepAliveFetch() });
export const object = (): Promise<Schemas['ObjectView']> => client.getObject('obj_x');
// @ts-expect-error: a template has a name
export const unnamed = (): unknown => client.createTemplate({});
// @ts-expect-error: there is no such member
export const misspelled = async (): Promise<unknown> => (await client.getObject('obj_x')).propertys;
for (const entry of [verifyReceipt, accelerate, CompatClient]) if (typeof entry !== 'function') throw new Error('an entry is missing');
`;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kedge-sdk-package-'));
  // The build is there: test.sh has just made it.
  const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], { cwd: root });
  const [{ filename, files }] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
  const names = files.map(({ path }) => path);
  assert.ok(names.every((name) => /^(dist\/|README\.md$|package\.json$|LICENSE$)/.test(name)), `${names.join(' ')} is what is packed`);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'user', private: true, type: 'module' }));
  await run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', join(folder, filename)], { cwd: folder });
});

after(() => rmSync(folder, { recursive: true, force: true }));

test('a program type-checks against the installed package, and the tour runs', async () => {
  const installed = readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'));
  assert.deepEqual(installed.sort(), ['@kedge', '@noble', '@stablelib', 'eventsource-parser', 'fast-sha256', 'standardwebhooks']);
  writeFileSync(join(folder, 'tour.ts'), tour());
  writeFileSync(join(folder, 'entries.ts'), EVERY_ENTRY);
  const options = { module: 'NodeNext', target: 'ES2022', strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noPropertyAccessFromIndexSignature: true };
  const types = { types: ['node'], typeRoots: [join(root, 'node_modules/@types')], skipLibCheck: false, outDir: 'out' };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: { ...options, ...types }, files: ['tour.ts', 'entries.ts'] }));
  await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc')], { cwd: folder }).catch((error: { stdout: string }) => assert.fail(error.stdout));
  await run(process.execPath, ['out/entries.js'], { cwd: folder });
  const { stdout } = await run(process.execPath, ['out/tour.js'], { cwd: folder, env: { ...process.env, KEDGE_URL: server.baseUrl } });
  for (const expected of [/registered wal_/, /minted obj_.*gate: 'D', seat: 1/, /refused: /, /done: 11 of 11/, /5 objects on the first page, and more/, /seat 19/, /object\.locked obj_/, /mint of tpl_/, /15 actions are opened/]) {
    assert.match(stdout, expected);
  }
});
