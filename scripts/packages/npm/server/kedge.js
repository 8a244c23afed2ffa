#!/usr/bin/env node
// Runs the program for this machine's processor: with the same arguments, streams and signals, and ends as it ends.

import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';

const signals = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM'];
const holder = `@kedge/server-${process.platform}-${process.arch}`;

function fail(message, ...remedies) {
  console.error([`error: ${message}`, ...remedies].join('\n  '));
  process.exit(1);
}

function find() {
  try {
    return createRequire(import.meta.url).resolve(`${holder}/bin/kedge`);
  } catch {
    return fail(
      `${holder}, which holds the program, is not installed`,
      'there is one for Linux with the GNU C library, on x64 and arm64; npm leaves it out elsewhere, and with --omit=optional',
      'on such a machine: npm install --include=optional @kedge/server',
    );
  }
}

const program = find();
const running = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
running.on('error', (error) => fail(`${program} does not start: ${error.message}`));
for (const signal of signals) process.on(signal, () => running.kill(signal));
running.on('exit', (status, signal) => {
  if (!signal) process.exit(status);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
