// Starts the server that KEDGE_BIN names: a development server with its chain inside, on free loopback ports.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const PATIENCE_MS = 30_000;

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

async function untilReady(baseUrl, child, output) {
  const end = Date.now() + PATIENCE_MS;
  while (Date.now() < end && child.exitCode === null && child.signalCode === null) {
    const ready = await fetch(`${baseUrl}/readyz`).then((answer) => answer.ok, () => false);
    if (ready) return;
    await sleep(50);
  }
  throw new Error(`the server did not become ready:\n${output()}`);
}

/** Options are {KEDGE_NAME: value}; nothing of the caller's own KEDGE_… settings reaches the server. */
export async function startServer(options = {}) {
  const binary = process.env.KEDGE_BIN;
  if (!binary) throw new Error('KEDGE_BIN must name the server binary, with an absolute path');
  const directory = mkdtempSync(join(tmpdir(), 'kedge-sdk-'));
  const port = await freePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const socketPath = join(directory, 'admin.sock');
  const environment = {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('KEDGE_'))),
    KEDGE_LISTEN: `127.0.0.1:${port}`,
    KEDGE_DATA_DIR: join(directory, 'data'),
    KEDGE_HIGH_WATER_PATH: join(directory, 'high-water'),
    KEDGE_ADMIN_SOCKET: socketPath,
    KEDGE_EMBEDDED_CHAIN_LISTEN: '127.0.0.1:0',
    KEDGE_CHECKPOINT_INTERVAL_S: '1',
    ...options,
  };
  let child;
  let chunks;
  const output = () => Buffer.concat(chunks).toString('utf8').slice(-4000);
  const start = async () => {
    chunks = [];
    child = spawn(binary, ['serve', '--dev'], { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => chunks.push(chunk));
    await untilReady(baseUrl, child, output);
  };
  const end = async (signal) => {
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit');
      child.kill(signal);
      await ended;
    }
    return child.exitCode;
  };
  const stop = async () => {
    const code = await end('SIGTERM');
    rmSync(directory, { recursive: true, force: true });
    return code;
  };
  try {
    await start();
  } catch (error) {
    await stop();
    throw error;
  }
  /** Ends the server with a signal and starts it again with the same data and port. */
  const restart = async (signal) => {
    await end(signal);
    await start();
  };
  return { baseUrl, socketPath, stop, restart, end, start, output };
}
