// Proven reads of the client: what the server shows is compared with what it proves. The server is a stand-in that
// answers from one state, because each test is about an answer that a good server never gives.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Input, RLP } from '@ethereumjs/rlp';
import {
  Contradiction, JsonText, KedgeClient, MalformedEntry, Refused, type Schemas, StateMismatch, answerInfo, checkShown, parseJson, verifyStateProof,
  verifyStateProofs, writeJson,
} from '@kedge/sdk';
import { type Hex, fromHex, toHex } from '#dist/protocol/bytes.js';
import { addressOfKey } from '#dist/protocol/curve.js';
import { ZERO, hashOf, keccak, textHash } from '#dist/protocol/hash.js';
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
  const unnumbered = clientOf({ '/objects/': proven(first, { serial: undefined }) });
  await assert.rejects(unnumbered.client.objects.get(first, { prove: true }), mismatch('serial'));
  const another = clientOf({ '/objects/': { ...viewOf(first), id: objects[1], state_proof: proofOf(first) } });
  await assert.rejects(another.client.objects.get(first, { prove: true }), mismatch('id'));
});

test('a template whose members differ from its entry is refused, by name', async () => {
  const others: View = {
    public_access: false, max_supply: null, minted_count: 4, burned_count: undefined, variation_count: 2, schema: null, properties: {},
    actions: [{ kind: 'mint', who: 'owner' }, { kind: 'x.scan', who: 'anyone', schema: { type: 'string' } }],
  };
  for (const [name, value] of Object.entries(others)) {
    const { client } = clientOf({ '/templates/': proven(template, { [name]: value }) });
    await assert.rejects(client.templates.get(template, { prove: true }), mismatch(name));
  }
  const own = viewOf(template)['actions'] as object[];
  for (const actions of [[], [{ kind: 'mint', who: 'issuer' }, { kind: 'x.scan', who: 'anyone' }], [null, null], own.map((rule) => ({ ...rule, surplus: null }))]) {
    const { client } = clientOf({ '/templates/': proven(template, { actions }) });
    await assert.rejects(client.templates.get(template, { prove: true }), mismatch('actions'));
  }
});

/** A good answer about the first object, with this text in the place of its properties or of its serial. */
const spelled = (text: { properties?: string; serial?: string; last?: string }): JsonText => {
  const body = bodyOf(proven(first, { properties: 'STATED', serial: 'SERIAL' }));
  const { properties = words.object, serial = '1', last = '' } = text;
  return new JsonText(body.replace('"STATED"', properties).replace('"SERIAL"', serial).replace(/}$/, `${last}}`));
};

// Holds invariant 271.
test('numbers are compared as they are spelled', async () => {
  const read = (answer: JsonText): Promise<unknown> => clientOf({ '/objects/': answer }).client.objects.get(first, { prove: true });
  await read(spelled({}));
  await read(spelled({ properties: words.object.replace('{', '{ ').replace('"seat"', '"s\\u0065at"') }));
  for (const [from, to] of [['12.50', '12.5'], ['12.50', '1.250e1'], ['12.50', '"12.50"'], ['12.50', '{"text":"12.50"}'], ['5678901234567890', '5678901234567891'], ['"a":1', '"a":1.0'], ['"a":1', '"a":true']] as const) {
    await assert.rejects(read(spelled({ properties: words.object.replace(from, to) })), mismatch('properties'), to);
  }
  for (const serial of ['1.0', '1e0', 'true', '-1']) await assert.rejects(read(spelled({ serial })), mismatch('serial'), serial);
  await read(spelled({ serial: '"1"' }));
});

test('numbers of parsed JSON are compared as they are, and those of a text as they are spelled', () => {
  const text = '{"big":9007199254740993,"exact":9007199254740993.0,"least":-5}';
  const list: Input = [...base(first, 2, 10), org, template, '', 1, wallet, fromHex(owner), 0, textHash(text)];
  const entry = toHex(RLP.encode(list));
  const one = new TrieBuilder(new Map([[first, keccak(fromHex(entry))]]));
  const proof = answerOf({ key: first, root: one.root, entry, nodes: one.proof(first).map(toHex), sequence: SEQUENCE, texts: { properties: text } });
  const facts = verifyStateProof(proof, trust);
  const item = (properties: string): string => writeJson({ ...viewOf(first), variation_id: null, properties: new JsonText(properties) });
  checkShown(item(text), facts);
  checkShown(parseJson(item(text)) as object, facts);
  // JSON.parse has rounded this one to another whole number.
  assert.throws(() => checkShown(JSON.parse(item(text)) as object, facts), mismatch('properties'));
  for (const other of [text.replace('993,', '992,'), text.replace('993.0', '992.0'), text.replace('-5', '-5.0'), text.replace('-5', '-6')]) {
    assert.throws(() => checkShown(item(other), facts), mismatch('properties'), other);
  }
  assert.throws(() => checkShown('[]', facts), StateMismatch);
  assert.throws(() => checkShown('null', facts), Refused);
});

// Holds invariant 271.
test('members that occur twice are refused wherever they are', async () => {
  const twice = /occurs twice/;
  const read = (answer: JsonText): Promise<unknown> => clientOf({ '/objects/': answer }).client.objects.get(first, { prove: true });
  await assert.rejects(read(spelled({ last: ',"serial":1' })), twice);
  await assert.rejects(read(spelled({ last: ',"created_at":"2027-01-01T00:00:00.000Z"' })), twice);
  await assert.rejects(read(spelled({ properties: words.object.replace('{', '{"seat":1,') })), twice);
  const proof = clientOf({ '/state/': new JsonText(writeJson(proofOf(first)).replace('{', '{"present":false,')) });
  await assert.rejects(proof.client.state.proof(first), twice);
  const list = writeJson({ items: [viewOf(first)], cursor: null, has_more: false, state_proofs: sharedProofs([first]) });
  const page = clientOf({ '/objects': new JsonText(list.replace('{', '{"items":[],')) });
  await assert.rejects(page.client.objects.listProven().take(1), twice);
});

