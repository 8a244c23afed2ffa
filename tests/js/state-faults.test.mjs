// Faults that the state's root shows: the shared verdicts, and near misses of the faults that they leave out.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { checksumAddress, keccak256, toRlp } from 'viem';
import { ZERO, firstIntegrity, idText, leafOf, madeId } from './protocol.mjs';
import { Refused } from './reading.mjs';
import { STATE_FAULTS, showsFault } from './state-faults.mjs';
import { absent, address, checkpoint, idOf, integrity, leaf, making, path, state } from './state-records.mjs';
import { EMPTY_TRIE } from './state.mjs';

const { vectors } = JSON.parse(readFileSync(new URL('../../crates/protocol/vectors/state-faults.json', import.meta.url), 'utf8'));
const verdictOf = (fault, evidence) => (showsFault(fault, evidence) ? 'convict' : 'refuse');

test('every verdict of the table is reached', () => {
  const counts = { convict: 0, refuse: 0 };
  for (const { name, fault, evidence, verdict } of vectors) {
    assert.equal(verdictOf(fault, evidence), verdict, name);
    counts[verdict] += 1;
    for (const record of [evidence.leaf, ...(evidence.leaves ?? [])]) if (record) assert.equal(leafOf(record), record.leaf, name);
  }
  assert.deepEqual([vectors.length, counts], [144, { convict: 51, refuse: 93 }]);
});

test('a malformed entry, and one under a checkpoint without a root, is no entry to any other fault', () => {
  let spoiled = 0;
  for (const { name, fault, evidence, verdict } of vectors) {
    if (verdict !== 'convict' || fault === 'malformed state') continue;
    for (const [member, record] of Object.entries(evidence)) {
      // What extends a wallet's entry needs no other wallet to be foreign.
      if (!record?.id || record.entry === '0x' || (fault === 'foreign hand' && member === 'wallet' && evidence.entry.id.startsWith('wal'))) continue;
      for (const other of [{ entry: record.entry.slice(0, -2) }, { checkpoint: { ...record.checkpoint, root: false } }]) {
        assert.equal(verdictOf(fault, { ...evidence, [member]: { ...record, ...other } }), 'refuse', `${name}: ${member}`);
        spoiled += 1;
      }
    }
  }
  assert.ok(spoiled >= 100, `${spoiled} entries were spoiled`);
});

test('evidence of another form is refused', () => {
  const entry = state(idOf('obj', 1));
  const bad = [
    ['toString', {}],
    ['lone step', { first: entry }],
    ['malformed state', { entry: { ...entry, id: 'obj_1' } }],
    ['malformed state', { entry: { ...entry, id: idOf('bat', 1) } }],
    ['malformed state', { entry: { ...entry, entry: `${entry.entry}0` } }],
    ['malformed state', { entry: { ...entry, entry: 'nothing' } }],
    ['stale state', { entry, leaf: { ...leaf(integrity(1)), words: making({ kind: 'mint' }).words } }],
    ['false address', {}],
    ['false address', { first: state(idOf('wal', 1)) }],
    ['broken trie', { root: integrity(1), nodes: ['0x0'] }],
  ];
  for (const [fault, evidence] of bad) assert.throws(() => showsFault(fault, evidence), Refused, fault);
  // Hexadecimal in upper case has the same bytes.
  const upper = { ...entry, entry: `0x${entry.entry.slice(2).toUpperCase()}` };
  assert.equal(verdictOf('malformed state', { entry: upper }), 'refuse');
});

const tried = new Set();

/** Runs a table of evidence: [verdict, why, evidence]. */
function judged(fault, table) {
  tried.add(fault);
  for (const [verdict, why, evidence] of table) assert.equal(verdictOf(fault, evidence), verdict, `${fault}: ${why}`);
  assert.ok(table.some(([verdict]) => verdict === 'convict') && table.some(([verdict]) => verdict === 'refuse'));
}

const [object, wallet, template, variation, organization] = ['obj', 'wal', 'tpl', 'var', 'org'].map((prefix) => idOf(prefix, 1));
const later = checkpoint(3, 20);
const earlier = checkpoint(1, 5);

