// The client on a real server: what it signs is done, what it returns is checked, and what was changed is refused.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import {
  JsonText, KedgeClient, NotModified, Refused, ServerError, type Schemas, answerInfo, signConsent, signerOf, verifyBatchReceipt, verifyExport,
  verifyProofFile,
} from '@kedge/sdk';
import { createWalletClient, custom, http } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { foundry } from 'viem/chains';
import { keepAliveFetch } from '@kedge/sdk/node';
import { PASSWORD, admin, eventually, registered, serverOfFile } from './setup.js';

const server = serverOfFile();
const big = 12345678901234567890n;

const refusedWith = (code: string) => (error: unknown): boolean => error instanceof ServerError && error.code === code;

test('from a registration to a proof that is anchored', async () => {
  const ann = await registered(server.baseUrl);
  const template = await ann.createTemplate({ name: 'ticket', properties: { gate: 'D' } });
  const object = await ann.mintObject({ template_id: template.id, properties: { seat: 7 } });
  assert.deepEqual(object.properties, { gate: 'D', seat: 7 });
  const proof = await eventually('the anchor', async () => {
    assert.equal((await admin(server.socketPath, 'anchor_now')).ok, true);
    const file = await ann.getActionProof(object.action_id, { form: 'authorship' });
    return file.anchor && file;
  });
  const facts = verifyProofFile(proof, await ann.trust());
  assert.deepEqual([facts.anchored, facts.authorship, facts.action.kind], [true, true, 'mint']);
  assert.equal(facts.checkpoint?.batches, BigInt(proof.anchor?.checkpoint.checkpoint.batches as number));
  const changed = structuredClone(proof);
  changed.action.payload += ' ';
  assert.throws(() => verifyProofFile(changed, { ...facts, domain: { chainId: 1n, verifyingContract: '0x' }, sequencer: '' }), Refused);
  assert.throws(() => verifyProofFile(JSON.stringify(proof).replace('"version":1', '"version":1e0'), { domain: { chainId: 1n, verifyingContract: '0x' }, sequencer: '' }), Refused);
});

test('many requests in flight have nonces of their own, and all are done once', async () => {
  const ann = await registered(server.baseUrl, { fetch: keepAliveFetch() });
  const template = await ann.createTemplate({ name: 'ticket' });
  const outcomes = await Promise.all(Array.from({ length: 1500 }, (_, n) => ann.submitAction({ action_type: 'mint', template_id: template.id, payload: { properties: { n } } })));
  assert.equal(new Set(outcomes.map(({ nonce }) => nonce)).size, 1500);
  // An answer of many pieces.
  assert.equal((await ann.listObjects({ limit: 1000 })).items.length, 1000);
  assert.equal((await ann.countObjects({ filter: { field: 'template_id', op: 'eq', value: template.id } })).count, 1500);
});

test('two processes with one key do not disturb each other', async () => {
  const signer = generatePrivateKey();
  const ann = await registered(server.baseUrl, { signer });
  const template = await ann.createTemplate({ name: 'ticket' });
  const session = ann.session;
  assert.ok(session);
  const again = new KedgeClient({ baseUrl: server.baseUrl, signer, session });
  const mint = (client: KedgeClient) => client.mintObject({ template_id: template.id });
  for (let round = 0; round < 5; round += 1) await Promise.all([mint(ann), mint(again), mint(ann), mint(again)]);
  assert.equal((await ann.listObjects({ template_id: template.id })).items.length, 20);
});

test('an API key acts for its organization, signed by a wallet of it', async () => {
  const signer = generatePrivateKey();
  const ann = await registered(server.baseUrl, { signer });
  const template = await ann.createTemplate({ name: 'ticket' });
  const crud = { create: true, read: true, update: true, delete: true };
  const { key } = await ann.createApiKey({ name: 'minter', permissions: [{ resource: 'objects', crud }, { resource: 'actions', crud }] });
  const minter = new KedgeClient({ baseUrl: server.baseUrl, signer, apiKey: key });
  const object = await minter.mintObject({ template_id: template.id });
  assert.equal((await minter.getObject(object.id)).id, object.id);
  await assert.rejects(minter.createTemplate({ name: 'another' }), refusedWith('FORBIDDEN'));
});

