// Proofs of a real server's state, read by libraries for Ethereum's tries, which know nothing of Kedge: @ethereumjs/mpt
// and, where Go is installed, go-ethereum's trie. This client reads them too, and comes to the same verdicts.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { verifyMerkleProof } from '@ethereumjs/mpt';
import { bytesToHex, hexToBytes, keccak256, stringToBytes, stringToHex } from 'viem';
import { startDevelopment } from './harness.mjs';
import { KedgeClient, readTrust } from './kedge-client.mjs';
import * as p from './protocol.mjs';
import { checkStateProof } from './state.mjs';

const COUNT = 1_000;
const BATCH = 500;
const VARIATIONS = 100;
const READERS = 8;
const NOTHING = '0x';
/** Ids of actions are keys for presence alone; the others can be shown to be absent. */
const PREFIXES = ['obj', 'wal', 'org', 'tpl', 'var', 'key', 'whk', 'fil', 'dsp'];
const VECTORS = new URL('../../crates/protocol/vectors/state-served.json', import.meta.url);
const GETH = fileURLToPath(new URL('../geth', import.meta.url));

// Claims about the state under `root`, each {key, entry, nodes}; an entry of `0x` claims absence.
let root;
let present;
let absent;
let changed;

/** Ids of what a client made: as many as `COUNT`, of several types, all under one checkpoint. */
async function made(client) {
  const { wallet } = await client.register({ email: 'ann@example.com', password: 'a long enough passphrase' });
  const template = await client.createTemplate({ name: 'ticket' });
  const names = Array.from({ length: VARIATIONS }, (_, i) => ({ name: `row ${i}` }));
  const variations = await client.createVariations(template.id, names);
  const ids = [wallet.id, wallet.organization_id, template.id, ...variations.items.map(({ id }) => id)];
  while (ids.length < COUNT) {
    const mints = Array.from({ length: Math.min(BATCH, COUNT - ids.length) }, (_, n) => ({ kind: 'mint', target: template.id, payload: `{"properties":{"n":${n}}}` }));
    const { contents } = await client.batch(mints, { atomic: true });
    ids.push(...contents.map((content) => p.madeId('obj', content, 0)));
  }
  const { items } = (await client.get('/batches?order=desc&limit=1')).body;
  await client.get(`/checkpoint?at_least=${items[0].last_sequence}&wait=60`);
  return ids;
}

/** The claims of the answers about ids, in their order. */
async function claimsOf(client, ids) {
  const claims = [];
  const waiting = [...ids.entries()];
  const read = async () => {
    while (waiting.length > 0) {
      const [place, id] = waiting.pop();
      const { body } = await client.get(`/state/${id}`);
      root ??= body.checkpoint.checkpoint.state;
      assert.deepEqual([body.key, body.checkpoint.checkpoint.state, body.entry !== NOTHING], [id, root, body.present]);
      claims[place] = { key: id, entry: body.entry, nodes: body.nodes };
    }
  };
  await Promise.all(Array.from({ length: READERS }, read));
  return claims;
}

function flipped(hex) {
  const bytes = hexToBytes(hex);
  bytes[randomInt(bytes.length)] ^= 1 << randomInt(8);
  return bytesToHex(bytes);
}

/** Changes that no reader may overlook, whatever it thinks of nodes that it does not need. */
const CHANGES = [
  function anotherEntry(claim) {
    return { ...claim, entry: claim.entry === NOTHING ? '0xc0' : flipped(claim.entry) };
  },
  function theOpposite(claim) {
    return { ...claim, entry: claim.entry === NOTHING ? present[0].entry : NOTHING };
  },
  function anotherKey(claim) {
    const [one, other] = [present[randomInt(COUNT / 2)], present[COUNT / 2 + randomInt(COUNT / 2)]];
    return { ...claim, key: one.key === claim.key ? other.key : one.key };
  },
  function flippedBit({ nodes, ...claim }) {
    const place = randomInt(nodes.length);
    return { ...claim, nodes: nodes.with(place, flipped(nodes[place])) };
  },
  function nodeLess({ nodes, ...claim }) {
    return { ...claim, nodes: nodes.toSpliced(randomInt(nodes.length), 1) };
  },
  function nodeOfAnother({ nodes, ...claim }) {
    const others = present.find((other) => !nodes.includes(other.nodes.at(-1)));
    return { ...claim, nodes: nodes.with(-1, others.nodes.at(-1)) };
  },
];