test('lone step', () => {
  const pair = (one, other, id = object) => ({ first: state(id, one), second: state(id, { at: later, ...other }) });
  const step = { version: 2, sequence: 11, integrity: integrity(2) };
  judged('lone step', [
    ['refuse', 'nothing changed', pair({}, {})],
    ['refuse', 'all changed', pair({}, step)],
    ['refuse', 'all changed, in the other order', pair(step, {})],
    ['refuse', 'version and sequence grew by as much', pair({}, { ...step, version: 9, sequence: 11 })],
    ['convict', 'another version alone', pair({}, { version: 2 })],
    ['convict', 'another sequence alone', pair({}, { sequence: 4 })],
    ['convict', 'another integrity alone', pair({}, { integrity: integrity(2) })],
    ['convict', 'the same integrity', pair({}, { ...step, integrity: integrity(1) })],
    ['convict', 'version grew more than sequence', pair({}, { ...step, version: 4, sequence: 5 })],
    ['convict', 'version grew, and sequence fell', pair({ ...step, version: 2, sequence: 8 }, { version: 3, sequence: 4, integrity: integrity(3) })],
    ['refuse', 'two ids', { first: state(object), second: state(idOf('obj', 2), { version: 2 }) }],
    ['refuse', 'an absence', { first: state(object), second: absent(object, later) }],
    ['refuse', 'a role alone', pair({}, { role: 0 }, wallet)],
  ]);
});

test('changed constant', () => {
  const pair = (id, one, other, at = later) => ({ first: state(id, one), second: state(id, { at, version: 2, sequence: 4, integrity: integrity(2), ...other }) });
  const same = { version: 1, sequence: 3, integrity: integrity(1) };
  judged('changed constant', [
    ['refuse', 'an object: owner, address, status, properties', pair(object, {}, { owner: idOf('wal', 2), ownerAddress: address(2), status: 2, properties: integrity(3) })],
    ...Object.entries({ organization: idOf('org', 2), template: idOf('tpl', 2), variation, serial: 2 }).map(([name, value]) => ['convict', `an object's ${name}`, pair(object, {}, { [name]: value })]),
    ['convict', 'a burned object is active', pair(object, { status: 2 }, {})],
    ['convict', 'a burned object is burned again', pair(object, { status: 2 }, { status: 2 })],
    ['convict', "a burned object's owner", pair(object, { status: 2 }, { ...same, status: 2, owner: idOf('wal', 2) })],
    ['refuse', 'a burned object', pair(object, { status: 2 }, { ...same, status: 2 })],
    ['refuse', 'a locked object', pair(object, { status: 1 }, {})],
    ['refuse', 'a wallet: role and keys', pair(wallet, {}, { role: 0, keys: [address(1), address(2)] })],
    ['refuse', 'a wallet is removed', pair(wallet, {}, { ...same, keys: [] })],
    ['refuse', 'the role of a removed wallet', pair(wallet, { keys: [] }, { ...same, role: 1, keys: [] })],
    ['convict', 'keys after removal', pair(wallet, { keys: [] }, same)],
    ['convict', 'a change after removal', pair(wallet, { keys: [] }, { keys: [] })],
    ['convict', "a wallet's address", pair(wallet, {}, { registered: address(2) })],
    ['convict', "a wallet's organization", pair(wallet, {}, { organization: idOf('org', 2) })],
    ['refuse', 'a template: counts grow, all else changes', pair(template, {}, { publicAccess: 1, minted: 4, burned: 2, variations: 3, properties: integrity(2), schema: integrity(2), rules: [['mint', 2]] })],
    ['convict', 'max_supply', pair(template, { maxSupply: [9] }, { maxSupply: [10] })],
    ['convict', 'no max_supply any more', pair(template, { maxSupply: [9] }, {})],
    ['convict', 'minted fell', pair(template, {}, { minted: 2 })],
    ['convict', 'burned fell', pair(template, {}, { burned: 0 })],
    ['convict', 'variations fell', pair(template, {}, { variations: 1 })],
    ['refuse', 'counts grow, seen in the other order', { first: state(template, { at: later, minted: 4 }), second: state(template) }],
    ['convict', 'a variation', pair(variation, {}, { ...same, index: 1 })],
    ['refuse', 'a variation, unchanged', pair(variation, {}, same)],
    ['convict', 'a file', pair(idOf('fil', 1), {}, { sha: integrity(2) })],
    ['convict', 'a dispute', pair(idOf('dsp', 1), {}, { subject: idOf('bat', 2) })],
    ['convict', 'a sequencer key', pair(idOf('act', 1), {}, { fromBatch: 6 })],
    ['convict', 'a deleted API key', pair(idOf('key', 1), { deleted: 1 }, {})],
    ['refuse', 'an API key is deleted', pair(idOf('key', 1), {}, { deleted: 1 })],
    ['convict', 'a deleted webhook is active', pair(idOf('whk', 1), { deleted: 1, active: 0 }, { ...same, deleted: 1, active: 1 })],
    ['refuse', 'a webhook is switched off', pair(idOf('whk', 1), {}, { active: 0 })],
    ['refuse', 'an organization', pair(organization, {}, {})],
    ['refuse', 'two ids', { first: state(object), second: state(idOf('obj', 2), { serial: 2 }) }],
  ]);
});

