// The package in a browser: bundled without Node, and the offline checks run where nothing of Node exists.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { type Hex, writeJson } from '@kedge/sdk';
import { cases, state } from './cases.js';
import { packageFolder, repository } from './setup.js';
import { answerOf, fieldsOf, trust as stateTrust } from './state-answers.js';

/** Bundles an entry for browsers; fails on any module of Node. */
async function bundled(entry: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: `export * from '${entry}';`, resolveDir: fileURLToPath(packageFolder) },
    bundle: true,
    minify: true,
    write: false,
    platform: 'browser',
    format: 'iife',
    globalName: 'kedge',
    target: 'es2022',
  });
  return outputFiles[0]?.text as string;
}

/** Most bytes of a bundle: a dependency that grows, or a new one, is noticed here. */
const BUNDLES = { '@kedge/sdk': 165_000, '@kedge/sdk/verify': 100_000, '@kedge/sdk/compat': 140_000 };

for (const [entry, most] of Object.entries(BUNDLES)) {
  test(`${entry} is bundled for browsers`, async (t) => {
    const text = await bundled(entry);
    t.diagnostic(`${text.length} bytes, ${gzipSync(text).length} compressed`);
    assert.ok(text.length <= most, `${text.length} bytes`);
    assert.ok(!/\brequire\(|\bnode:|\bBuffer\.[a-z]/.test(text), 'nothing of Node is used');
  });
}

test('files are verified where nothing of Node exists', async () => {
  const texts = (valid: boolean): string[] => cases.filter((entry) => entry.kind === 'proof' && entry.valid === valid).map(({ text }) => text);
  const { domain, sequencer } = state;
  // A browser has these besides the language itself.
  const page = createContext({ TextEncoder, TextDecoder, btoa, crypto, good: texts(true), bad: texts(false) });
  runInContext(await bundled('@kedge/sdk/verify'), page);
  const script = `
    const trust = { domain: kedge.domainOf(${domain.chain_id}, '${domain.verifying_contract}'), sequencer: '${sequencer}' };
    const holds = (text) => { try { kedge.verifyProofFile(text, trust); return true; } catch (error) { if (!(error instanceof kedge.Refused)) throw error; return false; } };
    [typeof process, typeof Buffer, good.map(holds).every(Boolean), bad.map(holds).some(Boolean)].join()`;
  assert.equal(runInContext(`${script}`, page), 'undefined,undefined,true,false');
});

test('state proofs are verified where nothing of Node exists', async () => {
  const { cases: states, must_refuse: wrong } = JSON.parse(readFileSync(new URL('crates/protocol/vectors/state.json', repository), 'utf8'));
  const shown = states.flatMap(({ root, present, absent }: { root: Hex; present: object[]; absent: object[] }) => [...present, ...absent].map((one) => ({ entry: '0x', ...one, root })));
  const textsOf = (list: { key: string; root: Hex; entry: Hex; nodes: string[] }[]): string[] =>
    list.map(({ key, root, entry, nodes }) => writeJson(answerOf({ key, root, entry, nodes, sequence: 5_000_000n, ...(entry === '0x' ? {} : { fields: fieldsOf(key, entry, 5_000_000n) }) })));
  const page = createContext({ TextEncoder, TextDecoder, btoa, crypto, good: textsOf(shown), bad: textsOf(wrong) });
  runInContext(await bundled('@kedge/sdk/verify'), page);
  const { domain, sequencer } = stateTrust;
  const script = `
    const trust = { domain: kedge.domainOf(${domain.chainId}, '${domain.verifyingContract}'), sequencer: '${sequencer}' };
    const holds = (text) => { try { kedge.verifyStateProof(text, trust); return true; } catch (error) { if (!(error instanceof kedge.Refused)) throw error; return false; } };
    [good.length, good.every(holds), bad.length, bad.some(holds)].join()`;
  assert.equal(runInContext(script, page), '31,true,18,false');
});