test("viem's accounts and wallet clients sign", async () => {
  const account = privateKeyToAccount(generatePrivateKey());
  const ann = await registered(server.baseUrl, { signer: account });
  await ann.createTemplate({ name: 'by an account' });
  const local = createWalletClient({ account: privateKeyToAccount(generatePrivateKey()), chain: foundry, transport: http('http://127.0.0.1:9') });
  const bob = await registered(server.baseUrl, { signer: local });
  await bob.createTemplate({ name: 'by a wallet client' });
  // A wallet in a browser gets the typed data over its provider, and shows it.
  const inBrowser = privateKeyToAccount(generatePrivateKey());
  const asked: string[] = [];
  const request = async ({ method, params }: { method: string; params?: unknown }): Promise<unknown> => {
    asked.push(method);
    const [, typed] = params as [string, string];
    return inBrowser.signTypedData(JSON.parse(typed));
  };
  const remote = createWalletClient({ account: inBrowser.address, chain: foundry, transport: custom({ request }) });
  const cleo = await registered(server.baseUrl, { signer: remote });
  await cleo.createTemplate({ name: 'by a wallet in a browser' });
  assert.deepEqual(asked, ['eth_signTypedData_v4', 'eth_signTypedData_v4']);
});

test('payloads are signed as they are written, and no number is rounded', async () => {
  const ann = await registered(server.baseUrl);
  const template = await ann.createTemplate({ name: 'ticket' });
  const mint = await ann.submitAction({ action_type: 'mint', template_id: template.id, payload: new JsonText(' { "properties": {"seat": "Ä0 \\u0001", "n": 1.0} } ') });
  const { action } = await ann.getActionProof(mint.id);
  assert.equal(action.payload, '{ "properties": {"seat": "Ä0 \\u0001", "n": 1.0} }');
  const object = await ann.mintObject({ template_id: template.id, properties: { big, small: 5 } });
  assert.deepEqual(object.properties, { big, small: 5 });
  const { properties } = await ann.getObject(object.id);
  assert.deepEqual(properties, { big, small: 5 });
});

test('a batch has one outcome for each action, and knows the ids of what it makes', async () => {
  const ann = await registered(server.baseUrl);
  const { id } = await ann.createTemplate({ name: 'ticket' });
  const [first, second, refused] = await ann.batch().mint(id, { n: 1 }).mint(id, { n: 2 }).unlock('obj_00000000000000000000000000').send();
  assert.ok(first?.objectId && second?.objectId && refused);
  assert.deepEqual((await ann.getObject(second.objectId)).properties, { n: 2 });
  assert.equal((await ann.getAction(first.actionId as string)).object_id, first.objectId);
  assert.deepEqual([refused.actionId, refused.error?.code], [null, 'RESOURCE_NOT_FOUND']);
  const object = first.objectId;
  const minimal = await ann.batch().update(object, { n: 3 }).lock(object).unlock(object).emit(object, { seen: true }).transfer(object, ann.address).burn(object).send({ minimal: true });
  assert.ok(minimal.every(({ error }) => error === null));
  assert.equal((await ann.getObject(object)).status, 'burned');
  await assert.rejects(ann.batch({ atomic: true }).mint(id).unlock(object).send(), refusedWith('STATE_VIOLATION'));
  const large = ann.batch();
  for (let n = 0; n < 1100; n += 1) large.mint(id, { n });
  assert.equal((await large.sendAll({ minimal: true })).filter(({ objectId }) => objectId !== null).length, 1100);
});

test('a list is its first page, all its records, or its pages', async () => {
  const ann = await registered(server.baseUrl);
  const { id } = await ann.createTemplate({ name: 'ticket' });
  const batch = ann.batch();
  for (let n = 0; n < 25; n += 1) batch.mint(id, { n });
  const ids = (await batch.send()).map(({ objectId }) => objectId);
  const page = await ann.listObjects({ limit: 10 });
  assert.deepEqual([page.items.length, page.has_more], [10, true]);
  const all: string[] = [];
  for await (const object of ann.listObjects({ limit: 10 })) all.push(object.id);
  assert.deepEqual(all, ids);
  const sizes: number[] = [];
  for await (const { items } of ann.searchObjects({ filter: { field: 'template_id', op: 'eq', value: id }, limit: 10 }).pages()) sizes.push(items.length);
  assert.deepEqual(sizes, [10, 10, 5]);
  assert.equal((await ann.listObjects({ limit: 10 }).take(12)).length, 12);
});

