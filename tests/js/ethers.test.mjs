// ethers as the signing library: the server accepts everything that it signs, and nothing else.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Signature, Wallet } from 'ethers';
import { EthersClient, TYPES } from './ethers-client.mjs';
import { startSystem } from './harness.mjs';
import { readTrust } from './kedge-client.mjs';
import * as p from './protocol.mjs';
import { checkBatchReceipt, checkReceipt } from './receipts.mjs';

const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

let system;
let trust;
let ann;
let bob;
let template;
let object;

before(async () => {
  system = await startSystem();
  trust = await readTrust(system.baseUrl);
  ann = await EthersClient.connect(system.baseUrl);
  bob = await EthersClient.connect(system.baseUrl);
});

after(async () => {
  if (system) assert.equal(await system.stop(), 0, 'the server drains and ends well');
});

/** The answer, which must have this status and a receipt for what was signed. */
async function done({ status, body, content }, wanted) {
  assert.equal(status, wanted, JSON.stringify(body));
  await checkReceipt(body.receipt, trust, content);
  return body;
}

test('wallets, a template and an object', async () => {
  await done(await ann.register('ann@example.com'), 201);
  await done(await bob.register('bob@example.com'), 201);
  template = await done(await ann.change('POST', '/templates', 'template.create', '', '{"name":"ticket","properties":{"hall":"north"}}'), 201);
  const mint = `{ "template_id": "${template.id}", "properties": {"seat": "Ä1 \\u0001", "n": 1.0} }`;
  object = await done(await ann.change('POST', '/objects', 'mint', template.id, mint), 201);
  assert.deepEqual(object.properties, { hall: 'north', seat: 'Ä1 \u0001', n: 1 });
  const patched = await done(await ann.change('PATCH', `/objects/${object.id}`, 'update', object.id, '{"properties":{"n":null}}'), 200);
  assert.deepEqual([patched.properties, patched.version], [{ hall: 'north', seat: 'Ä1 \u0001' }, 2]);
});

test('one action, signed as the preview has it', async () => {
  const body = `{"action_type":"update","object_id":"${object.id}","payload": {"properties" : {"gate":"B"}} }`;
  const signed = await ann.signPreview(body);
  const answer = await ann.send('POST', '/ebus/actions', body, signed.headers);
  const action = await done({ ...answer, content: signed.contents[0] }, 201);
  assert.equal(action.object_version, 3);
});

test('batches, signed as the preview has them', async () => {
  const mint = `{"action_type":"mint","template_id":"${template.id}","payload":{"properties":{"gate":"C"}}}`;
  const transfer = `{"action_type":"transfer","object_id":"${object.id}","payload":{"to":"${bob.wallet.address}"}}`;
  const update = `{"action_type":"update","object_id":"${object.id}","payload":{"properties":{"late":true}}}`;
  for (const [atomic, actions, refused] of [[true, [mint, mint], []], [false, [mint, transfer, update, mint], [2]]]) {
    const body = `{"actions":[${actions.join(', ')}],"atomic":${atomic}}`;
    const { preview, contents, headers } = await ann.signPreview(body);
    assert.equal(preview.would_commit, true);
    const answer = await ann.send('POST', '/ebus/actions/batch', body, headers);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    await checkBatchReceipt(answer.body.receipt, trust, contents);
    answer.body.results.forEach(({ error }, i) => assert.equal(error?.code, refused.includes(i) ? 'FORBIDDEN' : undefined));
  }
  assert.equal((await bob.read(`/objects/${object.id}`)).owner_address, bob.wallet.address);
  const back = await bob.change('POST', `/objects/${object.id}/transfer`, 'transfer', object.id, `{"to":"${ann.wallet.address}"}`);
  await done(back, 200);
});

const flipped = (hex, at) => `${hex.slice(0, at)}${(parseInt(hex[at], 16) ^ 1).toString(16)}${hex.slice(at + 1)}`;

/** Each part of the typed data, with the smallest change. */
function* mutations({ domain, message }) {
  const ofDomain = (change) => ({ domain: { ...domain, ...change }, message });
  const ofMessage = (change) => ({ domain, message: { ...message, ...change } });
  const ofAction = (index, change) => ofMessage({ actions: message.actions.map((action, i) => (i === index ? { ...action, ...change } : action)) });
  yield ['domain.name', ofDomain({ name: `${domain.name} ` })];
  yield ['domain.version', ofDomain({ version: '2' })];
  yield ['domain.chainId', ofDomain({ chainId: Number(domain.chainId) + 1 })];
  yield ['domain.verifyingContract', ofDomain({ verifyingContract: flipped(domain.verifyingContract.toLowerCase(), 41) })];
  yield ['signer', ofMessage({ signer: flipped(message.signer.toLowerCase(), 41) })];
  yield ['nonce', ofMessage({ nonce: message.nonce + 1 })];
  yield ['deadline', ofMessage({ deadline: message.deadline + 1 })];
  yield ['atomic', ofMessage({ atomic: !message.atomic })];
  for (let i = 0; i < message.actions.length; i += 1) {
    const { kind, target, payload, salt } = message.actions[i];
    yield [`actions[${i}].kind`, ofAction(i, { kind: kind === 'lock' ? 'burn' : 'set_attributes' })];
    yield [`actions[${i}].target`, ofAction(i, { target: `${target.slice(0, -1)}${target.endsWith('0') ? '1' : '0'}` })];
    yield [`actions[${i}].payload`, ofAction(i, { payload: `${payload} ` })];
    yield [`actions[${i}].payload, one letter`, ofAction(i, { payload: payload.replace('s', 't') })];
    yield [`actions[${i}].salt`, ofAction(i, { salt: flipped(salt, 65) })];
  }
  yield ['actions, the other way round', ofMessage({ actions: [...message.actions].reverse() })];
  yield ['actions, without the last', ofMessage({ actions: message.actions.slice(0, -1) })];
  yield ['actions, with one more', ofMessage({ actions: [...message.actions, message.actions[0]] })];
}

