// The generated files are what the running server's document gives, and every operation is a method.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { KedgeClient } from '@kedge/sdk';
import { generate } from '#scripts/generate.mjs';
import { packageFolder, serverOfFile } from './setup.js';

const server = serverOfFile();

test('a fresh run of the generator gives the same bytes', async () => {
  const document = await (await fetch(`${server.baseUrl}/openapi.json`)).json();
  for (const [name, text] of Object.entries(await generate(document))) {
    const checkedIn = readFileSync(new URL(`src/generated/${name}`, packageFolder), 'utf8');
    assert.ok(checkedIn === text, `src/generated/${name} is stale: run "npm run generate" with KEDGE_BIN`);
  }
});

test('every operation of the document is a method of the client', async () => {
  const { paths } = (await (await fetch(`${server.baseUrl}/openapi.json`)).json()) as { paths: Record<string, Record<string, { operationId: string }>> };
  const ids = Object.values(paths).flatMap((path) => Object.values(path).map(({ operationId }) => operationId));
  assert.ok(ids.length > 60);
  for (const id of ids) assert.equal(typeof (KedgeClient.prototype as unknown as Record<string, unknown>)[id], 'function', id);
});
