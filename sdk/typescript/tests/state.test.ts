// State proofs against crates/protocol/vectors/state.json: what they show, what is refused, and the texts of properties.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { type Input, RLP } from '@ethereumjs/rlp';
import {
  MalformedEntry, Refused, type StateEntry, StateMismatch, type Trust, decodeEntry, deleteAttributes, domainOf, mergeTexts, mintedText, setAttributes,
  tidyText, verifyStateProof,
} from '@kedge/sdk/verify';
import { type Hex, fromHex, toHex } from '#dist/protocol/bytes.js';
import { addressOfKey, checksummed } from '#dist/protocol/curve.js';
import { ZERO, hashOf, textHash } from '#dist/protocol/hash.js';
import { EMPTY_TRIE } from '#dist/protocol/trie.js';
import { writeJson } from '#dist/reading/json.js';
import { type StateAnswer, answerOf, fieldsOf, signedCheckpoint, trust } from './state-answers.js';
import { repository } from './setup.js';

// eslint-disable-next-line
type Vectors = any;

const vectors: Vectors = JSON.parse(readFileSync(new URL('crates/protocol/vectors/state.json', repository), 'utf8'));
const SEQUENCE = 5_000_000n;
const caseOf = (name: string): Vectors => vectors.cases.find((one: Vectors) => one.name === name);

// Holds invariant 253.
test('every case shows its entries and its absences', () => {
  const counts = { present: 0, absent: 0 };
  const types = new Set<string>();
  for (const { root, present, absent } of vectors.cases) {
    for (const { key: id, entry, nodes } of present) {
      const facts = verifyStateProof(answerOf({ key: id, root, entry, nodes, sequence: SEQUENCE }), trust, { key: id });
      assert.equal(facts.entry?.type, id.slice(0, 3));
      assert.match(facts.statement, /^after sequence 5000000, .* is at version \d+, made by sequence \d+$/);
      types.add(facts.entry?.type as string);
      counts.present += 1;
    }
    for (const { key: id, nodes } of absent) {
      const facts = verifyStateProof(answerOf({ key: id, root, entry: '0x', nodes, sequence: SEQUENCE }), trust);
      assert.equal(facts.entry, null);
      assert.equal(facts.statement, `after sequence 5000000, the log had made nothing under ${id}`);
      counts.absent += 1;
    }
  }
  assert.deepEqual([vectors.cases.length, counts], [5, { present: 22, absent: 9 }]);
  assert.deepEqual([...types].sort(), ['act', 'dsp', 'fil', 'key', 'obj', 'org', 'tpl', 'var', 'wal', 'whk']);
  assert.equal(vectors.empty_root, EMPTY_TRIE);
});

test('the decoded members are those that the entry encodes', () => {
  for (const { key: id, entry } of caseOf('one of each type').present) {
    const decoded = decodeEntry(id, fromHex(entry), SEQUENCE);
    assert.equal(toHex(RLP.encode(rlpOf(decoded))), entry, id);
  }
});

const STATUSES = ['active', 'locked', 'burned'];
const ROLES = ['owner', 'admin', 'member'];
const ACTORS = ['owner', 'issuer', 'anyone'];
const hex = (bytes: Hex): Uint8Array => fromHex(bytes);

/** The RLP list of a decoded entry, written from the protocol's table. */
function rlpOf(entry: StateEntry): Input[] {
  const base = [1, entry.version, entry.sequence, hex(entry.integrity)];
  const flag = (value: boolean): number => (value ? 1 : 0);
  switch (entry.type) {
    case 'obj':
      return [
        ...base, entry.organization_id, entry.template_id, entry.variation_id ?? '', entry.serial, entry.owner_id, hex(entry.owner_address),
        STATUSES.indexOf(entry.status), hex(entry.properties_hash),
      ];
    case 'wal': return [...base, entry.organization_id, hex(entry.address), ROLES.indexOf(entry.role), entry.keys.map(hex)];
    case 'org': return base;
    case 'tpl': {
      const counts = [entry.minted_count, entry.burned_count, entry.variation_count];
      const rules = entry.rules.map(({ kind, who, schema_hash: schema }) => [kind, ACTORS.indexOf(who), hex(schema)]);
      const most = entry.max_supply === null ? [] : [entry.max_supply];
      return [...base, entry.organization_id, flag(entry.public_access), most, ...counts, hex(entry.properties_hash), hex(entry.schema_hash), rules];
    }
    case 'var': return [...base, entry.organization_id, entry.template_id, entry.index, hex(entry.name_hash), hex(entry.properties_hash)];
    case 'key': return [...base, entry.organization_id, flag(entry.deleted)];
    case 'whk': return [...base, entry.organization_id, flag(entry.active), flag(entry.deleted)];
    case 'fil': return [...base, entry.organization_id, entry.wallet_id, hex(entry.sha256), entry.size_bytes];
    case 'dsp': return [...base, entry.organization_id, entry.subject_id];
    case 'act': return [...base, hex(entry.address), entry.from_batch];
  }
}

