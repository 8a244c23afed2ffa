// Evidence made for tests: entries and leaves in the shape of crates/protocol/vectors/state-faults.json.

import { concat, keccak256, numberToHex, pad, sha256, stringToHex, toRlp } from 'viem';
import { ZERO, nextIntegrity } from './protocol.mjs';

export const hashOf = (text) => keccak256(stringToHex(text));

const B32 = '0123456789abcdefghjkmnpqrstvwxyz';
export const idOf = (prefix, n) => `${prefix}_${B32[n % 8].repeat(25)}${B32[n]}`;
export const address = (n) => `0x${n.toString(16).padStart(2, '0').repeat(20)}`;
export const integrity = (n) => `0x${n.toString(16).padStart(2, '0').repeat(32)}`;
export const checkpoint = (batches, sequence, root = true) => ({ batches, sequence, root });

const number = (value) => (value === 0 ? '0x' : numberToHex(value));
const text = (value) => (value === '' ? '0x' : stringToHex(value));

// Each type's own members, by name, with those of a good entry.
const TYPES = {
  obj: ({ organization = idOf('org', 1), template = idOf('tpl', 1), variation = '', serial = 1, owner = idOf('wal', 1), ownerAddress = address(1), status = 0, properties = integrity(0xaa) }) =>
    [text(organization), text(template), text(variation), number(serial), text(owner), ownerAddress, number(status), properties],
  wal: ({ organization = idOf('org', 1), registered = address(1), role = 2, keys = [address(1)] }) => [text(organization), registered, number(role), keys],
  org: () => [],
  tpl: ({ organization = idOf('org', 1), publicAccess = 0, maxSupply = [], minted = 3, burned = 1, variations = 2, properties = integrity(0xab), schema = hashOf(''), rules = [] }) =>
    [text(organization), number(publicAccess), maxSupply.map(number), number(minted), number(burned), number(variations), properties, schema, rules.map(([kind, who]) => [text(kind), number(who), hashOf('')])],
  var: ({ organization = idOf('org', 1), template = idOf('tpl', 1), index = 0 }) => [text(organization), text(template), number(index), hashOf('name'), hashOf('{}')],
  key: ({ organization = idOf('org', 1), deleted = 0 }) => [text(organization), number(deleted)],
  whk: ({ organization = idOf('org', 1), active = 1, deleted = 0 }) => [text(organization), number(active), number(deleted)],
  fil: ({ organization = idOf('org', 1), wallet = idOf('wal', 1), sha = integrity(0xac) }) => [text(organization), text(wallet), sha, number(9)],
  dsp: ({ organization = idOf('org', 1), subject = idOf('bat', 1) }) => [text(organization), text(subject)],
  act: ({ named = address(7), fromBatch = 5 }) => [named, number(fromBatch)],
};

/** What a state proof shows of an id. Members that are not given are those of a good entry of version 1 at sequence 3. */
export function state(id, { at = checkpoint(2, 10), version = 1, sequence = 3, integrity: own = integrity(1), ...members } = {}) {
  return { checkpoint: at, id, entry: toRlp(['0x01', number(version), number(sequence), own, ...TYPES[id.slice(0, 3)](members)]) };
}

export const absent = (id, at = checkpoint(2, 10)) => ({ checkpoint: at, id, entry: '0x' });

/** A leaf that extends an integrity, opened unless `isOpened` is false. */
export function leaf(previous, { kind = 'emit', target = '', payload = '{}', signer = address(1), sequence = 4, isOpened = true } = {}) {
  const words = [hashOf(kind), hashOf(target), hashOf(payload), pad(signer, { size: 32 }), integrity(0xee)];
  const content = sha256(concat(words));
  const record = { sequence, content, integrity: nextIntegrity(previous, content) };
  return isOpened ? { ...record, words } : record;
}

/** A leaf that makes a resource. */
export const making = (options) => leaf(ZERO, { sequence: 3, ...options });

/** Leaves of these kinds, one after the other. */
export function path(from, ...kinds) {
  const leaves = [];
  for (const [i, given] of kinds.entries()) {
    const options = typeof given === 'string' ? { kind: given } : given;
    leaves.push(leaf(leaves.at(-1)?.integrity ?? from, { sequence: 4 + i, payload: `{"n":${i}}`, ...options }));
  }
  return leaves;
}
