/** The build: the page, its scripts and its style under /console/, each also compressed, for the server to embed. */

import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

/** Writes the compressed forms once, so that the server compresses nothing. */
function compressed(): Plugin {
  let folder = '';
  return {
    name: 'compressed',
    apply: 'build',
    configResolved(config) {
      folder = config.build.outDir;
    },
    async closeBundle() {
      for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile() || !/\.(css|html|js|json|svg)$/.test(entry.name)) continue;
        const path = join(entry.parentPath, entry.name);
        const plain = await readFile(path);
        const brotli = brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } });
        await writeFile(`${path}.br`, brotli);
        await writeFile(`${path}.gz`, gzipSync(plain, { level: constants.Z_BEST_COMPRESSION }));
      }
    },
  };
}

/** The server that `npm run dev` and `vite preview` pass requests of the API to. */
const target = process.env['KEDGE_URL'] ?? 'http://127.0.0.1:8080';
const proxy = { '^/(?!console)': { target, changeOrigin: true } };

export default defineConfig({
  base: '/console/',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  resolve: { dedupe: ['preact'] },
  build: {
    target: 'es2022',
    // What is inlined as a data: URL would not pass the policy of the page.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  worker: { format: 'es' },
  plugins: [compressed()],
  server: { proxy },
  preview: { proxy },
  test: {
    include: ['tests/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    fileParallelism: false,
    expect: { poll: { timeout: 15_000 } },
  },
});