/** Two entries, joined by leaves of these kinds; the version of the second follows from their number. */
function joined(id, kinds, one, other) {
  const leaves = path(integrity(1), ...kinds);
  const end = { at: later, version: 1 + leaves.length, sequence: 11, integrity: leaves.at(-1)?.integrity ?? integrity(1) };
  return { first: state(id, one), second: state(id, { ...end, ...other }), leaves };
}
const closed = (evidence) => ({ ...evidence, leaves: evidence.leaves.map(({ words: _, ...rest }, i) => (i === 0 ? rest : { ...rest, words: _ })) });

test('false owner: of any type, versions count the leaves', () => {
  judged('false owner', [
    ['refuse', 'a wallet, two leaves', joined(wallet, ['wallet.update', 'wallet.update'], {}, {})],
    ['convict', 'a wallet, two leaves and one version', joined(wallet, ['wallet.update', 'wallet.update'], {}, { version: 2 })],
    ['convict', 'a template, one leaf and two versions', joined(template, ['template.update'], {}, { version: 3 })],
    ['convict', 'whatever the leaves hold', closed(joined(template, ['template.update'], {}, { version: 3 }))],
    ['refuse', 'leaves that lead elsewhere', joined(template, ['template.update'], {}, { version: 3, integrity: integrity(9) })],
    ['convict', 'an object whose owner changed without a transfer', joined(object, ['emit', 'update'], {}, { owner: idOf('wal', 2) })],
  ]);
});

test('hidden change', () => {
  const changed = { properties: integrity(3) };
  const rules = { rules: [['mint', 2]] };
  judged('hidden change', [
    ['convict', 'emit', joined(object, ['emit'], {}, changed)],
    ['convict', 'transfer and lock', joined(object, ['transfer', 'lock'], {}, changed)],
    ...['update', 'set_attributes', 'delete_attributes'].map((kind) => ['refuse', kind, joined(object, ['emit', kind], {}, changed)]),
    ['refuse', 'a leaf that is not opened', closed(joined(object, ['emit', 'emit'], {}, changed))],
    ['refuse', 'the same properties', joined(object, ['emit'], {}, { owner: idOf('wal', 2), status: 1 })],
    ['refuse', 'leaves that lead elsewhere', joined(object, ['emit'], {}, { ...changed, integrity: integrity(9) })],
    ['convict', "an object's kind on a template", joined(template, ['update'], {}, changed)],
    ...Object.entries({ publicAccess: 1, properties: integrity(3), schema: integrity(3), ...rules }).map(([name, value]) => ['convict', `a template's ${name}`, joined(template, ['template.variations'], {}, { [name]: value })]),
    ['refuse', 'a template.update', joined(template, ['template.variations', 'template.update'], {}, { ...changed, ...rules, publicAccess: 1 })],
    ['refuse', "a template's counts", joined(template, ['template.variations'], {}, { minted: 4, burned: 2, variations: 3 })],
    ['refuse', 'a wallet', joined(wallet, ['wallet.update'], {}, { keys: [address(2)] })],
    ['refuse', 'two ids', { ...joined(object, ['emit'], {}, changed), first: state(idOf('obj', 2)) }],
  ]);
});

test('false keys', () => {
  const [one, two, three] = [address(1), address(2), address(3)];
  const held = { keys: [one, two] };
  judged('false keys', [
    ['refuse', 'added', joined(wallet, ['wallet.key_add'], held, { keys: [one, two, three] })],
    ['refuse', 'removed', joined(wallet, ['wallet.key_remove'], held, { keys: [two] })],
    ['refuse', 'added and another removed', joined(wallet, ['wallet.key_add', 'wallet.key_remove'], held, { keys: [one, three] })],
    ['refuse', 'updated', joined(wallet, ['wallet.update'], held, held)],
    ['convict', 'grew without an addition', joined(wallet, ['wallet.update'], held, { keys: [one, two, three] })],
    ['convict', 'an addition that added none', joined(wallet, ['wallet.key_add'], held, held)],
    ['convict', 'a removal that removed none', joined(wallet, ['wallet.key_remove'], held, held)],
    ['convict', 'a key exchanged', joined(wallet, ['wallet.update'], held, { keys: [one, three] })],
    ['convict', 'two new keys, one addition', joined(wallet, ['wallet.key_add', 'wallet.key_remove'], held, { keys: [three, address(4)] })],
    ['refuse', 'a leaf that is not opened', closed(joined(wallet, ['wallet.update', 'wallet.update'], held, { keys: [one] }))],
    ['refuse', 'a member that was removed', joined(wallet, ['wallet.update'], held, { keys: [] })],
    ['refuse', 'removed before', joined(wallet, ['wallet.update'], { keys: [] }, held)],
    ['refuse', 'leaves that lead elsewhere', joined(wallet, ['wallet.update'], held, { keys: [one], integrity: integrity(9) })],
  ]);
});

