// Faults that the state's root shows, as predicates over their evidence. Signatures, Merkle paths, state proofs, anchors
// and windows are not checked here: evidence says what they have shown. A fault is proven by `true`; evidence of another
// form is a Refused.

import { checksumAddress, concat, keccak256, pad, sha256, size, stringToHex } from 'viem';
import { ZERO, firstIntegrity, idText, madeId, nextIntegrity } from './protocol.mjs';
import { Refused, refuseUnless } from './reading.mjs';
import { EMPTY_TRIE, entryOf, nodeOf, typeOf } from './state.mjs';

const VARIATIONS_MAX = 500;
const WALLET = /^wal_[0-7][0-9a-hjkmnp-tv-z]{25}$/;
const hashOf = (text) => keccak256(stringToHex(text));

// The kinds that act on each type; the first one makes it, but for organizations.
const KINDS = {
  obj: 'mint update set_attributes delete_attributes transfer lock unlock burn emit',
  wal: 'wallet.register wallet.update wallet.key_add wallet.key_remove',
  org: 'org.invite org.invitation_revoke org.role org.member_remove system.tier',
  tpl: 'template.create template.update template.variations',
  var: '',
  key: 'key.create key.delete key.rotate',
  whk: 'webhook.create webhook.update webhook.delete webhook.rotate system.webhook_off',
  fil: 'file.create',
  dsp: 'system.verdict',
  act: 'system.sequencer_key',
};
const kindsOf = (type) => KINDS[type].split(' ');
const makerOf = (type) => (type === 'org' || type === 'var' ? null : kindsOf(type)[0]);
const OWNERS = new Set(kindsOf('obj').slice(1).map(hashOf));
const SYSTEM = new Set(['system.tier', 'system.verdict', 'system.webhook_off', 'system.sequencer_key'].map(hashOf));
const CHANGES_PROPERTIES = new Set(['update', 'set_attributes', 'delete_attributes'].map(hashOf));
const [ACTIVE, LOCKED, BURNED] = [0n, 1n, 2n];
const [OWNER, ISSUER] = [0n, 1n];

// Evidence

/** Bytes in one spelling: with another one they would not seem canonical. */
function bytesOf(hex) {
  refuseUnless(typeof hex === 'string' && /^0x(?:[0-9a-fA-F]{2})*$/.test(hex), 'no bytes in hexadecimal');
  return hex.toLowerCase();
}

/** A signed checkpoint; `root` says whether its state is not zero. */
const checkpointOf = ({ batches, sequence, root }) => ({ batches: BigInt(batches), sequence: BigInt(sequence), root });

/** What a state proof shows of an id: an entry, nothing, or a malformed entry, which counts as neither. */
function stateOf({ checkpoint: record, id, entry }) {
  const [checkpoint, encoded] = [checkpointOf(record), bytesOf(entry)];
  const shown = { checkpoint, id, type: typeOf(id), entry: null, isAbsent: checkpoint.root && encoded === '0x', isMalformed: false };
  if (!checkpoint.root || encoded === '0x') return shown;
  try {
    return { ...shown, entry: entryOf(id, encoded, checkpoint.sequence) };
  } catch (error) {
    if (error instanceof Refused) return { ...shown, isMalformed: true };
    throw error;
  }
}

/** A leaf, opened if the five words of its content are there. */
function leafOf({ sequence, content, integrity, words }) {
  refuseUnless(words === undefined || (words.length === 5 && words.every((word) => size(word) === 32) && sha256(concat(words)) === content), 'words of another content');
  const [kind, target, payload, signer] = words ?? [];
  return { sequence: BigInt(sequence), content, integrity, isOpened: words !== undefined, kind, target, payload, signer };
}

const READERS = {
  leaf: leafOf,
  leaves: (list) => list.map(leafOf),
  wallet: (record) => (record === null ? null : stateOf(record)),
  kind: (text) => text,
  // A transfer may name an address too, which is no owner's id: such a payload says nothing.
  to: (text) => (WALLET.test(text) ? text : null),
  root: bytesOf,
  nodes: (list) => list.map(bytesOf),
};

// What the predicates share