/** Two updates that are valid as they are. */
function request() {
  const actions = ['{"properties":{"s":1}}', '{"properties":{"s":2}}'].map((payload) => ({ kind: 'update', target: object.id, payload }));
  return ann.message(actions, true);
}

const bodyOf = ({ actions, atomic }) =>
  `{"actions":[${actions.map(({ kind, target, payload }) => `{"action_type":"${kind}","object_id":"${target}","payload":${payload}}`).join()}],"atomic":${atomic}}`;

/** Sends, expects this refusal, and checks that nothing has changed. */
async function refused(what, body, headers, status, code) {
  const state = async () => [(await ann.read(`/objects/${object.id}`)).version, (await ann.read('/batches?order=desc&limit=1')).items[0].last_sequence];
  const known = await state();
  const answer = await ann.send('POST', '/ebus/actions/batch', body, headers);
  assert.deepEqual([answer.status, answer.body.code], [status, code], `${what}: ${JSON.stringify(answer.body)}`);
  assert.deepEqual(await state(), known, what);
}

test('a signature of typed data that differs anywhere is refused', async () => {
  const asked = request();
  const body = bodyOf(asked.message);
  let count = 0;
  for (const [what, { domain, message }] of mutations({ domain: ann.domain, message: asked.message })) {
    await refused(what, body, ann.headers(asked, await ann.sign(message, domain)), 401, 'SIGNATURE_INVALID');
    count += 1;
  }
  assert.equal(count, 8 + 2 * 5 + 3);
  // None of this spent the nonce: the unchanged request is accepted.
  const answer = await ann.send('POST', '/ebus/actions/batch', body, ann.headers(asked, await ann.sign(asked.message)));
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
});

test('a request that differs anywhere from what was signed is refused', async () => {
  const asked = request();
  const signature = await ann.sign(asked.message);
  const headers = ann.headers(asked, signature);
  const body = bodyOf(asked.message);
  const { r, s, v } = Signature.from(signature);
  const highS = `${r}${(CURVE_ORDER - BigInt(s)).toString(16).padStart(64, '0')}${v === 27 ? '1c' : '1b'}`;
  const [first, second] = asked.message.actions;
  const bodies = [
    { ...asked.message, atomic: false },
    { ...asked.message, actions: [second, first] },
    { ...asked.message, actions: [first] },
    { ...asked.message, actions: [first, second, second] },
    { ...asked.message, actions: [{ ...first, kind: 'set_attributes' }, second] },
    { ...asked.message, actions: [first, { ...second, target: flipped(second.target, 29) }] },
    { ...asked.message, actions: [first, { ...second, payload: '{"properties":{"s":3}}' }] },
    { ...asked.message, actions: [first, { ...second, payload: '{"properties": {"s":2}}' }] },
  ].map((message) => [bodyOf(message), {}]);
  const others = [
    { 'x-signature-nonce': String(asked.message.nonce + 1) },
    { 'x-signature-deadline': String(asked.message.deadline + 1) },
    { 'x-signature-deadline': String(asked.message.deadline - 1) },
    { 'x-signature-salt': flipped(asked.seed, 65) },
    { 'x-signature-address': bob.wallet.address },
    { 'x-signature': flipped(signature, 2) },
    { 'x-signature': `${signature.slice(0, 130)}${v === 27 ? '1c' : '1b'}` },
    { 'x-signature': flipped(signature, 100) },
    { 'x-signature': highS },
    { 'x-signature': signature.slice(0, -2) },
  ].map((change) => [body, change]);
  for (const [changed, change] of [...bodies, ...others]) {
    await refused(`${changed} ${JSON.stringify(change)}`, changed, { ...headers, ...change }, 401, 'SIGNATURE_INVALID');
  }
  await refused('expired', body, ann.headers({ ...asked, message: { ...asked.message, deadline: 1 } }, signature), 401, 'DEADLINE_EXPIRED');
  const stranger = Wallet.createRandom();
  const foreign = { ...asked.message, signer: stranger.address };
  const signed = await stranger.signTypedData(ann.domain, TYPES, foreign);
  await refused('another wallet', body, ann.headers({ ...asked, message: foreign }, signed), 403, 'FORBIDDEN');
  assert.equal((await ann.send('POST', '/ebus/actions/batch', body, headers)).status, 200);
  await refused('the same again', body, headers, 409, 'NONCE_REUSED');
});