test('dead hand', () => {
  const extended = (id, members, options, from = integrity(1)) => ({ entry: state(id, members), leaf: leaf(from, options) });
  judged('dead hand', [
    ['convict', 'burned', extended(object, { status: 2 }, {})],
    ['convict', 'burned, not opened', extended(object, { status: 2 }, { isOpened: false })],
    ['convict', 'locked, and an update', extended(object, { status: 1 }, { kind: 'update' })],
    ['convict', 'locked, and locked again', extended(object, { status: 1 }, { kind: 'lock' })],
    ['refuse', 'locked, not opened', extended(object, { status: 1 }, { isOpened: false })],
    ['refuse', 'locked, and unlock', extended(object, { status: 1 }, { kind: 'unlock' })],
    ['convict', 'active, and unlock', extended(object, {}, { kind: 'unlock' })],
    ['refuse', 'active', extended(object, {}, { kind: 'update' })],
    ['refuse', 'burned, and a leaf that extends something else', extended(object, { status: 2 }, {}, integrity(2))],
    ['convict', 'a wallet without keys', extended(wallet, { keys: [] }, { isOpened: false })],
    ['refuse', 'a wallet with keys', extended(wallet, {}, {})],
    ['convict', 'a deleted API key', extended(idOf('key', 1), { deleted: 1 }, { kind: 'key.rotate' })],
    ['refuse', 'an API key', extended(idOf('key', 1), {}, { kind: 'key.delete' })],
    ['convict', 'a deleted webhook', extended(idOf('whk', 1), { deleted: 1, active: 0 }, {})],
    ['refuse', 'a webhook that is off', extended(idOf('whk', 1), { active: 0 }, {})],
    ['refuse', 'a template', extended(template, {}, { kind: 'unlock' })],
    // The 32 zero bytes before what is made are no resource's integrity: an entry cannot hold them.
    ['refuse', 'an integrity of zeros', { entry: state(object, { status: 2, integrity: ZERO }), leaf: making() }],
  ]);
});

test('trespass (c): a leaf by an owner that was removed before', () => {
  const at = earlier;
  const removed = (sequence, members = {}) => state(wallet, { at: checkpoint(2, sequence), keys: [], ...members });
  const evidence = (changes = {}, options = {}) => ({
    object: state(object, { at }), template: state(template, { at }), leaves: [], leaf: leaf(integrity(1), { kind: 'emit', sequence: 12, ...options }), kind: 'emit', wallet: removed(11), ...changes,
  });
  const after = (...kinds) => {
    const leaves = path(integrity(1), ...kinds);
    return { leaves, leaf: leaf(leaves.at(-1).integrity, { kind: 'emit', sequence: 12, signer: address(9) }) };
  };
  judged('trespass', [
    ['convict', 'removed at a checkpoint before the leaf', evidence()],
    ['convict', 'whatever key signed', evidence({}, { signer: address(9) })],
    ['refuse', 'at a checkpoint that ends with the leaf: removed by it, perhaps', evidence({ wallet: removed(12) })],
    ['refuse', 'at a later checkpoint: removed since', evidence({ wallet: removed(13) })],
    ['refuse', 'with keys, of which one signed', evidence({ wallet: state(wallet, { at: later }) })],
    ['refuse', "another member's wallet", evidence({ wallet: { ...removed(11), id: idOf('wal', 2) } })],
    ['refuse', 'an action that a rule leaves to anyone', evidence({ template: state(template, { at, rules: [['emit', 2]] }) })],
    ['refuse', 'an action that a rule leaves to the issuer', evidence({ template: state(template, { at, rules: [['emit', 1]] }) })],
    ['refuse', 'not opened', evidence({}, { isOpened: false })],
    ['refuse', 'a leaf at the checkpoint of the object: stale, not this', evidence({}, { sequence: 5 })],
    ['convict', 'after an update', evidence(after('update', 'emit'))],
    ['refuse', 'after a transfer', evidence(after('update', 'transfer'))],
    ['refuse', 'after a leaf that is not opened', evidence(after('update', { kind: 'emit', isOpened: false }))],
    ['refuse', 'a leaf that extends something else', evidence({ leaf: leaf(integrity(2), { sequence: 12 }) })],
    ['refuse', 'no wallet', evidence({ wallet: null })],
    ['refuse', 'rules of another template', evidence({ template: state(idOf('tpl', 2), { at }) })],
    ['refuse', 'rules of another checkpoint', evidence({ template: state(template) })],
  ]);
});

