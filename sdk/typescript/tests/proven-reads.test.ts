// Proven reads from a real server, which makes a root of the state every second.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JsonText, NotModified, ServerError, answerInfo, verifyCheckpoint, verifyStateProof, writeJson } from '@kedge/sdk';
import { admin, eventually, registered, serverOfFile } from './setup.js';

const server = serverOfFile();
/** A loaded machine makes fewer roots. */
const WAIT = 60;
const refusedWith = (code: string) => (error: unknown): boolean => error instanceof ServerError && error.code === code;

test('an object and its template come with their proofs, and what is shown is what is proven', async () => {
  const ann = await registered(server.baseUrl);
  const schema = { type: 'object', properties: { seat: { type: 'number' } } };
  const actions = [{ kind: 'update', who: 'owner' as const }, { kind: 'x.scan', who: 'anyone' as const, schema: { type: 'object' } }];
  const template = await ann.createTemplate({ name: 'ticket', properties: { gate: 'D' }, schema, max_supply: '18446744073709551615', actions });
  const { items: [variation] } = await ann.createVariations(template.id, { variations: [{ name: 'Gr\u00fcn', properties: { colour: 'green' } }] });
  const payload = new JsonText(`{"variation_id":"${variation?.id}","properties":{"seat":12.50,"serial":12345678901234567890,"big":1e300,"__proto__":{"a":[null,""]}}}`);
  const { object_id: id, sequence } = await ann.submitAction({ action_type: 'mint', template_id: template.id, payload });
  assert.ok(id !== null);
  const object = await ann.objects.get(id, { prove: true, minSequence: sequence, wait: WAIT });
  assert.equal(object.proven.statement, `after sequence ${object.proven.checkpoint.sequence}, ${id} is at version 1, made by sequence ${sequence}`);
  assert.deepEqual([object.proven.entry?.type, object.properties['serial'], object.serial], ['obj', 12345678901234567890n, 1]);
  assert.match(object.proven.texts.properties as string, /12345678901234567890/);
  const shown = await ann.templates.get(template.id, { prove: true });
  assert.ok(shown.proven.entry?.type === 'tpl');
  assert.deepEqual([shown.proven.entry.minted_count, shown.proven.entry.max_supply, shown.proven.entry.rules.map(({ kind }) => kind)], [1n, 2n ** 64n - 1n, ['update', 'x.scan']]);
  const [of] = (await ann.templates.listProvenVariations(template.id)).proven;
  assert.deepEqual([of?.key, of?.texts.name], [variation?.id, 'Gr\u00fcn']);
  assert.equal((await ann.objects.get(id)).state_proof, undefined, 'only where it is asked for');
});

test('lists come with the proofs of their items', async () => {
  const ann = await registered(server.baseUrl);
  const template = await ann.createTemplate({ name: 'ticket' });
  const batch = ann.batch();
  for (let seat = 0; seat < 25; seat += 1) batch.mint(template.id, { seat });
  await batch.send();
  const last = (await ann.listObjects({ template_id: template.id, order: 'desc', limit: 1 })).items[0];
  assert.ok(last !== undefined);
  const seats: unknown[] = [];
  for await (const page of ann.objects.listProven({ template_id: template.id, limit: 10, min_sequence: last.sequence, wait: WAIT }).pages()) {
    assert.deepEqual(page.proven.map(({ key }) => key), page.items.map(({ id }) => id));
    seats.push(...page.items.map(({ properties }) => properties['seat']));
  }
  assert.deepEqual(seats, Array.from({ length: 25 }, (_, seat) => seat));
  assert.equal((await ann.templates.listProven()).proven[0]?.key, template.id);
  assert.deepEqual((await ann.objects.listProven({ status: 'burned' })).proven, []);
  await assert.rejects(ann.objects.listProven({ limit: 101 }).take(1), refusedWith('VALIDATION_ERROR'));
});