// Holds invariant 253.
test('proofs that show nothing are refused', () => {
  for (const { why, root, key: id, entry, nodes } of vectors.must_refuse) {
    const answer = answerOf({ key: id, root, entry, nodes, sequence: SEQUENCE, fields: entry === '0x' ? null : {} });
    assert.throws(() => verifyStateProof(answer, trust), (error) => error instanceof Refused && !(error instanceof StateMismatch), why);
  }
  assert.equal(vectors.must_refuse.length, 18);
});

// Holds invariant 253.
test('malformed entries are refused, although their proofs hold', () => {
  for (const { why, root, key: id, entry, nodes, checkpoint_sequence: sequence } of vectors.malformed) {
    const answer = answerOf({ key: id, root, entry, nodes, sequence: BigInt(sequence), fields: {} });
    assert.throws(() => verifyStateProof(answer, trust), MalformedEntry, why);
  }
  assert.equal(vectors.malformed.length, 25);
});

// Holds invariant 253.
test('every text of properties has its bytes', () => {
  const counts: Record<string, number> = {};
  for (const { do: what, text, patch, changes, template, variation, own, gives, hash } of vectors.texts) {
    const made = {
      tidy: () => tidyText(text),
      merge: () => mergeTexts(text, patch),
      set: () => setAttributes(text, changes),
      delete: () => deleteAttributes(text, changes.map(([name]: [string]) => name)),
      mint: () => mintedText({ template, variation, own }),
    }[what as 'tidy']();
    assert.equal(made, gives);
    assert.equal(toHex(textHash(made)), hash);
    counts[what] = (counts[what] ?? 0) + 1;
  }
  assert.deepEqual(counts, { tidy: 6, merge: 90, set: 15, delete: 17, mint: 3 });
});

test('texts take linear time, and what is no JSON object is refused', () => {
  const strings = `{"a":"${'\\"'.repeat(2_000_000)}"}`;
  assert.equal(tidyText(strings), strings);
  assert.equal(mergeTexts(strings, strings), strings);
  const many = `{${Array.from({ length: 100_000 }, (_, i) => `"k${i}" : [ ${i} ]`).join(' , ')}}`;
  const started = process.cpuUsage();
  assert.equal(mergeTexts(many, many), tidyText(many));
  assert.equal(setAttributes(many, [['k99999', '1']]).endsWith('"k99999":1}'), true);
  const nested = (depth: number, inner: string): string => `${'{"a":'.repeat(depth)}${inner}${'}'.repeat(depth)}`;
  const wide = nested(60, `"${'x'.repeat(1_000_000)}"`);
  assert.equal(mergeTexts(wide, nested(60, '1')), nested(60, '1'));
  // Of processors, in microseconds: a square would take minutes, and other programs do not count.
  const { user, system } = process.cpuUsage(started);
  assert.ok(user + system < 30_000_000, 'the time is not linear');
  assert.throws(() => mergeTexts(nested(65, '1'), '{}'), Refused);
  assert.throws(() => tidyText(`${'['.repeat(200_000)}`), Refused);
  for (const bad of ['', '[]', '1', '{', '{"a":1}}', '{"a":1,"\\u0061":2}', '{"\\ud800":1}', '{"a":"\ud800"}', '{"b":{"a":1,"a":2}}', '\u00a0{}']) {
    assert.throws(() => mergeTexts(bad, '{}'), Refused, bad);
    assert.throws(() => mergeTexts('{}', bad), Refused, bad);
  }
  assert.throws(() => setAttributes('{}', [['a', '1'], ['a', '2']]), Refused);
  assert.throws(() => setAttributes('{}', [['a', '1,"b":2']]), Refused);
  assert.equal(mergeTexts('{"__proto__":{"a":1}}', '{"__proto__":{"b":2},"constructor":3}'), '{"__proto__":{"a":1,"b":2},"constructor":3}');
});

