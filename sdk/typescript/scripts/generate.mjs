// Writes src/generated/ from the OpenAPI document of a server: `npm run generate` with KEDGE_BIN, which is started for
// it. With --check, nothing is written, and a difference is an error.

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import openapiTS, { astToString } from 'openapi-typescript';
import { operationsFile } from './operations.mjs';
import { startServer } from './server.mjs';

const HEADER = '/* Generated from the OpenAPI document of the server: `npm run generate`. Do not edit. */\n\n';
const folder = new URL('../src/generated/', import.meta.url);

/** The document without what no type of a client needs: refusals, headers of answers, and headers that the SDK sets. */
function slim(document) {
  const copy = structuredClone(document);
  for (const path of Object.values(copy.paths)) {
    for (const operation of Object.values(path)) {
      const kept = operation.parameters?.filter((parameter) => 'in' in parameter && ['path', 'query'].includes(parameter.in));
      operation.parameters = kept ?? [];
      const done = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'));
      operation.responses = Object.fromEntries(done.map(([status, { description, content }]) => [status, { description, content }]));
    }
  }
  const { schemas } = copy.components;
  copy.components = { schemas };
  openObjects(copy);
  return copy;
}

/** An object whose members are not listed may have any; the generator of types reads it as having none. */
function openObjects(value) {
  if (value === null || typeof value !== 'object') return;
  const isObject = [value.type].flat().includes('object');
  if (isObject && value.properties === undefined) value.additionalProperties ??= true;
  Object.values(value).forEach(openObjects);
}

/** The generated files, by name. */
export async function generate(document) {
  const types = astToString(await openapiTS(slim(document), { defaultNonNullable: false, alphabetize: true }));
  // TSDoc does not know these tags; without the first, its text is the comment's own.
  const documented = types.replaceAll(' @description ', ' ').replaceAll(/\n *\/\*\* @constant \*\//g, '');
  return { 'schema.ts': HEADER + documented, 'operations.ts': HEADER + operationsFile(document) };
}

async function main() {
  const server = await startServer();
  try {
    const document = await (await fetch(`${server.baseUrl}/openapi.json`)).json();
    const files = Object.entries(await generate(document));
    if (process.argv.includes('--check')) {
      const stale = files.filter(([name, text]) => readFileSync(new URL(name, folder), 'utf8') !== text);
      for (const [name] of stale) console.error(`src/generated/${name} is not what the document gives: run "npm run generate"`);
      process.exitCode = stale.length === 0 ? 0 : 1;
    } else {
      for (const [name, text] of files) writeFileSync(new URL(name, folder), text);
    }
  } finally {
    await server.stop();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