test('conditions, and what the headers state', async () => {
  const ann = await registered(server.baseUrl);
  const { id } = await ann.createTemplate({ name: 'ticket' });
  const object = await ann.mintObject({ template_id: id });
  const read = await ann.getObject(object.id, { min_sequence: object.sequence }, { requestId: 'read-1' });
  const { etag, requestId, sequence, status } = answerInfo(read);
  assert.ok(etag !== null && sequence !== null && sequence >= BigInt(object.sequence));
  assert.deepEqual([requestId, status], ['read-1', 200]);
  await assert.rejects(ann.getObject(object.id, {}, { ifNoneMatch: etag }), NotModified);
  await ann.updateObject(object.id, { properties: { n: 1 } }, { ifMatch: etag });
  await assert.rejects(ann.updateObject(object.id, { properties: { n: 2 } }, { ifMatch: etag }), refusedWith('PRECONDITION_FAILED'));
  const once = { idempotencyKey: 'order-118' };
  const first = await ann.mintObject({ template_id: id }, once);
  const second = await ann.mintObject({ template_id: id }, once);
  assert.deepEqual([second.id, answerInfo(second).replayed], [first.id, true]);
  const batch = () => ann.batch().mint(id).unlock(object.id).send({ idempotencyKey: 'order-119' });
  const [done, again] = [await batch(), await batch()];
  assert.deepEqual(again.map(({ objectId }) => objectId), done.map(({ objectId }) => objectId));
  assert.throws(() => answerInfo({}), TypeError);
});

test('members, keys and roles: each signs what the service expects', async () => {
  const ann = await registered(server.baseUrl);
  const { code, id: invitation } = await ann.inviteMember({ role: 'member' });
  const organization = await ann.getOwnOrganization();
  const bob = new KedgeClient({ baseUrl: server.baseUrl, signer: generatePrivateKey() });
  const { wallet } = await bob.registerWallet({ email: 'bob@member.example', password: PASSWORD, organization_id: organization.id, invitation: code });
  assert.equal((await ann.setMemberRole(wallet.id, { wallet_id: wallet.id, role: 'admin' })).role, 'admin');
  await assert.rejects(ann.revokeInvitation(invitation), ServerError);
  const second = await ann.inviteMember({});
  await ann.revokeInvitation(second.id);
  for (const signer of [generatePrivateKey(), privateKeyToAccount(generatePrivateKey())]) {
    assert.equal((await bob.addSigner(signer)).id, wallet.id);
    const { address } = signerOf(signer);
    await bob.removeWalletKey(address);
    const other = await signConsent(signerOf(generatePrivateKey()), (await bob.trust()).domain, wallet.id);
    await assert.rejects(bob.addWalletKey({ ...other, address }), refusedWith('STATE_VIOLATION'));
  }
  const word = 'another long enough passphrase';
  await bob.updateOwnWallet({ nickname: 'bob', password: word, current_password: PASSWORD });
  await bob.login('bob@member.example', word);
  assert.equal((await bob.getOwnWallet()).nickname, 'bob');
  await ann.removeMember(wallet.id);
  await bob.logout().catch(() => {});
  assert.equal(bob.session, null);
  const { id } = await ann.createTemplate({ name: 'ticket' });
  await ann.updateTemplate(id, { description: 'a seat' });
  const made = await ann.createVariations(id, { variations: [{ name: 'balcony', properties: { area: 'balcony' } }] });
  assert.equal((await ann.listVariations(id)).items[0]?.id, made.items[0]?.id);
});