const MAKERS = { tpl: 'template.create', key: 'key.create', whk: 'webhook.create', fil: 'file.create' };
const foreign = (members = {}) => state(idOf('wal', 2), { at: later, organization: idOf('org', 2), registered: address(2), keys: [address(2)], ...members });

test('foreign maker', () => {
  const table = [];
  for (const [prefix, kind] of Object.entries(MAKERS)) {
    const made = making({ kind, signer: address(2) });
    const id = madeId(prefix, made.content, 0);
    const evidence = (changes = {}) => ({ entry: state(id, { integrity: made.integrity }), leaf: made, wallet: foreign(), ...changes });
    const { words: _, ...unopened } = made;
    const own = foreign({ organization: idOf('org', 1) });
    const update = making({ kind: `${kind}d`, signer: address(2) });
    table.push(
      ['convict', prefix, evidence()],
      ['convict', `${prefix}, changed since`, evidence({ entry: state(id, { version: 2, sequence: 9 }) })],
      [prefix === 'fil' ? 'convict' : 'refuse', `${prefix} of the signer's organization`, evidence({ wallet: own })],
      ['refuse', `${prefix} of another id`, evidence({ entry: state(idOf(prefix, 2)) })],
      ['refuse', `${prefix}, not opened`, evidence({ leaf: unopened })],
      ['refuse', `${prefix}, by a key that the wallet has not`, evidence({ wallet: foreign({ keys: [address(3)] }) })],
      ['refuse', `${prefix}, another kind`, { entry: state(madeId(prefix, update.content, 0)), leaf: update, wallet: foreign() }],
    );
  }
  const file = making({ kind: 'file.create', signer: address(2) });
  const entry = state(madeId('fil', file.content, 0), { wallet: idOf('wal', 2) });
  table.push(['refuse', "the signer's own file", { entry, leaf: file, wallet: foreign({ organization: idOf('org', 1) }) }]);
  const mint = making({ kind: 'mint', signer: address(2) });
  table.push(['refuse', 'an object: foreign mint, not this', { entry: state(madeId('obj', mint.content, 0)), leaf: mint, wallet: foreign() }]);
  judged('foreign maker', table);
});

test('foreign mint', () => {
  const evidence = (members = {}, options = {}, changes = {}) => ({
    template: state(template, members), leaf: making({ kind: 'mint', target: template, signer: address(2), sequence: 6, ...options }), wallet: foreign(), ...changes,
  });
  judged('foreign mint', [
    ['convict', 'without a rule', evidence()],
    ['convict', 'a rule leaves it to the issuer', evidence({ rules: [['mint', 1]] })],
    ['refuse', 'a rule leaves it to anyone', evidence({ rules: [['mint', 2]] })],
    ['convict', 'at a checkpoint that ends with the mint', evidence({}, { sequence: 10 })],
    ['refuse', 'at a checkpoint before the mint: the rule may have changed', evidence({}, { sequence: 11 })],
    ['refuse', 'a template that changed with or after the mint', evidence({ version: 2, sequence: 6 })],
    ['convict', 'a template that changed before the mint', evidence({ version: 2, sequence: 5 })],
    ['refuse', "by a member of the template's organization", evidence({}, {}, { wallet: foreign({ organization: idOf('org', 1) }) })],
    ['refuse', 'by a key that the wallet has not', evidence({}, { signer: address(3) })],
    ['refuse', 'of another template', evidence({}, { target: idOf('tpl', 2) })],
    ['refuse', 'another kind', evidence({}, { kind: 'update' })],
    ['refuse', 'not opened', evidence({}, { isOpened: false })],
    ['refuse', 'no wallet', evidence({}, {}, { wallet: null })],
  ]);
});