test('an answer without a proof, with a wrong one, or with one that says nothing is refused', async () => {
  const wrong: [string, View][] = [
    ['no proof', viewOf(first)],
    ['no object for a proof', { ...viewOf(first), state_proof: writeJson(proofOf(first)) }],
    ['a list', [proven(first)] as unknown as View],
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
});

// Holds invariant 271.
test('an empty page has a checkpoint that is verified and watched', async () => {
  const empty = (change: object = {}, signer?: Hex): View => {
    const checkpoint = signedCheckpoint({ ...checkpointOf(trie.root, SEQUENCE), ...change }, signer);
    return { items: [], cursor: null, has_more: false, state_proofs: { ...sharedProofs([]), checkpoint } };
  };
  const list = (answer: View, query = {}): Promise<{ proven: unknown; checkpoint: { sequence: bigint } }> =>
    Promise.resolve(clientOf({ '/objects': answer }).client.objects.listProven(query));
  const page = await list(empty(), { min_sequence: 40 });
  assert.deepEqual([page.proven, page.checkpoint.sequence], [[], SEQUENCE]);
  await assert.rejects(list(empty(), { min_sequence: 41 }), /ends at sequence 40, before 41/);
  await assert.rejects(list(empty({ state: ZERO })), /no root/);
  await assert.rejects(list(empty({}, `0x${'02'.repeat(32)}`)), /was signed by/);
  const { client } = clientOf({ '/objects/': proven(first), '/objects': empty({ head: integrityOf('another') }) });
  await client.objects.get(first, { prove: true });
  await assert.rejects(client.objects.listProven().take(1), Contradiction);
});

// Holds invariant 271.
test('a page is held against what was asked for', async () => {
  const pageOf = (ids: readonly string[]): View => ({ items: ids.map(viewOf), cursor: null, has_more: false, state_proofs: sharedProofs(ids) });
  const [active, locked, burned] = objects as [string, string, string];
  const other = idWith('tpl', '9');
  const list = (ids: readonly string[], query: object = {}): Promise<unknown> => clientOf({ '/objects': pageOf(ids) }).client.objects.listProven(query).take(9);
  await list(objects, { limit: 3, template_id: template });
  await list([burned], { status: 'burned' });
  // An object is shown as it was at the checkpoint, and chosen by what it is now.
  await list([locked], { status: 'active', owner_id: idWith('wal', '9') });
  await assert.rejects(list(objects, { limit: 2 }), /has 3 items, more than the 2 asked for/);
  await assert.rejects(list([active, active]), /occurs twice/);
  await assert.rejects(list(objects, { template_id: other }), /obj_5+ is not of tpl_9+/);
  await assert.rejects(list([active, burned], { status: 'active' }), /obj_7+ is burned, not active/);
  await assert.rejects(list([template]), /not of the type/);
  const templates = clientOf({ '/templates': pageOf([active]) });
  await assert.rejects(templates.client.templates.listProven().take(1), /not of the type/);
  const variations = clientOf({ '/templates/': pageOf([variation]) });
  await variations.client.templates.listProvenVariations(template).take(1);
  await assert.rejects(variations.client.templates.listProvenVariations(other).take(1), /is not of tpl_9+/);
});

// Holds invariant 271.
test('a list has at most 100 proofs', () => {
  const shared = sharedProofs([first]);
  const many = (count: number): object => ({ ...shared, proofs: Array.from({ length: count }, () => shared.proofs[0]) });
  assert.equal(verifyStateProofs(many(100), trust).length, 100);
  assert.throws(() => verifyStateProofs(many(101), trust), /too long/);
});

test('a checkpoint is verified before it is returned', async () => {
  const contract = trust.domain.verifyingContract;
  const answer = (change: object = {}, members: View = {}): View => ({
    ...signedCheckpoint({ ...checkpointOf(trie.root, SEQUENCE), ...change }), domain: { chain_id: 31337, verifying_contract: contract }, sequencer: trust.sequencer, ...members,
  });
  const read = (of: View, query = {}): Promise<Schemas['CheckpointView']> => clientOf({ '/checkpoint': of }).client.getCheckpoint(query);
  assert.equal((await read(answer({}, { later: 1 }), { at_least: 40 })).checkpoint.sequence, 40);
  // An older log has no root yet, and a new one no batch.
  await read(answer({ state: ZERO }));
  await read(answer({ batches: 0n, sequence: 0n }));
  await assert.rejects(read(answer(), { at_least: 41 }), /ends at sequence 40, before 41/);
  await assert.rejects(read(answer(), { min_sequence: 41 }), /ends at sequence 40, before 41/);
  await assert.rejects(read(answer({}, { signature: signedCheckpoint(checkpointOf(trie.root, SEQUENCE), `0x${'02'.repeat(32)}`).signature })), /was signed by/);
  await assert.rejects(read(answer({}, { domain: { chain_id: 1, verifying_contract: contract } })), /another log/);
  await assert.rejects(read(answer({}, { sequencer: `0x${'02'.repeat(20)}` })), /stated key/);
  await assert.rejects(read({}), Refused);
  await assert.rejects(read(new JsonText(writeJson(answer()).replace('{', '{"sequencer":"0x",')) as unknown as View), /occurs twice/);
  const { client } = clientOf({ '/objects/': proven(first), '/checkpoint': answer({ head: integrityOf('another') }) });
  await client.objects.get(first, { prove: true });
  await assert.rejects(client.getCheckpoint(), Contradiction);
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