test('files are uploaded by their digest and read back, whole or in part', async () => {
  const ann = await registered(server.baseUrl, { fetch: keepAliveFetch() });
  const bytes = new Uint8Array(200_000).map((_, i) => i % 251);
  const file = await ann.uploadFile({ file: bytes, name: 'numbers.bin' });
  assert.equal(file.sha256, `0x${createHash('sha256').update(bytes).digest('hex')}`);
  const whole = new Uint8Array(await (await ann.getFileContent(file.id)).arrayBuffer());
  assert.deepEqual(whole, bytes);
  const part = await ann.getFileContent(file.id, { range: 'bytes=10-19' });
  assert.deepEqual([part.status, new Uint8Array(await part.arrayBuffer())], [206, bytes.slice(10, 20)]);
  const empty = await ann.uploadFile({ file: new Blob(['text']), name: 'ä b.txt' });
  assert.equal(empty.name, 'ä b.txt');
});

const copyOf = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

/** Every way to change one value of JSON a little. */
function* mutations(value: object, path: string[] = []): Generator<[string[], unknown]> {
  for (const [key, member] of Object.entries(value)) {
    const here = [...path, key];
    if (member !== null && typeof member === 'object') yield* mutations(member as object, here);
    else if (typeof member === 'number') yield [here, member + 1];
    else if (typeof member === 'string') yield [here, member.endsWith('0') ? `${member.slice(0, -1)}1` : `${member.slice(0, -1)}0`];
  }
}

test('a receipt with anything changed is refused, and the client refuses it too', async () => {
  const ann = await registered(server.baseUrl);
  const { id } = await ann.createTemplate({ name: 'ticket' });
  const reply = await ann.submitBatch({ actions: [{ action_type: 'mint', template_id: id }, { action_type: 'mint', template_id: id }] });
  const trust = await ann.trust();
  const receipt = reply.receipt as Schemas['BatchReceipt'];
  assert.equal(verifyBatchReceipt(receipt, trust, reply.contents).size, 2);
  let count = 0;
  for (const [path, to] of mutations(receipt)) {
    const copy = copyOf(receipt) as object;
    const parent = path.slice(0, -1).reduce<Record<string, unknown>>((inner, key) => inner[key] as Record<string, unknown>, copy as Record<string, unknown>);
    parent[path.at(-1) as string] = to;
    assert.throws(() => verifyBatchReceipt(copy, trust, reply.contents), Refused, path.join('.'));
    count += 1;
  }
  assert.ok(count > 20);
  assert.throws(() => verifyBatchReceipt(receipt, trust, [...reply.contents].reverse()), Refused);
  const forging = async (url: string, init: RequestInit): Promise<Response> => {
    const response = await fetch(url, init);
    const text = await response.text();
    const forged = init.method === 'PATCH' ? text.replace(/"timestamp_ms":(\d+)/, (_, ms: string) => `"timestamp_ms":${Number(ms) - 1}`) : text;
    return new Response(forged, { status: response.status, headers: response.headers });
  };
  const cheated = await registered(server.baseUrl, { fetch: forging });
  const template = await cheated.createTemplate({ name: 'ticket' });
  await assert.rejects(cheated.updateTemplate(template.id, { description: 'x' }), Refused);
});

test('an export is checked as it comes, and no changed one holds', async () => {
  const ann = await registered(server.baseUrl);
  const { sequence } = await ann.createTemplate({ name: 'ticket' });
  await ann.getCheckpoint({ at_least: sequence, wait: 60 });
  const trust = await ann.trust();
  const { checkpoint, opened } = await verifyExport(ann.exportLog(), trust);
  assert.ok(opened === 2 && checkpoint.sequence > 2n, "her own actions are open, others' are leaves");
  const pieces: string[] = [];
  for await (const piece of ann.exportLog()) pieces.push(piece);
  const text = pieces.join('');
  const lines = text.trimEnd().split('\n');
  for (const type of ['batch', 'request', 'checkpoint']) {
    const at = lines.map((line) => JSON.parse(line).type as string).lastIndexOf(type);
    const line = lines[at] as string;
    const digit = line.lastIndexOf('"signature":"0x') + 20;
    const bent = line.slice(0, digit) + (line[digit] === '0' ? '1' : '0') + line.slice(digit + 1);
    await assert.rejects(verifyExport([...lines.slice(0, at), bent, ...lines.slice(at + 1), ''].join('\n'), trust), Refused, type);
  }
  await assert.rejects(verifyExport(text.slice(0, -1), trust), /cut off/);
  await assert.rejects(verifyExport(`${lines.slice(0, -1).join('\n')}\n`, trust), /before its checkpoint/);
});