test('live update', () => {
  const evidence = (members = {}, options = {}) => ({ object: state(object, members), leaf: leaf(integrity(5), { kind: 'template.update', target: template, sequence: 6, ...options }) });
  judged('live update', [
    ['convict', 'active', evidence()],
    ['convict', 'locked', evidence({ status: 1 })],
    ['refuse', 'burned, perhaps before', evidence({ status: 2 })],
    ['convict', 'at a checkpoint that ends with the update', evidence({}, { sequence: 10 })],
    ['refuse', 'at a checkpoint before the update: burned between, perhaps', evidence({}, { sequence: 11 })],
    ['refuse', 'minted or changed at the update', evidence({ sequence: 6 })],
    ['refuse', 'minted after it', evidence({ sequence: 7 })],
    ['refuse', 'of another template', evidence({ template: idOf('tpl', 2) })],
    ['refuse', 'another kind', evidence({}, { kind: 'template.variations' })],
    ['refuse', 'not opened', evidence({}, { isOpened: false })],
  ]);
});

test('false entry: the owner of a mint', () => {
  const evidence = (members, options = {}, changes = {}) => {
    const made = making({ kind: 'mint', target: template, signer: address(2), ...options });
    const id = madeId('obj', made.content, 0);
    return { entry: state(id, { integrity: made.integrity, ...members }), leaf: made, kind: 'mint', to: '', wallet: foreign(), ...changes };
  };
  const other = idOf('wal', 3);
  const exact = { payload: `{"to":"${other}"}` };
  judged('false entry', [
    ['refuse', "{}: the signer's wallet", evidence({ owner: idOf('wal', 2) })],
    ['convict', '{}: another wallet', evidence({})],
    ['refuse', '{}: no wallet shown', evidence({}, {}, { wallet: null })],
    ['refuse', '{}: a wallet that has not the signer', evidence({}, { signer: address(3) })],
    ['refuse', 'another spelling', evidence({}, { payload: '{ }' })],
    ['refuse', 'an empty payload', evidence({}, { payload: '' })],
    ['refuse', 'exactly to a wallet: that one', evidence({ owner: other }, exact, { to: other })],
    ['convict', 'exactly to a wallet: another one', evidence({ owner: idOf('wal', 2) }, exact, { to: other })],
    ['refuse', 'to a wallet that the evidence does not name', evidence({}, exact)],
    ['refuse', 'to an address, whose wallet the payload does not name', evidence({}, { payload: `{"to":"${address(4)}"}` }, { to: address(4) })],
    ['refuse', 'not opened', evidence({}, { isOpened: false })],
    ['refuse', 'a plain text of another kind', evidence({}, {}, { kind: 'x.mint' })],
    ['refuse', 'no plain text', evidence({}, {}, { kind: null })],
  ]);
  const moved = leaf(integrity(1), { kind: 'transfer', payload: `{"to":"${address(4)}"}` });
  const entry = state(object, { version: 2, sequence: 4, integrity: moved.integrity });
  assert.equal(verdictOf('false entry', { entry, leaf: moved, kind: 'transfer', to: address(4) }), 'refuse', 'a transfer to an address');
});

test('false entry: disputes, sequencer keys, wallets, variations', () => {
  const subject = idOf('bat', 1);
  const dispute = (target, members = {}) => {
    const made = making({ kind: 'system.verdict', target });
    return { entry: state(madeId('dsp', made.content, 0), { integrity: made.integrity, ...members }), leaf: made, kind: 'system.verdict' };
  };
  const named = address(0xab);
  const key = (target, kind = 'system.sequencer_key', members = {}) => {
    const made = making({ kind, target });
    return { entry: state(idText('act', made.content), { integrity: made.integrity, named, ...members }), leaf: made, kind };
  };
  const registered = (members = {}, options = {}, changes = {}) => {
    const made = making({ kind: 'wallet.register', signer: address(1), ...options });
    return { entry: state(madeId('wal', made.content, 0), { integrity: made.integrity, ...members }), leaf: made, kind: 'wallet.register', ...changes };
  };
  const varied = (i, members = {}, options = {}, id = i) => {
    const made = leaf(integrity(5), { kind: 'template.variations', target: template, sequence: 3, ...options });
    return { entry: state(madeId('var', made.content, id), { integrity: firstIntegrity(made.content, i + 1), ...members }), leaf: made, kind: 'template.variations' };
  };
  judged('false entry', [
    ['refuse', 'the subject of a dispute', dispute(subject)],
    ['convict', 'another subject', dispute(idOf('bat', 2))],
    ['refuse', 'a subject at another sequence', { ...dispute(idOf('bat', 2)), entry: dispute(idOf('bat', 2), { sequence: 4 }).entry }],
    ['refuse', 'a key in EIP-55', key(checksumAddress(named))],
    ['convict', 'a key in lower case', key(named)],
    ['convict', 'another key', key(checksumAddress(address(0xcd)))],
    ['convict', 'system.prune makes no entry', key(checksumAddress(named), 'system.prune')],
    ['refuse', 'a registration', registered()],
    ['convict', 'another address', registered({ registered: address(2) })],
    ['convict', 'another address, at a later version', registered({ registered: address(2), version: 4, sequence: 9, integrity: integrity(9) })],
    ['refuse', 'an address, by the registration of another wallet', { ...registered({ registered: address(2) }), leaf: making({ kind: 'wallet.register', signer: address(3), sequence: 5 }) }],
    ...[0, 1, 499].map((i) => ['refuse', `variation ${i}`, varied(i)]),
    ['convict', 'variation 500', varied(500)],
    ['convict', 'the id of variation 1, the integrity of variation 0', varied(0, {}, {}, 1)],
    ['convict', 'another template', varied(0, { template: idOf('tpl', 2) })],
    ['convict', 'another kind', varied(0, {}, { kind: 'template.update' })],
    ['refuse', 'a variation at another sequence', varied(500, {}, { sequence: 4 })],
    ['refuse', 'a variation, not opened', varied(500, {}, { isOpened: false })],
  ]);
});

