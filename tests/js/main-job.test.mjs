// The main path with a client that shares no code with the server: from a signed action to a proof that Ethereum holds.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { createPublicClient, http, isAddressEqual } from 'viem';
import { KedgeClient, ServerError, readTrust } from './kedge-client.mjs';
import { checkExport } from './export.mjs';
import { admin, eventually, rpc, startSystem } from './harness.mjs';
import * as p from './protocol.mjs';
import { checkBatchReceipt, checkNextHeader, checkProofFile } from './receipts.mjs';

const artifact = new URL('../../contracts/artifacts/KedgeAnchor.json', import.meta.url);
const { abi } = JSON.parse(readFileSync(artifact, 'utf8'));
const PASSWORD = 'a long enough passphrase';

let system;
let trust;
let ann;
let bob;
const chain = () => createPublicClient({ transport: http(system.rpcUrl) });
const read = (functionName, args = [], blockTag = 'latest') => chain().readContract({ address: system.contract, abi, functionName, args, blockTag });

before(async () => {
  system = await startSystem();
  trust = await readTrust(system.baseUrl);
  ann = new KedgeClient(system.baseUrl, trust);
  bob = new KedgeClient(system.baseUrl, trust);
});

after(async () => {
  if (system) assert.equal(await system.stop(), 0, 'the server drains and ends well');
});

async function refused(promise, status, code) {
  const error = await promise.then(
    () => assert.fail(`expected ${status} ${code}`),
    (reason) => reason,
  );
  assert.ok(error instanceof ServerError, String(error));
  assert.deepEqual([error.status, error.code], [status, code], error.message);
  return error;
}

test('the server speaks for the log of the contract', async () => {
  assert.equal(p.separator(trust.domain), await read('domainSeparator'));
  assert.ok(isAddressEqual(trust.sequencer, await read('sequencerKeyAt', [0n])));
  const [, name, version, chainId, verifyingContract] = await read('eip712Domain');
  assert.deepEqual([name, version, chainId], ['Digital Object Service', '3', trust.domain.chainId]);
  assert.ok(isAddressEqual(verifyingContract, trust.domain.verifyingContract));
});

test('registering and logging in', async () => {
  const email = 'ann@example.com';
  const answer = await ann.register({ email, password: PASSWORD, nickname: 'Ann' });
  assert.equal(answer.wallet.id, p.madeId('wal', answer.content, 0));
  assert.equal(answer.action_id, p.idText('act', answer.content));
  await bob.register({ email: 'bob@example.com', password: PASSWORD });
  const { wallet } = await ann.login(email, PASSWORD);
  assert.equal(wallet.id, answer.wallet.id);
  const me = (await ann.get('/wallets/me')).body;
  assert.deepEqual(me.nonces, [{ address: ann.account.address, highest: '1' }]);
  await refused(ann.send('POST', '/wallets/login', JSON.stringify({ email, password: 'not the passphrase' })), 401, 'CREDENTIALS_INVALID');
});

let template;
let minted;

test('a template, variations, and a batch of mints with one multiproof', async () => {
  template = await ann.createTemplate({ name: 'ticket', properties: { hall: 'north' }, public_access: true });
  assert.equal(template.id, p.madeId('tpl', template.content, 0));
  const made = await ann.createVariations(template.id, [{ name: 'stalls', properties: { row: 1 } }, { name: 'balcony', properties: {} }]);
  made.items.forEach((variation, i) => assert.equal(variation.id, p.madeId('var', made.content, i)));
  const mint = (i) => ({ kind: 'mint', target: template.id, payload: `{ "properties" :{"seat": "Ä${i} \\u0001", "n": 1.0} }` });
  // The third action must fail; the others are done, and the receipt says which.
  const actions = [mint(0), mint(1), { kind: 'lock', target: `obj_${'0'.repeat(26)}`, payload: '{}' }, mint(3)];
  minted = await ann.batch(actions);
  assert.deepEqual(minted.receipt.actions.map(({ index }) => index), [0, 1, 3]);
  assert.equal(minted.results[2].error.code, 'RESOURCE_NOT_FOUND');
  const id = p.madeId('obj', minted.contents[0], 0);
  const object = (await ann.get(`/objects/${id}`)).body;
  assert.deepEqual(object.properties, { hall: 'north', seat: 'Ä0 \u0001', n: 1 });
  assert.equal(object.integrity_hash, p.nextIntegrity(p.ZERO, minted.contents[0]));
});