before(async () => {
  const server = await startDevelopment({ KEDGE_RATE_LIMITS: 'off' });
  try {
    const client = new KedgeClient(server.baseUrl, await readTrust(server.baseUrl));
    present = await claimsOf(client, await made(client));
    const ids = Array.from({ length: COUNT }, (_, i) => p.idText(PREFIXES[i % PREFIXES.length], bytesToHex(randomBytes(32))));
    absent = await claimsOf(client, ids);
  } finally {
    await server.stop();
  }
  // Each change of claims of both kinds.
  const good = (i) => (Math.floor(i / CHANGES.length) % 2 === 0 ? present : absent)[i];
  changed = Array.from({ length: COUNT }, (_, i) => CHANGES[i % CHANGES.length](good(i)));
  if (process.env.KEDGE_WRITE_SERVED) writeFileSync(VECTORS, recorded());
});

/** The proofs as a vector: each node once, and one proof a line. */
function recorded() {
  const places = new Map();
  const placeOf = (node) => {
    if (!places.has(node)) places.set(node, places.size);
    return places.get(node);
  };
  const line = ({ key, entry, nodes }) => ({ key, ...(entry !== NOTHING && { value: keccak256(entry) }), nodes: nodes.map(placeOf) });
  const list = (items) => `[\n${items.map((item) => JSON.stringify(item)).join(',\n')}\n]`;
  const [shown, missing] = [present, absent].map((claims) => list(claims.map(line)));
  return `{\n"root": "${root}",\n"nodes": ${list([...places.keys()])},\n"present": ${shown},\n"absent": ${missing}\n}\n`;
}

test('the server proves a thousand ids present and a thousand absent', () => {
  assert.deepEqual([present.length, absent.length, changed.length], [COUNT, COUNT, COUNT]);
  assert.ok(present.every(({ entry }) => entry !== NOTHING) && absent.every(({ entry }) => entry === NOTHING));
  assert.equal(new Set([...present, ...absent].map(({ key }) => key)).size, 2 * COUNT);
  assert.deepEqual([...new Set(present.map(({ key }) => key.slice(0, 3)))], ['wal', 'org', 'tpl', 'var', 'obj']);
});

/** Asks a reader about every claim; `holds` says whether a claim is shown. */
async function readerAgrees(holds) {
  for (const claim of [...present, ...absent]) assert.ok(await holds(claim), JSON.stringify(claim));
  for (const claim of changed) assert.ok(!(await holds(claim)), JSON.stringify(claim));
}

// Holds invariant 266.
test('@ethereumjs/mpt finds what the proofs state, and refuses changed ones', async () => {
  await readerAgrees(async ({ key, entry, nodes }) => {
    const options = { useKeyHashing: true, root: hexToBytes(root) };
    const found = await verifyMerkleProof(stringToBytes(key), nodes.map((node) => hexToBytes(node)), options).catch(() => undefined);
    if (found === undefined) return false;
    return entry === NOTHING ? found === null : found !== null && bytesToHex(found) === keccak256(entry);
  });
});

// Holds invariant 253.
test('this client reads the same', async () => {
  await readerAgrees(({ key, entry, nodes }) => {
    try {
      checkStateProof(root, key, entry, nodes);
      return true;
    } catch (error) {
      assert.ok(error instanceof p.Refused, String(error));
      return false;
    }
  });
});

/** Why go-ethereum cannot be asked, or false. */
async function withoutGo() {
  const wanted = /^go ([0-9.]+)$/m.exec(readFileSync(join(GETH, 'go.mod'), 'utf8'))[1];
  try {
    const { stdout } = await run('go', ['env', 'GOVERSION']);
    const found = /go([0-9.]*[0-9])/.exec(stdout)[1];
    const isOlder = found.localeCompare(wanted, undefined, { numeric: true }) < 0;
    return isOlder && `Go is ${found}, and go-ethereum needs ${wanted}: it checks nothing`;
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    return 'Go is not installed: go-ethereum checks nothing';
  }
}

/** Runs a command of Go in the program's folder, without fetching another Go or asking for a C compiler. */
function run(command, args) {
  return promisify(execFile)(command, args, { cwd: GETH, env: { ...process.env, CGO_ENABLED: '0', GOTOOLCHAIN: 'local' } });
}

// Holds invariant 266.
test("go-ethereum's trie finds what the proofs state, and refuses changed ones", { skip: await withoutGo() }, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'kedge-geth-'));
  try {
    const file = join(directory, 'claims.json');
    const paths = (claims) => claims.map(({ key, entry, nodes }) => ({ key: stringToHex(key), entry, nodes }));
    writeFileSync(file, JSON.stringify({ root, holding: paths([...present, ...absent]), changed: paths(changed) }));
    const { stdout } = await run('go', ['run', '.', file]);
    assert.equal(stdout, `${COUNT} present, ${COUNT} absent, ${COUNT} refused\n`);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
