// Starts Anvil and the real server against it, both on free loopback ports, and stops them.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';

const ANVIL = fileURLToPath(new URL('../../crates/chain/tests/anvil/node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil', import.meta.url));
// Anvil's first account, whose private key is public.
export const FUNDED_KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80';
const PATIENCE_MS = 30_000;

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Calls until the result is truthy; rejects with the last error, or with `what`, after a time-out. */
export async function eventually(what, call, patienceMs = PATIENCE_MS) {
  const end = Date.now() + patienceMs;
  let last = new Error(`${what}: not within ${patienceMs} ms`);
  while (Date.now() < end) {
    try {
      const result = await call();
      if (result) return result;
    } catch (error) {
      last = error;
    }
    await sleep(50);
  }
  throw last;
}

export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

export function start(command, args, env) {
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const log = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => log.push(chunk));
  child.output = () => Buffer.concat(log).toString('utf8').slice(-4000);
  child.failed = new Promise((_, reject) => {
    child.on('error', reject);
    child.on('exit', (code, signal) => reject(new Error(`${command} ended with ${code ?? signal}:\n${child.output()}`)));
  });
  child.failed.catch(() => {});
  return child;
}

export async function stop(child, signal) {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const ended = once(child, 'exit');
  child.kill(signal);
  const [code] = await ended;
  return code;
}

export async function rpc(url, method, params = []) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const response = await fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
  const { result, error } = await response.json();
  if (error) throw new Error(`${method}: ${error.message}`);
  return result;
}

async function startAnvil() {
  const port = await freePort();
  const args = ['--host', '127.0.0.1', '--port', String(port), '--slots-in-an-epoch', '1', '--silent'];
  const child = start(ANVIL, args, process.env);
  const url = `http://127.0.0.1:${port}`;
  await Promise.race([child.failed, eventually('Anvil', () => rpc(url, 'eth_chainId'))]);
  return { child, url };
}

/** One command over the operator's socket: a line of JSON each way. */
export async function admin(socketPath, command) {
  const socket = createConnection(socketPath);
  let text = '';
  socket.setEncoding('utf8');
  socket.write(`${JSON.stringify({ command })}\n`);
  for await (const chunk of socket) {
    text += chunk;
    if (text.includes('\n')) break;
  }
  socket.destroy();
  return JSON.parse(text);
}

function serverBinary() {
  const binary = process.env.KEDGE_BIN;
  if (!binary) throw new Error('KEDGE_BIN must name the server binary');
  return binary;
}

/** The environment without the caller's own settings of a server. */
const cleanEnvironment = () => Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('KEDGE_')));

/** A development server with its embedded chain, on free loopback ports, with more options: {KEDGE_NAME: value}. */
export async function startDevelopment(options = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'kedge-js-'));
  const port = await freePort();
  const socketPath = join(directory, 'admin.sock');
  const environment = {
    ...cleanEnvironment(),
    KEDGE_LISTEN: `127.0.0.1:${port}`,
    KEDGE_DATA_DIR: join(directory, 'data'),
    KEDGE_HIGH_WATER_PATH: join(directory, 'high-water'),
    KEDGE_ADMIN_SOCKET: socketPath,
    KEDGE_EMBEDDED_CHAIN_LISTEN: '127.0.0.1:0',
    KEDGE_CHECKPOINT_INTERVAL_S: '1',
    ...options,
  };
  const child = start(serverBinary(), ['serve', '--dev'], environment);
  const cleanUp = async () => {
    const code = await stop(child, 'SIGTERM');
    rmSync(directory, { recursive: true, force: true });
    return code;
  };
  const baseUrl = `http://127.0.0.1:${port}`;
  try {
    await Promise.race([child.failed, eventually('the server', async () => (await fetch(`${baseUrl}/readyz`)).ok)]);
  } catch (error) {
    await cleanUp();
    throw error;
  }
  return { baseUrl, socketPath, stop: cleanUp, output: () => child.output() };
}

/** Anvil, the contract, and the server. */
export async function startSystem() {
  const binary = serverBinary();
  const clean = cleanEnvironment();
  const directory = mkdtempSync(join(tmpdir(), 'kedge-js-'));
  const anvil = await startAnvil();
  const children = [anvil.child];
  const cleanUp = async () => {
    const codes = [];
    for (const child of children.reverse()) codes.push(await stop(child, 'SIGTERM'));
    rmSync(directory, { recursive: true, force: true });
    return codes[0];
  };
  try {
    const sequencerKey = generatePrivateKey();
    const sequencer = privateKeyToAddress(sequencerKey);
    const deployment = await promisify(execFile)(binary, ['contract', 'deploy', '--rpc', anvil.url, '--sequencer', sequencer, '--json'], {
      env: { ...clean, KEDGE_SIGNING_KEY: FUNDED_KEY },
    });
    const contract = JSON.parse(deployment.stdout).contract;
    const port = await freePort();
    const socketPath = join(directory, 'admin.sock');
    const environment = {
      ...clean,
      KEDGE_LISTEN: `127.0.0.1:${port}`,
      KEDGE_DATA_DIR: join(directory, 'data'),
      KEDGE_HIGH_WATER_PATH: join(directory, 'high-water'),
      KEDGE_ADMIN_SOCKET: socketPath,
      KEDGE_CHAIN: 'rpc',
      KEDGE_CHECKPOINT_INTERVAL_S: '1',
      KEDGE_CHAIN_RPC_URL: anvil.url,
      KEDGE_CHAIN_ID: '31337',
      KEDGE_CHAIN_CONTRACT: contract,
      KEDGE_CHAIN_CONFIRMATIONS: '1',
      KEDGE_SEQUENCER_KEY: sequencerKey,
      KEDGE_ANCHOR_KEY: FUNDED_KEY,
      // The tests send more than a free organization may.
      KEDGE_RATE_LIMITS: 'off',
      // Receivers of webhooks are on this machine.
      KEDGE_WEBHOOK_ALLOWED_NETWORKS: '["127.0.0.0/8"]',
    };
    const baseUrl = `http://127.0.0.1:${port}`;
    const ready = async () => (await fetch(`${baseUrl}/readyz`)).ok;
    const serve = async () => {
      const server = start(binary, ['serve'], environment);
      children.push(server);
      await Promise.race([server.failed, eventually('the server', ready)]);
      return server;
    };
    let server = await serve();
    /** Ends the server with a signal and starts it again on the same data and port. */
    const restart = async (signal) => {
      await stop(server, signal);
      children.splice(children.indexOf(server), 1);
      server = await serve();
    };
    return { baseUrl, rpcUrl: anvil.url, contract, sequencer, socketPath, stop: cleanUp, restart, output: () => server.output() };
  } catch (error) {
    await cleanUp();
    throw error;
  }
}