test('what was proven stays provable, and a change is proven by the next checkpoint', async () => {
  const ann = await registered(server.baseUrl);
  const template = await ann.createTemplate({ name: 'ticket' });
  const minted = await ann.mintObject({ template_id: template.id, properties: { seat: 1 } });
  const before = await ann.objects.stateProof(minted.id, { minSequence: minted.sequence, wait: WAIT });
  const changed = await ann.updateObject(minted.id, { properties: { seat: 2 } });
  const after = await ann.objects.stateProof(minted.id, { minSequence: changed.sequence, wait: WAIT });
  assert.deepEqual([before.texts.properties, after.texts.properties], ['{"seat":1}', '{"seat":2}']);
  const again = await ann.objects.stateProof(minted.id, { checkpoint: before.checkpoint.batches });
  assert.deepEqual([again.entry, again.texts], [before.entry, before.texts]);
  assert.ok(after.checkpoint.batches > before.checkpoint.batches);
  const offline = verifyStateProof(writeJson(after.answer), await ann.trust(), { key: minted.id });
  assert.deepEqual(offline.entry, after.entry);
  const { etag } = answerInfo(again.answer);
  assert.ok(etag);
  await assert.rejects(ann.objects.stateProof(minted.id, { checkpoint: before.checkpoint.batches, ifNoneMatch: etag }), NotModified);
});

test('ids of every kind are proven, and that nothing was made under an id', async () => {
  const ann = await registered(server.baseUrl);
  const bob = await registered(server.baseUrl);
  const { id: wallet, organization_id: organization } = await ann.getOwnWallet();
  const template = await ann.createTemplate({ name: 'ticket' });
  const proofs = [await ann.state.proof(wallet, { minSequence: template.sequence, wait: WAIT }), await ann.state.proof(organization), await ann.templates.stateProof(template.id)];
  assert.deepEqual(proofs.map(({ entry }) => entry?.type), ['wal', 'org', 'tpl']);
  const nothing = `obj_${'0'.repeat(26)}`;
  const absent = await ann.state.proof(nothing);
  assert.deepEqual([absent.entry, absent.texts, absent.answer.present], [null, {}, false]);
  assert.equal((await bob.objects.stateProof(nothing)).statement, `after sequence ${absent.checkpoint.sequence}, the log had made nothing under ${nothing}`);
  await assert.rejects(bob.state.proof(template.id), refusedWith('RESOURCE_NOT_FOUND'));
  await assert.rejects(bob.state.proof(wallet), refusedWith('RESOURCE_NOT_FOUND'));
  await assert.rejects(bob.state.proof('obj_1'), refusedWith('STATE_VIOLATION'));
});

test('a wait ends with the checkpoint, or at once if none is due', async () => {
  const ann = await registered(server.baseUrl);
  const template = await ann.createTemplate({ name: 'ticket' });
  const ahead = template.sequence + 1_000_000;
  await assert.rejects(ann.getCheckpoint({ at_least: ahead, wait: 0 }), refusedWith('SEQUENCE_NOT_REACHED'));
  await assert.rejects(ann.templates.get(template.id, { prove: true, minSequence: ahead, wait: 0 }), refusedWith('SEQUENCE_NOT_REACHED'));
  const signed = await ann.getCheckpoint({ at_least: template.sequence, wait: WAIT });
  const { checkpoint, signature } = signed;
  const facts = verifyCheckpoint({ checkpoint, signature }, await ann.trust());
  assert.ok(facts.sequence >= BigInt(template.sequence));
  assert.ok((await ann.state.proof(template.id)).checkpoint.batches >= facts.batches);
});

test('a proof of an anchored checkpoint has its anchor', async () => {
  const ann = await registered(server.baseUrl);
  const template = await ann.createTemplate({ name: 'ticket' });
  await ann.getCheckpoint({ at_least: template.sequence, wait: WAIT });
  const proof = await eventually('the anchor', async () => {
    assert.equal((await admin(server.socketPath, 'anchor_now')).ok, true);
    const proof = await ann.templates.stateProof(template.id);
    return proof.anchored && proof;
  });
  assert.equal(proof.answer.anchor?.checkpoint.checkpoint.batches, Number(proof.checkpoint.batches));
  assert.deepEqual(proof.answer.anchor?.path, []);
});