test('an atomic batch is done whole or not at all', async () => {
  const id = p.madeId('obj', minted.contents[1], 0);
  const emit = { kind: 'emit', target: id, payload: '{"what":"seen"}' };
  const { receipt } = await ann.batch([emit, emit], { atomic: true });
  assert.equal(receipt.actions.length, 2);
  const error = await refused(ann.batch([emit, { kind: 'unlock', target: id, payload: '{}' }], { atomic: true }), 422, 'STATE_VIOLATION');
  assert.equal(error.body.index, 1);
  assert.equal((await ann.get(`/objects/${id}`)).body.version, 3);
});

test('an update and a transfer', async () => {
  const id = p.madeId('obj', minted.contents[0], 0);
  const updated = await ann.update(id, { seat: null, gate: 'B' });
  assert.deepEqual(updated.properties, { hall: 'north', n: 1, gate: 'B' });
  assert.equal(updated.version, 2);
  const given = await ann.transfer(id, bob.account.address);
  assert.ok(isAddressEqual(given.owner_address, bob.account.address));
  assert.equal(given.integrity_hash, given.receipt.leaf.integrity);
  await refused(ann.update(id, { gate: 'C' }), 403, 'FORBIDDEN');
});

test('the typed data of a preview is what a wallet signs', async () => {
  const id = p.madeId('obj', minted.contents[3], 0);
  const before = (await ann.get(`/objects/${id}`)).body;
  const body = `{"actions":[{"action_type":"update","object_id":"${id}","payload": { "properties": {"gate" : "Ä\\u0001"} } },{"action_type":"lock","object_id":"${id}"}],"atomic":true}`;
  const preview = await ann.preview(body);
  assert.equal(preview.would_commit, true);
  assert.deepEqual(preview.results.map(({ object }) => [object.version, object.status]), [[before.version + 1, 'active'], [before.version + 2, 'locked']]);
  assert.equal((await ann.get(`/objects/${id}`)).body.version, before.version);
  // As eth_signTypedData_v4 does it: from the JSON alone, types and domain included.
  const signature = await ann.account.signTypedData(preview.typed_data);
  const { body: done } = await ann.send('POST', '/ebus/actions/batch', body, { 'X-Signature': signature, ...preview.headers });
  assert.equal(done.results[1].object_version, before.version + 2);
  const after = (await ann.get(`/objects/${id}`)).body;
  assert.deepEqual([after.properties, after.status], [preview.results[1].object.properties, 'locked']);
});

test('signatures that do not fit are refused', async () => {
  const id = p.madeId('obj', minted.contents[1], 0);
  const payload = JSON.stringify({ properties: { gate: 'D' } });
  const version = async () => (await ann.get(`/objects/${id}`)).body.version;
  const known = await version();
  const attempt = async (options, body = payload) => {
    const { headers } = await ann.sign([{ kind: 'update', target: id, payload }], options);
    return ann.send('PATCH', `/objects/${id}`, body, headers);
  };
  await refused(attempt({}, `${payload} `), 401, 'SIGNATURE_INVALID');
  await refused(attempt({ domain: { ...trust.domain, chainId: 1n } }), 401, 'SIGNATURE_INVALID');
  await refused(attempt({ deadline: 1n }), 401, 'DEADLINE_EXPIRED');
  await refused(attempt({ nonce: 1n }), 409, 'NONCE_REUSED');
  await refused(ann.send('PATCH', `/objects/${id}`, payload), 401, 'SIGNATURE_REQUIRED');
  assert.equal(await version(), known);
  await attempt({});
  assert.equal(await version(), known + 1);
});

