// Proven reads of the client: what the server shows is compared with what it proves. The server is a stand-in that
// answers from one state, because each test is about an answer that a good server never gives.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Input, RLP } from '@ethereumjs/rlp';
import { Contradiction, KedgeClient, MalformedEntry, Refused, StateMismatch, answerInfo, verifyStateProof, verifyStateProofs, writeJson } from '@kedge/sdk';
import { type Hex, fromHex, toHex } from '#dist/protocol/bytes.js';
import { addressOfKey } from '#dist/protocol/curve.js';
import { hashOf, keccak, textHash } from '#dist/protocol/hash.js';
import { type StateAnswer, answerOf, checkpointOf, fieldsOf, key as sequencerKey, signedCheckpoint, trust } from './state-answers.js';
import { TrieBuilder } from './trie-builder.js';

const SEQUENCE = 40n;
const idWith = (prefix: string, digit: string): string => `${prefix}_${digit.repeat(26)}`;
const [org, wallet, template, variation] = [idWith('org', '1'), idWith('wal', '2'), idWith('tpl', '3'), idWith('var', '4')];
const objects = ['5', '6', '7'].map((digit) => idWith('obj', digit));
const owner = `0x${'0a'.repeat(20)}` as Hex;
const integrityOf = (id: string): Hex => toHex(textHash(id));
const words = {
  object: '{"seat":12.50,"big":12345678901234567890,"__proto__":{"a":1}}',
  template: '{"gate":"D"}',
  schema: '{"type":"object"}',
  variation: '{"row":1}',
  name: 'Gr\u00fcn',
  scan: '{"type":"string"}',
};

const base = (id: string, version: number, sequence: number): Input[] => [1, version, sequence, fromHex(integrityOf(id))];
const rules: Input[] = [['mint', 1, textHash('')], ['x.scan', 2, textHash(words.scan)]];
const entries = new Map<string, Hex>(
  (
    [
      ...objects.map((id, i) => [id, [...base(id, 2, 10 + i), org, template, i === 0 ? variation : '', i + 1, wallet, fromHex(owner), i, textHash(words.object)]] as const),
      [template, [...base(template, 1, 3), org, 1, [100], 3, 1, 1, textHash(words.template), textHash(words.schema), rules]],
      [variation, [...base(variation, 1, 4), org, template, 0, textHash(words.name), textHash(words.variation)]],
    ] as [string, Input][]
  ).map(([id, list]) => [id, toHex(RLP.encode(list))]),
);
const trie = new TrieBuilder(new Map([...entries].map(([id, entry]) => [id, keccak(fromHex(entry))])));

const textsOf = (id: string): object =>
  ({
    obj: { properties: words.object },
    tpl: { properties: words.template, schema: words.schema, rules: ['', words.scan] },
    var: { properties: words.variation, name: words.name },
  })[id.slice(0, 3)] ?? {};

const proofOf = (id: string): StateAnswer =>
  answerOf({ key: id, root: trie.root, entry: entries.get(id) ?? '0x', nodes: trie.proof(id).map(toHex), sequence: SEQUENCE, texts: entries.has(id) ? textsOf(id) : {} });

/** A value of JSON that is written as this text. */
const parsedAs = (text: string): { toJSON(): unknown } => JSON.parse(text);

type View = Record<string, unknown>;

const viewOf = (id: string): View => {
  const fields = fieldsOf(id, entries.get(id) as Hex, SEQUENCE);
  const { integrity, properties_hash: _, name_hash: __, schema_hash: ___, rules: ____, ...shown } = fields;
  const view: View = { id, ...shown, created_at: '2026-01-01T00:00:00.000Z' };
  if (id.startsWith('var')) return { id, organization_id: org, template_id: template, index: 0, name: words.name, properties: parsedAs(words.variation) };
  view['integrity_hash'] = integrity;
  if (id.startsWith('obj')) return { ...view, properties: 'PROPERTIES' };
  const actions = [{ kind: 'mint', who: 'issuer' }, { kind: 'x.scan', who: 'anyone', schema: parsedAs(words.scan) }];
  return { ...view, max_supply: '100', properties: parsedAs(words.template), schema: parsedAs(words.schema), actions, name: 'ticket', description: '' };
};