const extendsFrom = (leaf, integrity) => integrity !== ZERO && nextIntegrity(integrity, leaf.content) === leaf.integrity;
const isKind = (leaf, kind) => leaf.isOpened && leaf.kind === hashOf(kind);
const isPayload = (leaf, text) => leaf.isOpened && leaf.payload === hashOf(text);
const makes = (leaf, type, id) => (type === 'act' ? idText('act', leaf.content) : madeId(type, leaf.content, 0)) === id;
const hasKey = (wallet, leaf) => wallet.entry.keys.some((key) => pad(key, { size: 32 }) === leaf.signer);
const isWallet = (shown) => shown?.entry != null && shown.type === 'wal';
const isSameId = (first, second) => first.entry !== null && second.entry !== null && first.id === second.id;
const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);
const isExactTo = (leaf, wallet) => wallet != null && isPayload(leaf, `{"to":"${wallet}"}`);

/** Whether leaves lead from an integrity to another one, or to whatever they lead to. */
function leads(from, leaves, to) {
  let integrity = from;
  for (const leaf of leaves) {
    if (!extendsFrom(leaf, integrity)) return false;
    ({ integrity } = leaf);
  }
  return to === undefined || integrity === to;
}

/** Whether two entries of one id are joined by opened leaves, none of which has one of these kinds. */
const joinedWithout = (first, second, leaves, kinds) =>
  leads(first.entry.integrity, leaves, second.entry.integrity) && leaves.every((leaf) => leaf.isOpened && !kinds.has(leaf.kind));

/** The variation's place in its action, from 0, or null if the action made no such variation. */
function placeOf({ id, entry }, { content }) {
  for (let i = 0; i < VARIATIONS_MAX; i += 1) {
    if (firstIntegrity(content, i + 1) === entry.integrity && madeId('var', content, i) === id) return i;
  }
  return null;
}

// False entry, type by type: what the leaf at the entry's sequence says, opened and with its kind's plain text.

const STATUS = { lock: LOCKED, burn: BURNED };

function isFalseOwner({ entry }, leaf, { kind, to, wallet }) {
  if (kind !== 'mint' && kind !== 'transfer') return false;
  if (isExactTo(leaf, to)) return entry.owner !== to;
  return kind === 'mint' && isPayload(leaf, '{}') && isWallet(wallet) && hasKey(wallet, leaf) && wallet.id !== entry.owner;
}

const FALSE_BY_TYPE = {
  obj: (shown, leaf, claim) =>
    shown.entry.status !== (STATUS[claim.kind] ?? ACTIVE) ||
    (claim.kind === 'mint' && leaf.target !== hashOf(shown.entry.template)) ||
    isFalseOwner(shown, leaf, claim),
  wal: ({ entry }, leaf, { kind }) => kind === 'wallet.register' && entry.keys.length > 0 && !(entry.keys.length === 1 && pad(entry.keys[0], { size: 32 }) === leaf.signer),
  key: ({ entry }, _, { kind }) => (kind === 'key.delete') !== entry.deleted,
  whk: ({ entry }, _, { kind }) => (kind === 'webhook.delete') !== entry.deleted || (['webhook.delete', 'system.webhook_off'].includes(kind) && entry.active),
  fil: ({ entry }, leaf) => leaf.payload !== hashOf(`sha-256=:${Buffer.from(entry.sha256.slice(2), 'hex').toString('base64')}:`),
  dsp: ({ entry }, leaf) => leaf.target !== hashOf(entry.subject),
  act: ({ entry }, leaf) => leaf.target !== hashOf(checksumAddress(entry.address)),
};

/** A variation's integrity is not its leaf's: the action that made it names its template, and gives id and integrity. */
const isFalseVariation = (shown, leaf) =>
  leaf.isOpened && (!isKind(leaf, 'template.variations') || leaf.target !== hashOf(shown.entry.template) || placeOf(shown, leaf) === null);