const copyOf = (value) => JSON.parse(JSON.stringify(value));

/** Every way to change one leaf of a JSON value a little. */
function* mutations(value, path = []) {
  for (const [key, member] of Object.entries(value)) {
    const here = [...path, key];
    if (member !== null && typeof member === 'object') yield* mutations(member, here);
    else if (typeof member === 'number') yield [here, member + 1];
    else if (typeof member === 'boolean') yield [here, !member];
    else if (typeof member === 'string') yield [here, member.endsWith('0') ? `${member.slice(0, -1)}1` : `${member.slice(0, -1)}0`];
  }
}

function changed(value, path, to) {
  const copy = copyOf(value);
  const parent = path.slice(0, -1).reduce((inner, key) => inner[key], copy);
  parent[path.at(-1)] = to;
  return copy;
}

test('a receipt with anything changed is refused', async () => {
  const contents = minted.contents;
  await checkBatchReceipt(minted.receipt, trust, contents);
  let count = 0;
  for (const [path, to] of mutations(minted.receipt)) {
    // Which of the request's actions an entry is decides its content; everything else is covered by hashes.
    await assert.rejects(checkBatchReceipt(changed(minted.receipt, path, to), trust, contents), `${path.join('.')} = ${to}`);
    count += 1;
  }
  assert.ok(count > 20);
  await assert.rejects(checkBatchReceipt(minted.receipt, trust, [...contents].reverse()), p.Refused);
});

/** The arguments of the contract's verifyAction. */
function onChain(proof) {
  const { leaf, batch, inclusion, anchor } = proof;
  const action = { sequence: BigInt(leaf.sequence), timestampMs: BigInt(leaf.timestamp_ms), content: leaf.content, integrity: leaf.integrity };
  return [BigInt(anchor.checkpoint.checkpoint.batches), p.headerMessage(batch.header), action, inclusion.path, anchor.path];
}

test('anchored: the proof file holds offline and on the chain, and no changed one does', async () => {
  const object = p.madeId('obj', minted.contents[0], 0);
  const actionId = p.idText('act', minted.contents[0]);
  const early = (await ann.get(`/ebus/actions/${actionId}/proof`)).body;
  assert.deepEqual(await checkProofFile(early, trust), { anchored: false, authorship: false });

  const command = await admin(system.socketPath, 'anchor_now');
  assert.equal(command.ok, true, JSON.stringify(command));
  const proof = await eventually('the anchor', async () => {
    await rpc(system.rpcUrl, 'evm_mine');
    const { body } = await ann.get(`/ebus/actions/${actionId}/proof?form=authorship`);
    return body.anchor === null ? null : body;
  });
  assert.deepEqual(await checkProofFile(proof, trust), { anchored: true, authorship: true });
  assert.equal(proof.action.target, template.id);
  assert.equal(proof.action.payload, '{ "properties" :{"seat": "Ä0 \\u0001", "n": 1.0} }');
  assert.equal(p.madeId('obj', proof.leaf.content, 0), object);

  const { batches, history, sequence } = proof.anchor.checkpoint.checkpoint;
  const record = await read('checkpoint', [BigInt(batches)], 'finalized');
  assert.deepEqual([record.history, record.sequence], [history, BigInt(sequence)]);
  assert.ok(isAddressEqual(proof.anchor.contract, system.contract));
  assert.ok(isAddressEqual(await read('sequencerKeyAt', [BigInt(batches - 1)]), trust.sequencer));
  assert.equal(await read('verifyAction', onChain(proof)), p.leafOf(proof.leaf));
  const receipt = await chain().getTransactionReceipt({ hash: proof.anchor.transaction_hash });
  assert.deepEqual([receipt.status, receipt.blockNumber], ['success', BigInt(proof.anchor.block_number)]);

  // The anchor's sender and place are stated for convenience; the chain is asked, not the file.
  const stated = ['sequencer', 'anchor.contract', 'anchor.transaction_hash', 'anchor.block_number'];
  let count = 0;
  for (const [path, to] of mutations(proof)) {
    if (stated.includes(path.join('.'))) continue;
    await assert.rejects(checkProofFile(changed(proof, path, to), trust), `${path.join('.')} = ${to}`);
    count += 1;
  }
  assert.ok(count > 30);
  for (const field of ['sequence', 'timestamp_ms', 'content', 'integrity']) {
    const leaf = { ...proof.leaf, [field]: mutations({ x: proof.leaf[field] }).next().value[1] };
    await assert.rejects(read('verifyAction', onChain({ ...proof, leaf })), /ActionNotInBatch/, field);
  }
  const batch = { ...proof.batch, header: { ...proof.batch.header, sealed_at_ms: proof.batch.header.sealed_at_ms + 1 } };
  await assert.rejects(read('verifyAction', onChain({ ...proof, batch })), /BatchNotInHistory/);
});