test('missing state: what an action makes, and what none makes', () => {
  const missing = (prefix, kind, change = (id) => id) => {
    const made = making({ kind, sequence: 10 });
    return { entry: absent(change(prefix === 'act' ? idText('act', made.content) : madeId(prefix, made.content, 0))), leaf: made, kind };
  };
  judged('missing state', [
    ['convict', 'a named sequencer key', missing('act', 'system.sequencer_key')],
    ['refuse', 'a pruning, which has no entry', missing('act', 'system.prune')],
    ['convict', 'a dispute', missing('dsp', 'system.verdict')],
    ['convict', 'a wallet', missing('wal', 'wallet.register')],
    ['refuse', 'an organization: a registration by invitation makes none', missing('org', 'wallet.register')],
    ['refuse', 'a lock makes nothing', missing('obj', 'lock')],
  ]);
});

test('false address: templates and keys of two wallets', () => {
  const at = (members, when) => state(wallet, { at: when, ...members });
  judged('false address', [
    ['refuse', "the organization of the object's template", { object: state(object), template: state(template) }],
    ['convict', 'another organization', { object: state(object, { organization: idOf('org', 2) }), template: state(template) }],
    ['refuse', 'at another checkpoint', { object: state(object, { organization: idOf('org', 2) }), template: state(template, { at: later }) }],
    ['refuse', 'another template', { object: state(object, { organization: idOf('org', 2) }), template: state(idOf('tpl', 2)) }],
    ['refuse', 'two wallets', { first: at({}, earlier), second: foreign() }],
    ['convict', 'one key in two wallets', { first: at({ keys: [address(1), address(2)] }, earlier), second: foreign() }],
    ['convict', 'the address of one among the keys of the other', { first: at({ registered: address(2) }, earlier), second: foreign({ registered: address(5) }) }],
    ['convict', 'one address for two wallets, whose keys are gone', { first: at({ keys: [] }, earlier), second: foreign({ registered: address(1), keys: [] }) }],
    ['refuse', 'one wallet at two checkpoints', { first: at({}, earlier), second: at({}, later) }],
  ]);
});

test('foreign hand on a wallet: by a key that is not among its keys', () => {
  const extended = (members, options) => ({ entry: state(wallet, members), leaf: leaf(integrity(1), { kind: 'wallet.update', ...options }) });
  judged('foreign hand', [
    ['refuse', 'its own key', extended({}, {})],
    ['convict', 'a key of no wallet that is shown', extended({}, { signer: address(2) })],
    ['refuse', 'not opened', extended({}, { signer: address(2), isOpened: false })],
    ['refuse', 'a kind of the operator', extended({}, { signer: address(2), kind: 'system.tier' })],
    ['refuse', 'a leaf that extends something else', { entry: state(wallet, { integrity: integrity(2) }), leaf: leaf(integrity(1), { signer: address(2) }) }],
  ]);
});