/** The body as a server writes it: properties keep their spelling. */
const bodyOf = (value: unknown): string => writeJson(value).replaceAll('"PROPERTIES"', words.object);

interface StandIn {
  readonly client: KedgeClient;
  readonly urls: string[];
}

/** A client of a server that gives these answers, by the beginning of the path. */
function clientOf(answers: Record<string, unknown>): StandIn {
  const urls: string[] = [];
  const keys = { items: [{ key: addressOfKey(fromHex(sequencerKey)), from_batch: 0, proof: null }], cursor: null, has_more: false };
  const fetch = async (url: string): Promise<Response> => {
    const path = url.replace('http://stand-in', '');
    urls.push(path);
    const all: Record<string, unknown> = { '/sequencer-keys': keys, ...answers };
    const [, answer] = Object.entries(all).find(([start]) => path.startsWith(start)) ?? [];
    if (answer === undefined) return new Response('{"code":"RESOURCE_NOT_FOUND","body":{"message":"no"}}', { status: 404 });
    return new Response(bodyOf(answer), { status: 200, headers: { 'content-type': 'application/json', 'x-sequence': '41' } });
  };
  return { client: new KedgeClient({ baseUrl: 'http://stand-in', trust, fetch }), urls };
}

const [first] = objects as [string, ...string[]];
const proven = (id: string, change: View = {}): View => ({ ...viewOf(id), ...change, state_proof: proofOf(id) });
const mismatch = (...members: string[]) => (error: unknown): boolean => {
  assert.ok(error instanceof StateMismatch, String(error));
  assert.deepEqual(error.members, members);
  return true;
};

test('an object and a template come with their proofs', async () => {
  const { client, urls } = clientOf({ '/objects/': proven(first), '/templates/': proven(template) });
  const object = await client.objects.get(first, { prove: true, minSequence: 12, wait: 5 });
  assert.equal(object.proven.entry?.type, 'obj');
  assert.equal(object.properties['big'], 12345678901234567890n);
  assert.equal(object.proven.statement, `after sequence 40, ${first} is at version 2, made by sequence 10`);
  assert.equal(answerInfo(object).sequence, 41n);
  assert.equal(urls[0], `/objects/${first}?prove=true&min_sequence=12&wait=5`);
  const shown = await client.templates.get(template, { prove: true });
  assert.equal(shown.proven.entry?.type, 'tpl');
  const plain = await client.objects.get(first);
  assert.equal((plain as { proven?: unknown }).proven, undefined);
  assert.equal(urls.at(-1), `/objects/${first}`);
});

test('an object whose members differ from its entry is refused, by name', async () => {
  const others: View = {
    organization_id: idWith('org', '9'), template_id: idWith('tpl', '9'), variation_id: null, serial: 2, owner_id: idWith('wal', '9'),
    owner_address: `0x${'0b'.repeat(20)}`, status: 'locked', version: 3, sequence: 11, integrity_hash: integrityOf('another'), properties: { seat: 12.5 },
  };
  for (const [name, value] of Object.entries(others)) {
    const { client } = clientOf({ '/objects/': proven(first, { [name]: value }) });
    await assert.rejects(client.objects.get(first, { prove: true }), mismatch(name));
  }
  const two = clientOf({ '/objects/': proven(first, { owner_id: idWith('wal', '9'), serial: 7 }) });
  await assert.rejects(two.client.objects.get(first, { prove: true }), /serial, owner_id of obj_5+ differ from the proven entry/);
  const without = clientOf({ '/objects/': proven(first, { status: undefined }) });
  await assert.rejects(without.client.objects.get(first, { prove: true }), mismatch('status'));
  await clientOf({ '/objects/': proven(first, { serial: undefined }) }).client.objects.get(first, { prove: true });
  const another = clientOf({ '/objects/': { ...viewOf(first), id: objects[1], state_proof: proofOf(first) } });
  await assert.rejects(another.client.objects.get(first, { prove: true }), mismatch('id'));
});