/** A good answer about an object, and one whose member was edited. */
const good = (): StateAnswer => {
  const { root, present } = caseOf('one entry');
  const [{ key: id, entry, nodes }] = present;
  return answerOf({ key: id, root, entry, nodes, sequence: 50n });
};
const edited = (edit: (answer: StateAnswer) => void, of: StateAnswer = good()): StateAnswer => {
  edit(of);
  return of;
};

test('an answer of another form, another key or another log is refused', () => {
  assert.equal(verifyStateProof(good(), trust).checkpoint.sequence, 50n);
  const spoiled: [string, StateAnswer][] = [
    ['present without an entry', edited((answer) => { answer.present = false; })],
    ['an unknown member', edited((answer) => { answer['surplus'] = 1; })],
    ['a missing member', edited((answer) => { delete answer['anchor']; })],
    ['an entry that is no hexadecimal', edited((answer) => { answer.entry = '0xg0'; })],
    ['a key with other characters', edited((answer) => { answer.key = `${answer.key.slice(0, -1)}\u00e9`; })],
    ['a key of another prefix', edited((answer) => { answer.key = answer.key.replace('obj', 'bat'); })],
    ['a key with something after it', edited((answer) => { answer.key = `${answer.key}\n`; })],
    ['another signer', { ...good(), checkpoint: signedCheckpoint(good().checkpoint.checkpoint, `0x${'02'.repeat(32)}`) }],
    ['a changed sequence', edited((answer) => { answer.checkpoint.checkpoint.sequence += 1n; })],
    ['a changed time', edited((answer) => { answer.checkpoint.checkpoint.issued_at_ms += 1n; })],
    ['an empty log', { ...good(), checkpoint: signedCheckpoint({ ...good().checkpoint.checkpoint, batches: 0n }) }],
    ['a zero root', { ...good(), checkpoint: signedCheckpoint({ ...good().checkpoint.checkpoint, state: ZERO }) }],
    ['the root of nothing', { ...good(), checkpoint: signedCheckpoint({ ...good().checkpoint.checkpoint, state: EMPTY_TRIE }) }],
    ['a number in a text', edited((answer) => { answer.texts = { properties: 1 } as never; })],
  ];
  for (const [why, answer] of spoiled) assert.throws(() => verifyStateProof(answer, trust), Refused, why);
  const other: Trust = { ...trust, domain: domainOf(1n, trust.domain.verifyingContract) };
  assert.throws(() => verifyStateProof(good(), other), /the checkpoint was signed by/);
  assert.throws(() => verifyStateProof(good(), trust, { key: 'obj_2enpephrjz2faj0y99bvwk13a4' }), /not about/);
  assert.throws(() => verifyStateProof(good(), trust, { checkpoint: 4 }), /not 4/);
  assert.throws(() => verifyStateProof(good(), trust, { minSequence: 51 }), /before 51/);
  verifyStateProof(good(), trust, { checkpoint: 3, minSequence: 50, key: good().key });
  verifyStateProof(writeJson(good()), trust);
});

test('zero and empty roots, and absences of what has none', () => {
  const id = 'act_13abd7507hvv63nkrvn17bjhe9';
  const absent = { root: EMPTY_TRIE as Hex, entry: '0x' as Hex, nodes: [], sequence: 50n };
  assert.equal(verifyStateProof(answerOf({ ...absent, key: id.replace('act', 'obj') }), trust).entry, null);
  assert.throws(() => verifyStateProof(answerOf({ ...absent, key: id }), trust), /no absence proof/);
  assert.throws(() => verifyStateProof(answerOf({ ...absent, key: id.replace('act', 'obj'), fields: {} }), trust), /of nothing/);
  assert.throws(() => verifyStateProof(answerOf({ ...absent, key: id.replace('act', 'obj'), texts: { properties: '{}' } }), trust), /of nothing/);
  assert.throws(() => verifyStateProof(answerOf({ ...absent, key: id.replace('act', 'obj'), nodes: ['0x80'] }), trust), Refused);
});

test('a checkpoint is signed by the key of its last batch', () => {
  const [first, second] = [trust.sequencer as string, addressOfKey(fromHex(`0x${'03'.repeat(32)}`))];
  // The checkpoint has 3 batches: its last one is number 2.
  const keys = (from: number): Trust => ({ ...trust, sequencer: [{ key: first, from_batch: 0 }, { key: second, from_batch: from }] });
  verifyStateProof(good(), keys(3));
  assert.throws(() => verifyStateProof(good(), keys(2)), /was signed by/);
});