test('broken trie', () => {
  const value = integrity(0x77);
  const [other, another] = [integrity(0x78), integrity(0x79)];
  const leafNode = (nibbles, end = value) => toRlp([nibbles.length % 2 === 1 ? `0x3${nibbles}` : `0x20${nibbles}`, end]);
  const extension = (nibbles, child) => toRlp([nibbles.length % 2 === 1 ? `0x1${nibbles}` : `0x00${nibbles}`, keccak256(child)]);
  const branch = (children, end = '0x') => toRlp([...Array.from({ length: 16 }, (_, i) => children[i] ?? '0x'), end]);
  const evidence = (...nodes) => ({ root: keccak256(nodes[0]), nodes });
  const goodLeaf = leafNode('a'.repeat(63));
  const good = branch({ 3: keccak256(goodLeaf), 5: other });
  const short = leafNode('a'.repeat(62));
  const entry = toRlp(['0x01', '0x01', '0x03', integrity(1)]);
  const single = leafNode('b'.repeat(64), keccak256(entry));
  judged('broken trie', [
    ['refuse', 'a leaf', evidence(leafNode('b'.repeat(64)))],
    ['refuse', 'a branch and a leaf', evidence(good, goodLeaf)],
    ['refuse', 'a branch alone', evidence(good)],
    ['refuse', 'no nodes', { root: integrity(1), nodes: [] }],
    ['convict', 'a branch with one child', evidence(branch({ 3: other }))],
    ['convict', 'a branch with a value', evidence(branch({ 3: other, 4: another }, value))],
    ['convict', 'a leaf that ends too early', evidence(branch({ 3: keccak256(short), 5: other }), short)],
    ['convict', 'a leaf that ends too late', evidence(leafNode('b'.repeat(66)))],
    ['refuse', 'a leaf that nothing leads to', evidence(good, short)],
    ['refuse', 'a broken node that is not the root', { root: integrity(1), nodes: [branch({ 3: other })] }],
    ['refuse', 'a broken node before the last one', evidence(branch({ 3: keccak256(goodLeaf) }), goodLeaf)],
    ['convict', 'an extension to a leaf', evidence(extension('bbb', leafNode('b'.repeat(61))), leafNode('b'.repeat(61)))],
    ['refuse', 'an extension to a branch', evidence(extension('bbb', good), good)],
    ['convict', 'an extension without a path', evidence(extension('', good))],
    ['convict', 'an extension that leaves no nibble', evidence(extension('b'.repeat(64), good))],
    ['convict', 'another flag', evidence(toRlp([`0x40${'b'.repeat(64)}`, value]))],
    ['convict', 'a pad', evidence(toRlp([`0x21${'b'.repeat(64)}`, value]))],
    ['convict', 'a child inside of its parent', evidence(toRlp([...Array.from({ length: 15 }, () => '0x'), ['0x20', '0x01'], other, '0x']))],
    ['convict', 'a child of 31 bytes', evidence(branch({ 3: other.slice(0, -2), 4: another }))],
    ['convict', 'a value of 31 bytes', evidence(leafNode('b'.repeat(64), value.slice(0, -2)))],
    ['convict', 'a node below 32 bytes', evidence(toRlp(['0x20', '0x01']))],
    ['convict', 'something after the list', evidence(`${good}00`)],
    ['convict', 'a list of three', evidence(toRlp([value, value, value]))],
    ['convict', 'no list', evidence(`0x${'00'.repeat(40)}`)],
    ['convict', 'a long node', evidence(`0x${'c1'.repeat(50_000)}c0`)],
    // What an honest trie holds: neither is a node that its root leads to.
    ['refuse', 'the entry under a leaf', evidence(single, entry)],
    ['refuse', 'the byte whose hash is the root of nothing', { root: EMPTY_TRIE, nodes: ['0x80'] }],
    ['refuse', 'a checkpoint without a root', { root: ZERO, nodes: [] }],
    ['refuse', 'a good node in upper case', { root: keccak256(good), nodes: [`0x${good.slice(2).toUpperCase()}`] }],
  ]);
  // As deep as keys allow: 64 branches, and one more is too deep.
  const chain = (depth) => {
    const nodes = [leafNode('')];
    for (let i = 0; i < depth; i += 1) nodes.unshift(branch({ 3: keccak256(nodes[0]), 5: other }));
    return evidence(...nodes);
  };
  assert.equal(verdictOf('broken trie', chain(64)), 'refuse');
  assert.equal(verdictOf('broken trie', { ...chain(65), nodes: chain(65).nodes.slice(0, 65) }), 'convict');
});

test('every fault is tried', () => {
  const known = new Set([...tried, ...vectors.map(({ fault }) => fault)]);
  assert.deepEqual([...known].sort(), [...STATE_FAULTS].sort());
  assert.equal(STATE_FAULTS.length, 25);
});