function isFalseEntry({ entry: shown, leaf, ...claim }) {
  const { entry, type, id } = shown;
  if (entry === null) return false;
  const isRegistration = type === 'wal' && isKind(leaf, 'wallet.register') && makes(leaf, type, id);
  if (isRegistration && pad(entry.address, { size: 32 }) !== leaf.signer) return true;
  if (leaf.sequence !== entry.sequence) return false;
  if (type === 'var') return isFalseVariation(shown, leaf);
  if (leaf.integrity !== entry.integrity) return type !== 'org' || entry.version > 1n;
  if (claim.kind == null || !isKind(leaf, claim.kind)) return false;
  const acts = kindsOf(type).includes(claim.kind) || (type === 'obj' && claim.kind.startsWith('x.'));
  if (!acts || (entry.version === 1n) !== (claim.kind === makerOf(type))) return true;
  if (entry.version === 1n && !makes(leaf, type, id)) return true;
  return FALSE_BY_TYPE[type]?.(shown, leaf, claim) ?? false;
}

function isMissing({ entry: shown, leaf, kind }) {
  if (!shown.isAbsent || leaf.sequence > shown.checkpoint.sequence || !isKind(leaf, kind)) return false;
  return kind === (shown.type === 'var' ? 'template.variations' : makerOf(shown.type)) && makes(leaf, shown.type, shown.id);
}

// Two entries

function isRewritten({ first, second }) {
  if (first.id !== second.id || first.checkpoint.batches >= second.checkpoint.batches) return false;
  const [before, after] = [first.entry, second.entry];
  if (before !== null && second.isAbsent) return true;
  if (after === null || (before === null && !first.isAbsent)) return false;
  if (after.sequence <= first.checkpoint.sequence) {
    return before === null || before.version !== after.version || before.sequence !== after.sequence || before.integrity !== after.integrity;
  }
  return before !== null && (after.version < before.version || after.sequence < before.sequence);
}

function isLoneStep({ first, second }) {
  if (!isSameId(first, second)) return false;
  const [one, other] = [first.entry, second.entry];
  const same = ['version', 'sequence', 'integrity'].map((name) => one[name] === other[name]);
  const grewBy = other.version - one.version;
  return (same.includes(true) && same.includes(false)) || (grewBy > 0n && grewBy > other.sequence - one.sequence);
}

const countsFell = (before, after, names) => names.some((name) => after[name] < before[name]);

function isTwoFaced({ first, second }) {
  if (!isSameId(first, second) || first.checkpoint.batches > second.checkpoint.batches) return false;
  const [before, after] = [first.entry, second.entry];
  if (before.integrity !== after.integrity) return false;
  if (before.version !== after.version || before.sequence !== after.sequence) return true;
  if (first.type === 'wal') {
    const isRemoved = after.keys.length === 0;
    return before.organization !== after.organization || before.address !== after.address || (!isRemoved && !isSame(before.keys, after.keys));
  }
  if (first.type !== 'tpl') return !isSame(before.own, after.own);
  const others = ({ own }) => own.filter((_, i) => i !== 3 && i !== 4);
  return !isSame(others(before), others(after)) || countsFell(before, after, ['minted', 'burned']);
}

/** Members that never change, and when nothing but a role may change any more. */
const CONSTANTS = {
  obj: { members: ['organization', 'template', 'variation', 'serial'], isFinal: ({ status }) => status === BURNED },
  wal: { members: ['organization', 'address'], isFinal: ({ keys }) => keys.length === 0 },
  tpl: { members: ['organization', 'maxSupply'], isFinal: () => false },
  key: { members: ['organization'], isFinal: ({ deleted }) => deleted },
  whk: { members: ['organization'], isFinal: ({ deleted }) => deleted },
};

function isChangedConstant({ first, second }) {
  if (!isSameId(first, second) || first.checkpoint.batches > second.checkpoint.batches || first.type === 'org') return false;
  const [before, after] = [first.entry, second.entry];
  const constants = CONSTANTS[first.type];
  if (constants === undefined) return !isSame(before.own, after.own);
  if (constants.members.some((name) => before[name] !== after[name])) return true;
  if (first.type === 'tpl') return countsFell(before, after, ['minted', 'burned', 'variations']);
  const rest = ({ version, sequence, integrity, own }) => [String(version), String(sequence), integrity, first.type === 'wal' ? own.toSpliced(2, 1) : own];
  return constants.isFinal(before) && !isSame(rest(before), rest(after));
}