test('the whole log can be followed from its public parts', async () => {
  const { body } = await ann.get('/batches?limit=1000');
  assert.equal(body.has_more, false);
  const items = [...body.items].sort((a, b) => a.number - b.number);
  const hashes = [];
  let previous = null;
  for (const item of items) {
    const header = {
      number: item.number,
      first_sequence: item.first_sequence,
      count: item.action_count,
      previous_head: item.previous_head,
      head: item.head,
      root: item.merkle_root,
      history: item.history,
      state: item.state,
      sealed_at_ms: item.sealed_at_ms,
    };
    const { leaves } = (await ann.get(`/batches/${item.number}/leaves`)).body;
    await checkNextHeader({ header, signature: item.signature }, leaves, 0, previous, hashes, trust);
    assert.equal(p.idText('bat', p.batchHash(header)), item.id);
    hashes.push(p.batchHash(header));
    previous = header;
  }
  const root = (size) => p.rootOf(hashes.slice(0, size).map(p.logLeaf));
  const consistency = (await ann.get(`/consistency?from=1&to=${hashes.length}`)).body;
  p.checkConsistency(1, hashes.length, root(1), root(hashes.length), consistency.proof);
  assert.throws(() => p.checkConsistency(1, hashes.length, root(2), root(hashes.length), consistency.proof), p.Refused);
  const { last_sequence: last } = (await ann.get(`/batches/${hashes.length - 1}`)).body;
  const { checkpoint, signature } = (await ann.get(`/checkpoint?at_least=${last}&wait=60`)).body;
  assert.deepEqual([checkpoint.batches, checkpoint.history], [hashes.length, root(hashes.length)]);
  const digest = p.digestOf(trust.domain, 'Checkpoint', p.checkpointMessage(checkpoint));
  assert.ok(isAddressEqual(await p.recoverSigner(digest, signature), trust.sequencer));
});

test('an export is checked to its signed head, and no changed one is', async () => {
  const response = await fetch(`${system.baseUrl}/export`, { headers: { authorization: `Bearer ${ann.token}` } });
  assert.equal(response.headers.get('content-type'), 'application/x-ndjson');
  const text = await response.text();
  const { checkpoint, opened } = await checkExport(text, trust);
  const stated = (await ann.get(`/checkpoint?at_least=${checkpoint.sequence}`)).body.checkpoint;
  assert.deepEqual([checkpoint.head, checkpoint.history], [stated.head, stated.history]);
  assert.ok(opened > 0 && opened < checkpoint.sequence, 'her own actions are open, others are leaves');
  const lines = text.trimEnd().split('\n');
  for (const type of ['batch', 'request', 'checkpoint']) {
    const at = lines.findLastIndex((line) => JSON.parse(line).type === type);
    const digit = lines[at].lastIndexOf('"signature":"0x') + 20;
    const bent = lines[at].slice(0, digit) + (lines[at][digit] === '0' ? '1' : '0') + lines[at].slice(digit + 1);
    await assert.rejects(checkExport([...lines.slice(0, at), bent, ...lines.slice(at + 1), ''].join('\n'), trust), p.Refused, type);
  }
});