test('an anchor is of the same checkpoint', () => {
  const anchorOf = (change: object, path: string[] = []): object => ({
    checkpoint: signedCheckpoint({ ...good().checkpoint.checkpoint, ...change }), path, contract: trust.domain.verifyingContract, transaction_hash: ZERO, block_number: 7,
  });
  const anchored = (anchor: object | null): boolean => verifyStateProof({ ...good(), anchor }, trust).anchored;
  assert.equal(anchored(null), false);
  assert.equal(anchored(anchorOf({})), true);
  assert.equal(anchored(anchorOf({ issued_at_ms: 1n })), true);
  for (const change of [{ batches: 4n }, { sequence: 51n }, { state: EMPTY_TRIE }, { head: EMPTY_TRIE }, { history: EMPTY_TRIE }]) {
    assert.throws(() => anchored(anchorOf(change)), /another checkpoint/);
  }
  assert.throws(() => anchored(anchorOf({}, [ZERO])), /needs none/);
  const forged = { ...anchorOf({}), checkpoint: signedCheckpoint(good().checkpoint.checkpoint, `0x${'02'.repeat(32)}`) };
  assert.throws(() => anchored(forged), /was signed by/);
});

const mismatch = (members: string[]) => (error: unknown): boolean => {
  assert.ok(error instanceof StateMismatch, String(error));
  assert.deepEqual(error.members, members);
  return true;
};

test('fields are compared with the entry, member by member', () => {
  for (const { key: id, entry, nodes } of caseOf('one of each type').present) {
    const { root } = caseOf('one of each type');
    const answer = (fields: Record<string, unknown>): StateAnswer => answerOf({ key: id, root, entry, nodes, sequence: SEQUENCE, fields });
    const fields = fieldsOf(id, entry, SEQUENCE);
    for (const name of Object.keys(fields)) {
      const { [name]: value, ...others } = fields;
      assert.throws(() => verifyStateProof(answer(others), trust), mismatch([`fields.${name}`]));
      const other = typeof value === 'bigint' ? value + 1n : typeof value === 'boolean' ? !value : value === null ? 1n : Array.isArray(value) ? [...value, value[0] ?? ZERO] : `${value}0`;
      assert.throws(() => verifyStateProof(answer({ ...fields, [name]: other }), trust), mismatch([`fields.${name}`]));
    }
    assert.throws(() => verifyStateProof(answer({ ...fields, surplus: 1 }), trust), mismatch(['fields.surplus']));
  }
  const spelled = edited((answer) => {
    const fields = answer.fields as Record<string, unknown>;
    fields['serial'] = Number(fields['serial']);
    fields['version'] = String(fields['version']);
    fields['owner_address'] = checksummed(fields['owner_address'] as Hex);
  });
  assert.equal(verifyStateProof(spelled, trust).entry?.type, 'obj');
});

test('texts are hashed and compared with the entry', () => {
  const id = 'tpl_73q654v8rt29ymqqke8c1kysnt';
  const org = 'org_35rx861b9m631xvdezsjp7mjky';
  const texts = { properties: '{"a":12.50}', schema: '', rules: ['', '{"type":"object"}'] };
  const rules = [['mint', 1, textHash('')], ['x.scan', 2, textHash('{"type":"object"}')]];
  const entry = toHex(RLP.encode([1, 1, 3, fromHex(hashOf('0x01')), org, 0, [], 0, 0, 0, textHash(texts.properties), textHash(''), rules]));
  const leaf = RLP.encode([fromHex(`0x20${toHex(textHash(id)).slice(2)}`), fromHex(hashOf(entry))]);
  const answer = (shown: object): StateAnswer => answerOf({ key: id, root: hashOf(leaf), entry, nodes: [toHex(leaf)], sequence: 9n, texts: shown });
  assert.deepEqual(verifyStateProof(answer(texts), trust).texts, texts);
  assert.deepEqual(verifyStateProof(answer({ schema: '' }), trust).texts, { schema: '' });
  const changed: [string, object][] = [
    ['properties', { properties: '{"a":12.5}' }],
    ['properties', { properties: '{"a": 12.50}' }],
    ['schema', { schema: 'null' }],
    ['rules', { rules: [''] }],
    ['rules', { rules: ['{"type":"object"}', ''] }],
    ['name', { name: '' }],
  ];
  for (const [name, shown] of changed) assert.throws(() => verifyStateProof(answer({ ...texts, ...shown }), trust), mismatch([`texts.${name}`]));
  // An encoder writes the same bytes for each half of a pair.
  assert.throws(() => verifyStateProof(answer({ properties: '\ud800' }), trust), /half a character/);
});