const isTwin = ({ first, second }) => first.entry !== null && second.entry !== null && first.id !== second.id && first.entry.integrity === second.entry.integrity;

/** An owner's address, an object's organization, or one address in two wallets: by what the evidence holds. */
function isFalseAddress({ object, wallet, template, first, second }) {
  refuseUnless(first === undefined ? object !== undefined : second !== undefined, 'neither an object nor two wallets');
  if (first !== undefined) {
    if (!isWallet(first) || !isWallet(second) || first.id === second.id) return false;
    const known = new Set([first.entry.address, ...first.entry.keys]);
    return [second.entry.address, ...second.entry.keys].some((address) => known.has(address));
  }
  const other = wallet ?? template;
  if (object.entry === null || object.type !== 'obj' || other?.entry == null || object.checkpoint.batches !== other.checkpoint.batches) return false;
  if (other.type === 'wal') return object.entry.owner === other.id && object.entry.ownerAddress !== other.entry.address;
  return other.type === 'tpl' && object.entry.template === other.id && object.entry.organization !== other.entry.organization;
}

// Two entries, and the leaves from one to the other

/** Of any type: an honest version counts the leaves. */
const versionDiffers = (first, second, leaves) =>
  leads(first.entry.integrity, leaves, second.entry.integrity) && second.entry.version !== first.entry.version + BigInt(leaves.length);

function isOwnerFalse({ first, second, leaves }) {
  if (!isSameId(first, second)) return false;
  if (versionDiffers(first, second, leaves)) return true;
  if (first.type !== 'obj' || !leads(first.entry.integrity, leaves, second.entry.integrity)) return false;
  if (['organization', 'template', 'variation'].some((name) => first.entry[name] !== second.entry[name])) return true;
  return first.entry.owner !== second.entry.owner && joinedWithout(first, second, leaves, new Set([hashOf('transfer')]));
}

function isHiddenChange({ first, second, leaves }) {
  if (!isSameId(first, second)) return false;
  if (first.type === 'obj') return first.entry.properties !== second.entry.properties && joinedWithout(first, second, leaves, CHANGES_PROPERTIES);
  const texts = ({ publicAccess, properties, schema, own }) => [publicAccess, properties, schema, own[8]];
  return first.type === 'tpl' && !isSame(texts(first.entry), texts(second.entry)) && joinedWithout(first, second, leaves, new Set([hashOf('template.update')]));
}

function areKeysFalse({ first, second, leaves }) {
  if (!isSameId(first, second) || first.type !== 'wal' || !joinedWithout(first, second, leaves, new Set())) return false;
  const [before, after] = [first.entry.keys, second.entry.keys];
  if (before.length === 0 || after.length === 0) return false;
  const [adds, removes] = ['wallet.key_add', 'wallet.key_remove'].map((kind) => leaves.filter((leaf) => isKind(leaf, kind)).length);
  return after.length !== before.length + adds - removes || after.filter((key) => !before.includes(key)).length > adds;
}

// Whose hand

/** To whom a template leaves an action: OWNER, ISSUER, anyone; null for an `x.` kind without a rule; undefined if unknown. */
function actorOf({ entry }, leaf, kind) {
  const rule = entry.rules.findLast(({ kindHash }) => kindHash === leaf.kind);
  if (rule !== undefined) return rule.who;
  if (OWNERS.has(leaf.kind)) return OWNER;
  return kind != null && kind.startsWith('x.') && isKind(leaf, kind) ? null : undefined;
}

function isForeignOwner(object, leaf, wallet) {
  if (wallet.id !== object.entry.owner) return hasKey(wallet, leaf);
  if (wallet.entry.keys.length === 0) return wallet.checkpoint.sequence < leaf.sequence;
  return wallet.checkpoint.sequence >= leaf.sequence && wallet.entry.sequence < leaf.sequence && !hasKey(wallet, leaf);
}