test('a template whose members differ from its entry is refused, by name', async () => {
  const others: View = {
    public_access: false, max_supply: null, minted_count: 4, burned_count: 0, variation_count: 2, schema: null, properties: {},
    actions: [{ kind: 'mint', who: 'owner' }, { kind: 'x.scan', who: 'anyone', schema: { type: 'string' } }],
  };
  for (const [name, value] of Object.entries(others)) {
    const { client } = clientOf({ '/templates/': proven(template, { [name]: value }) });
    await assert.rejects(client.templates.get(template, { prove: true }), mismatch(name));
  }
  for (const actions of [[], [{ kind: 'mint', who: 'issuer' }, { kind: 'x.scan', who: 'anyone' }], [null, null]]) {
    const { client } = clientOf({ '/templates/': proven(template, { actions }) });
    await assert.rejects(client.templates.get(template, { prove: true }), mismatch('actions'));
  }
});

test('an answer without a proof, with a wrong one, or with one that says nothing is refused', async () => {
  const wrong: [string, View][] = [
    ['no proof', viewOf(first)],
    ["another object's", { ...viewOf(first), state_proof: proofOf(objects[1] as string) }],
    ['no texts', { ...viewOf(first), state_proof: { ...proofOf(first), texts: {} } }],
    ['an earlier checkpoint', { ...viewOf(first), state_proof: answerOf({ ...proofOf(first), root: trie.root, entry: entries.get(first) as Hex, sequence: 20n }) }],
  ];
  for (const [why, answer] of wrong) {
    const { client } = clientOf({ '/objects/': answer });
    await assert.rejects(client.objects.get(first, { prove: true, minSequence: 30 }), Refused, why);
  }
  const nothing = idWith('obj', '0');
  const { client } = clientOf({ '/objects/': { ...viewOf(first), id: nothing, state_proof: proofOf(nothing) } });
  await assert.rejects(client.objects.get(nothing, { prove: true }), /proves that the log has made nothing/);
});

test('state proofs of ids', async () => {
  const nothing = idWith('obj', '0');
  const { client, urls } = clientOf({ [`/objects/${first}`]: proofOf(first), '/templates/': proofOf(template), '/state/': proofOf(nothing) });
  const proof = await client.objects.stateProof(first, { checkpoint: 3, minSequence: 40n, wait: 2 });
  assert.equal(proof.entry?.version, 2n);
  assert.equal(urls[0], `/objects/${first}/state-proof?checkpoint=3&min_sequence=40&wait=2`);
  assert.deepEqual(verifyStateProof(writeJson(proof.answer), trust).entry, proof.entry);
  assert.equal((await client.templates.stateProof(template)).entry?.type, 'tpl');
  assert.equal((await client.state.proof(nothing)).entry, null);
  await assert.rejects(client.objects.stateProof(first, { checkpoint: 2 }), /has 3 batches, not 2/);
  await assert.rejects(client.objects.stateProof(first, { minSequence: 41 }), /before 41/);
  const seen: object[] = [];
  await assert.rejects(client.state.proof(wallet, { onAnswer: (answer) => seen.push(answer) }), /not about wal_2/);
  assert.deepEqual(seen.map(writeJson), [writeJson(proofOf(nothing))]);
});

test('two checkpoints over the same batches are a contradiction', async () => {
  const other = { ...proofOf(first), checkpoint: signedCheckpoint({ ...checkpointOf(trie.root, SEQUENCE), head: integrityOf('another') }) };
  const { client } = clientOf({ '/objects/': proven(first), '/state/': other });
  await client.objects.get(first, { prove: true });
  await client.objects.get(first, { prove: true });
  await assert.rejects(client.state.proof(first), (error) => {
    assert.ok(error instanceof Contradiction);
    assert.deepEqual((error.evidence as unknown as StateAnswer['checkpoint'][]).map(({ signature }) => signature), [proofOf(first).checkpoint.signature, other.checkpoint.signature]);
    return true;
  });
});