function isTrespass({ object, template, leaves, leaf, kind, wallet }) {
  if (object.entry === null || object.type !== 'obj' || template.entry === null || template.id !== object.entry.template) return false;
  if (template.checkpoint.batches !== object.checkpoint.batches || !leads(object.entry.integrity, leaves)) return false;
  if (leaves.some((before) => !before.isOpened || isKind(before, 'transfer'))) return false;
  const reached = leaves.at(-1)?.integrity ?? object.entry.integrity;
  if (!leaf.isOpened || !extendsFrom(leaf, reached) || leaf.sequence <= object.checkpoint.sequence) return false;
  const actor = actorOf(template, leaf, kind);
  if (actor === null) return true;
  if (!isWallet(wallet)) return false;
  if (actor === OWNER) return isForeignOwner(object, leaf, wallet);
  return actor === ISSUER && hasKey(wallet, leaf) && wallet.entry.organization !== template.entry.organization;
}

function isForeignHand({ entry: shown, leaf, wallet }) {
  const { entry, type, id } = shown;
  if (entry === null || !leaf.isOpened || !extendsFrom(leaf, entry.integrity) || SYSTEM.has(leaf.kind)) return false;
  if (type === 'wal') return !hasKey(shown, leaf);
  if (!isWallet(wallet) || !hasKey(wallet, leaf)) return false;
  if (type === 'org') return wallet.entry.organization !== id;
  return ['tpl', 'key', 'whk'].includes(type) && wallet.entry.organization !== entry.organization;
}

function isDeadHand({ entry: { entry, type }, leaf }) {
  if (entry === null || !extendsFrom(leaf, entry.integrity)) return false;
  if (type === 'wal') return entry.keys.length === 0;
  if (type === 'key' || type === 'whk') return entry.deleted;
  if (type !== 'obj') return false;
  return entry.status === BURNED || (leaf.isOpened && (entry.status === LOCKED) !== isKind(leaf, 'unlock'));
}

function isForeignMaker({ entry: { entry, type, id }, leaf, wallet }) {
  if (entry === null || !['tpl', 'key', 'whk', 'fil'].includes(type) || !isWallet(wallet)) return false;
  if (!isKind(leaf, makerOf(type)) || !makes(leaf, type, id) || !hasKey(wallet, leaf)) return false;
  return wallet.entry.organization !== entry.organization || (type === 'fil' && entry.wallet !== wallet.id);
}

/** An entry that is older than the leaf, at a checkpoint that is not: it held when the leaf was placed. */
const heldAt = ({ entry, checkpoint }, { sequence }) => entry.sequence < sequence && sequence <= checkpoint.sequence;

function isForeignMint({ template, leaf, wallet }) {
  if (template.entry === null || template.type !== 'tpl' || !isWallet(wallet) || !heldAt(template, leaf)) return false;
  if (!isKind(leaf, 'mint') || leaf.target !== hashOf(template.id)) return false;
  const isIssuers = (actorOf(template, leaf, 'mint') ?? ISSUER) === ISSUER;
  return isIssuers && hasKey(wallet, leaf) && wallet.entry.organization !== template.entry.organization;
}

const isLiveUpdate = ({ object, leaf }) =>
  object.entry !== null && object.type === 'obj' && object.entry.status !== BURNED && heldAt(object, leaf) && isKind(leaf, 'template.update') &&
  leaf.target === hashOf(object.entry.template);

const isGhost = ({ leaf, wallet }) =>
  isWallet(wallet) && isKind(leaf, 'org.member_remove') && isPayload(leaf, `{"wallet_id":"${wallet.id}"}`) && wallet.entry.keys.length > 0 &&
  wallet.checkpoint.sequence >= leaf.sequence;

// Supply

function isBeyondTemplate({ object, template }) {
  if (object.entry === null || object.type !== 'obj' || template.entry === null || template.id !== object.entry.template) return false;
  if (object.checkpoint.batches !== template.checkpoint.batches) return false;
  const { minted, maxSupply } = template.entry;
  return object.entry.serial > minted || (maxSupply !== null && object.entry.serial > maxSupply);
}

const isSerialTwice = ({ first, second }) =>
  first.entry !== null && second.entry !== null && first.type === 'obj' && second.type === 'obj' && first.id !== second.id &&
  first.entry.template === second.entry.template && first.entry.serial === second.entry.serial;

const isSupplyChanged = ({ first, second }) => isSameId(first, second) && first.type === 'tpl' && first.entry.maxSupply !== second.entry.maxSupply;

// The trie

/**
 * Nodes linked by hash from a checkpoint's root, the last of which has not the one form. Only what a node of the one form
 * names as a child is a link: a leaf's value is the hash of an entry, and the root of nothing is the hash of no node.
 */
function isTrieBroken({ root, nodes }) {
  if (root === ZERO || root === EMPTY_TRIE || nodes.length === 0) return false;
  let [children, depth, isBelowExtension] = [[root], 0, false];
  for (const [i, encoded] of nodes.entries()) {
    if (!children.includes(keccak256(encoded))) return false;
    let node;
    try {
      node = nodeOf(encoded, depth);
      refuseUnless(!isBelowExtension || node.children !== undefined, 'an extension that does not lead to a branch');
    } catch (error) {
      if (error instanceof Refused) return i === nodes.length - 1;
      throw error;
    }
    isBelowExtension = node.child !== undefined;
    children = node.children?.filter((child) => child !== null) ?? (isBelowExtension ? [node.child] : []);
    depth += node.path?.length ?? 1;
  }
  return false;
}

// By name: the members of the evidence, and the predicate. A member in brackets may be left out.
const FAULTS = {
  'malformed state': [['entry'], ({ entry }) => entry.isMalformed],
  'broken trie': [['root', 'nodes'], isTrieBroken],
  'unrooted checkpoint': [['first', 'second'], ({ first, second }) => first.root && !second.root && second.batches > first.batches],
  'stale state': [['entry', 'leaf'], ({ entry: { entry, checkpoint }, leaf }) => entry !== null && leaf.sequence <= checkpoint.sequence && extendsFrom(leaf, entry.integrity)],
  'false entry': [['entry', 'leaf', 'kind', '[to]', '[wallet]'], isFalseEntry],
  'missing state': [['entry', 'leaf', 'kind'], isMissing],
  'rewritten state': [['first', 'second'], isRewritten],
  'lone step': [['first', 'second'], isLoneStep],
  'two-faced state': [['first', 'second'], isTwoFaced],
  'changed constant': [['first', 'second'], isChangedConstant],
  'twin state': [['first', 'second'], isTwin],
  'false address': [['[object]', '[wallet]', '[template]', '[first]', '[second]'], isFalseAddress],
  'false owner': [['first', 'second', 'leaves'], isOwnerFalse],
  'hidden change': [['first', 'second', 'leaves'], isHiddenChange],
  'false keys': [['first', 'second', 'leaves'], areKeysFalse],
  trespass: [['object', 'template', 'leaves', 'leaf', 'kind', 'wallet'], isTrespass],
  'foreign hand': [['entry', 'leaf', '[wallet]'], isForeignHand],
  'dead hand': [['entry', 'leaf'], isDeadHand],
  'foreign maker': [['entry', 'leaf', 'wallet'], isForeignMaker],
  'foreign mint': [['template', 'leaf', 'wallet'], isForeignMint],
  'live update': [['object', 'leaf'], isLiveUpdate],
  'ghost member': [['leaf', 'wallet'], isGhost],
  'oversupply: template': [['object', 'template'], isBeyondTemplate],
  'oversupply: serial': [['first', 'second'], isSerialTwice],
  'oversupply: max_supply': [['first', 'second'], isSupplyChanged],
};

/** The names of all faults. */
export const STATE_FAULTS = Object.keys(FAULTS);

/** Whether evidence shows a fault. Its members are those of crates/protocol/vectors/state-faults.json. */
export function showsFault(fault, evidence) {
  refuseUnless(Object.hasOwn(FAULTS, fault), 'no fault of that name');
  const [members, isShown] = FAULTS[fault];
  const read = {};
  for (const member of members) {
    const name = member.replace(/[[\]]/g, '');
    refuseUnless(name !== member || Object.hasOwn(evidence, name), `the evidence lacks ${name}`);
    if (evidence[name] === undefined) continue;
    const reader = fault === 'unrooted checkpoint' ? checkpointOf : (READERS[name] ?? stateOf);
    read[name] = reader(evidence[name]);
  }
  return isShown(read);
}