/** The proofs of several ids, with each node once. */
function sharedProofs(ids: readonly string[]) {
  const common: string[] = [];
  const proofs = ids.map((id) => {
    const { checkpoint: _, anchor: __, nodes, ...shown } = proofOf(id);
    const indices = nodes.map((node) => {
      if (!common.includes(node)) common.push(node);
      return common.indexOf(node);
    });
    return { ...shown, nodes: indices };
  });
  return { checkpoint: signedCheckpoint(checkpointOf(trie.root, SEQUENCE)), anchor: null, nodes: common, proofs };
}

test('lists come with the proofs of their items, and each node once', async () => {
  const pageOf = (ids: readonly string[], cursor: string | null): View => ({ items: ids.map(viewOf), cursor, has_more: cursor !== null, state_proofs: sharedProofs(ids) });
  const { client, urls } = clientOf({
    '/objects?prove=true&cursor=next': pageOf(objects.slice(2), null),
    '/objects': pageOf(objects.slice(0, 2), 'next'),
    '/templates/': pageOf([variation], null),
    '/templates': pageOf([template], null),
  });
  const ids: string[] = [];
  for await (const page of client.objects.listProven().pages()) {
    assert.deepEqual(page.proven.map(({ key }) => key), page.items.map(({ id }) => id));
    ids.push(...page.items.map(({ id }) => id));
  }
  assert.deepEqual(ids, objects);
  assert.deepEqual(urls, ['/objects?prove=true', '/objects?prove=true&cursor=next']);
  assert.equal((await client.templates.listProven()).proven[0]?.entry?.type, 'tpl');
  assert.equal((await client.templates.listProvenVariations(template)).proven[0]?.entry?.type, 'var');
  const empty = clientOf({ '/objects': pageOf([], null) });
  assert.deepEqual((await empty.client.objects.listProven()).proven, []);
});

test('a page that differs from its proofs is refused', async () => {
  const good = (): View & { items: View[]; state_proofs: ReturnType<typeof sharedProofs> } => ({
    items: objects.map(viewOf), cursor: null, has_more: false, state_proofs: sharedProofs(objects),
  });
  const refusal = async (edit: (page: ReturnType<typeof good>) => void): Promise<Error> => {
    const page = good();
    edit(page);
    const { client } = clientOf({ '/objects': page });
    return client.objects.listProven().then(() => assert.fail('the page was accepted'), (error: unknown) => error as Error);
  };
  assert.match((await refusal((page) => page.items.pop())).message, /2 items and 3 proofs/);
  assert.match((await refusal((page) => page.items.reverse())).message, /^id of obj_5/);
  assert.match((await refusal((page) => ((page.items[2] as View)['status'] = 'active'))).message, /^status of obj_7/);
  assert.match((await refusal((page) => page.state_proofs.proofs.reverse())).message, /order of their first use/);
  assert.match((await refusal((page) => page.state_proofs.nodes.push(page.state_proofs.nodes[0] as string))).message, /occurs twice/);
  assert.match((await refusal((page) => page.state_proofs.nodes.push(toHex(trie.nodes.get([...trie.nodes.keys()].find((hash) => !page.state_proofs.nodes.some((node) => hashOf(node as Hex) === hash)) as Hex) as Uint8Array)))).message, /is not used/);
  assert.match((await refusal((page) => void (page.state_proofs.proofs[1] as { nodes: number[] }).nodes.push(99))).message, /order of their first use/);
  assert.match((await refusal((page) => void (page.state_proofs.proofs[2] as { nodes: number[] }).nodes.pop())).message, /proof 2: the proof ends before its path/);
  const fields = await refusal((page) => ((page.state_proofs.proofs[2] as { fields: View }).fields['serial'] = 9));
  assert.ok(fields instanceof StateMismatch && /^proof 2: fields.serial/.test(fields.message), String(fields));
  const zero = await refusal((page) => (page.state_proofs.checkpoint = signedCheckpoint(checkpointOf(hashOf('0x00'), SEQUENCE))));
  assert.match(zero.message, /not the one that the root names/);
});

test('a malformed entry in a list keeps its class', () => {
  const shared = sharedProofs([first]);
  const checkpoint = signedCheckpoint(checkpointOf(trie.root, 9n));
  assert.throws(() => verifyStateProofs({ ...shared, checkpoint }, trust), (error) => error instanceof MalformedEntry && /^proof 0: malformed entry/.test(error.message));
});
