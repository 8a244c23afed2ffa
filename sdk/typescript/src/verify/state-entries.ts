/** Entries of the state: a resource as the log's actions left it, whose hash the trie under a checkpoint's root holds. */

import { Refused, refuseUnless } from '../refused.js';
import { type Hex, toHex } from '../protocol/bytes.js';
import { PREFIXES } from '../protocol/chain.js';
import { ZERO } from '../protocol/hash.js';
import { type RlpItem, decodeRlp } from '../protocol/rlp.js';

/** An entry that the protocol does not allow. Keep the proof: under a signed root it is evidence of a fault. */
export class MalformedEntry extends Refused {
  override readonly name: string = 'MalformedEntry';
}

const STATUSES = ['active', 'locked', 'burned'] as const;
const ROLES = ['owner', 'admin', 'member'] as const;
const ACTORS = ['owner', 'issuer', 'anyone'] as const;
const ID = /^([a-z]{3})_[0-7][0-9a-hjkmnp-tv-z]{25}$/;
const ID_LENGTH = 30;
const FORMAT = 1n;

/** Members of all entries. */
export interface EntryBase {
  /** Number of actions that made and changed the resource. */
  readonly version: bigint;
  /** Sequence of the last of them. */
  readonly sequence: bigint;
  /** Hash over all of them. */
  readonly integrity: Hex;
}

/** Entry of an object. */
export interface ObjectEntry extends EntryBase {
  readonly type: 'obj';
  readonly organization_id: string;
  readonly template_id: string;
  /** Null if the mint named none. */
  readonly variation_id: string | null;
  /** The template's `minted_count` with this object in it: 1 for the first one. */
  readonly serial: bigint;
  readonly owner_id: string;
  /** Address that registered the owner's wallet. */
  readonly owner_address: Hex;
  readonly status: (typeof STATUSES)[number];
  /** keccak-256 of the properties' text. */
  readonly properties_hash: Hex;
}

/** Entry of a wallet. */
export interface WalletEntry extends EntryBase {
  readonly type: 'wal';
  readonly organization_id: string;
  /** Address that registered the wallet. */
  readonly address: Hex;
  readonly role: (typeof ROLES)[number];
  /** Addresses of its signing keys, ascending; empty once the member is removed. */
  readonly keys: readonly Hex[];
}

/** Entry of an organization. */
export interface OrganizationEntry extends EntryBase {
  readonly type: 'org';
}

/** A rule in a template's entry. */
export interface RuleEntry {
  readonly kind: string;
  readonly who: (typeof ACTORS)[number];
  /** keccak-256 of the payload's schema; of the empty text where there is none. */
  readonly schema_hash: Hex;
}

/** Entry of a template. */
export interface TemplateEntry extends EntryBase {
  readonly type: 'tpl';
  readonly organization_id: string;
  readonly public_access: boolean;
  /** Most objects that can ever be minted; null for no bound. */
  readonly max_supply: bigint | null;
  readonly minted_count: bigint;
  readonly burned_count: bigint;
  readonly variation_count: bigint;
  /** keccak-256 of the properties' text. */
  readonly properties_hash: Hex;
  /** keccak-256 of the schema's text; of the empty text where there is none. */
  readonly schema_hash: Hex;
  /** In the template's order. */
  readonly rules: readonly RuleEntry[];
}

/** Entry of a variation, which never changes. */
export interface VariationEntry extends EntryBase {
  readonly type: 'var';
  readonly organization_id: string;
  readonly template_id: string;
  /** Place among the template's variations, from 0. */
  readonly index: bigint;
  /** keccak-256 of the name's UTF-8 bytes. */
  readonly name_hash: Hex;
  /** keccak-256 of the properties' text. */
  readonly properties_hash: Hex;
}

/** Entry of an API key. */
export interface ApiKeyEntry extends EntryBase {
  readonly type: 'key';
  readonly organization_id: string;
  readonly deleted: boolean;
}

/** Entry of a webhook. */
export interface WebhookEntry extends EntryBase {
  readonly type: 'whk';
  readonly organization_id: string;
  readonly active: boolean;
  readonly deleted: boolean;
}

/** Entry of a file. */
export interface FileEntry extends EntryBase {
  readonly type: 'fil';
  readonly organization_id: string;
  /** Wallet that uploaded it. */
  readonly wallet_id: string;
  /** SHA-256 of its bytes. */
  readonly sha256: Hex;
  /** Size in bytes. */
  readonly size_bytes: bigint;
}

/** Entry of a dispute. */
export interface DisputeEntry extends EntryBase {
  readonly type: 'dsp';
  readonly organization_id: string;
  /** Id that the verdict is about, of any type. */
  readonly subject_id: string;
}

/** Entry of a sequencer key, under the id of the action that named it. */
export interface SequencerKeyEntry extends EntryBase {
  readonly type: 'act';
  readonly address: Hex;
  /** Number of the first batch that it signs. */
  readonly from_batch: bigint;
}

/** An entry of the state; `type` is the prefix of its id. */
export type StateEntry =
  | ObjectEntry
  | WalletEntry
  | OrganizationEntry
  | TemplateEntry
  | VariationEntry
  | ApiKeyEntry
  | WebhookEntry
  | FileEntry
  | DisputeEntry
  | SequencerKeyEntry;

type EntryFields<E> = E extends StateEntry ? Omit<E, keyof EntryBase | 'type'> : never;

const need: (holds: boolean, why: string) => asserts holds = (holds, why) => {
  if (!holds) throw new MalformedEntry(`malformed entry: ${why}`);
};

const isBytes = (item: RlpItem): item is Uint8Array => item instanceof Uint8Array;

/** Takes the members of an entry in order. */
class MemberReader {
  #next = 0;

  constructor(readonly items: readonly RlpItem[]) {}

  #take(name: string): RlpItem {
    const item = this.items[this.#next];
    need(item !== undefined, `the member ${name} is missing`);
    this.#next += 1;
    return item;
  }

  end(): void {
    need(this.#next === this.items.length, 'it has a member too many');
  }

  list(name: string): readonly RlpItem[] {
    const item = this.#take(name);
    need(!isBytes(item), `${name} is no list`);
    return item;
  }

  bytes(name: string, size?: number): Uint8Array {
    const item = this.#take(name);
    need(isBytes(item) && (size === undefined || item.length === size), size === undefined ? `${name} is no text` : `${name} has not ${size} bytes`);
    return item;
  }

  word(name: string): Hex {
    return toHex(this.bytes(name, 32));
  }

  address(name: string): Hex {
    return toHex(this.bytes(name, 20));
  }

  number(name: string): bigint {
    const bytes = this.bytes(name);
    need(bytes.length <= 8 && bytes[0] !== 0, `${name} is no number below 2^64 without leading zeros`);
    return bytes.length === 0 ? 0n : BigInt(toHex(bytes));
  }

  oneOf<T>(name: string, values: readonly T[]): T {
    const number = this.number(name);
    need(number < values.length, `${name} is ${number}, not below ${values.length}`);
    return values[Number(number)] as T;
  }

  flag(name: string): boolean {
    return this.oneOf(name, [false, true]);
  }

  id(name: string, prefixes: readonly string[]): string {
    const bytes = this.bytes(name);
    const match = bytes.length === ID_LENGTH ? ID.exec(String.fromCharCode(...bytes)) : null;
    need(match !== null && prefixes.includes(match[1] as string), `${name} is no id of ${prefixes.length === 1 ? prefixes[0] : 'a resource'}`);
    return match[0];
  }

  idOrNothing(name: string, prefix: string): string | null {
    const item = this.items[this.#next];
    if (item === undefined || item.length > 0) return this.id(name, [prefix]);
    this.bytes(name);
    return null;
  }
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function ruleOf(item: RlpItem): RuleEntry {
  need(!isBytes(item), 'a rule is no list');
  const rule = new MemberReader(item);
  let kind: string;
  try {
    kind = strictUtf8.decode(rule.bytes('the kind of a rule'));
  } catch (error) {
    throw error instanceof Refused ? error : new MalformedEntry('malformed entry: the kind of a rule is no UTF-8');
  }
  const read = { kind, who: rule.oneOf('the actor of a rule', ACTORS), schema_hash: rule.word('the schema of a rule') };
  rule.end();
  return read;
}

function keysOf(items: readonly RlpItem[]): Hex[] {
  const reader = new MemberReader(items);
  const keys = items.map((_, i) => reader.address(`key ${i}`));
  need(keys.every((key, i) => i === 0 || (keys[i - 1] as Hex) < key), 'the keys are not strictly ascending');
  return keys;
}

function maxSupplyOf(items: readonly RlpItem[]): bigint | null {
  const reader = new MemberReader(items);
  const most = items.length === 0 ? null : reader.number('max_supply');
  reader.end();
  return most;
}

function templateOf(reader: MemberReader): EntryFields<TemplateEntry> {
  const template = {
    organization_id: reader.id('organization', ['org']),
    public_access: reader.flag('public_access'),
    max_supply: maxSupplyOf(reader.list('max_supply')),
    minted_count: reader.number('minted_count'),
    burned_count: reader.number('burned_count'),
    variation_count: reader.number('variation_count'),
    properties_hash: reader.word('H(properties)'),
    schema_hash: reader.word('H(schema)'),
    rules: reader.list('rules').map(ruleOf),
  };
  need(template.burned_count <= template.minted_count, 'more objects are burned than minted');
  need(template.max_supply === null || template.minted_count <= template.max_supply, 'more objects are minted than max_supply');
  return template;
}

function objectOf(reader: MemberReader): EntryFields<ObjectEntry> {
  const object = {
    organization_id: reader.id('organization', ['org']),
    template_id: reader.id('template', ['tpl']),
    variation_id: reader.idOrNothing('variation', 'var'),
    serial: reader.number('serial'),
    owner_id: reader.id('owner', ['wal']),
    owner_address: reader.address('owner_address'),
    status: reader.oneOf('status', STATUSES),
    properties_hash: reader.word('H(properties)'),
  };
  need(object.serial > 0n, 'serial is 0');
  return object;
}

type EntryReaders = { readonly [Type in StateEntry['type']]: (reader: MemberReader) => EntryFields<Extract<StateEntry, { type: Type }>> };

const READERS: EntryReaders = {
  obj: objectOf,
  wal: (reader) => ({
    organization_id: reader.id('organization', ['org']),
    address: reader.address('address'),
    role: reader.oneOf('role', ROLES),
    keys: keysOf(reader.list('keys')),
  }),
  org: () => ({}),
  tpl: templateOf,
  var: (reader) => ({
    organization_id: reader.id('organization', ['org']),
    template_id: reader.id('template', ['tpl']),
    index: reader.number('index'),
    name_hash: reader.word('H(name)'),
    properties_hash: reader.word('H(properties)'),
  }),
  key: (reader) => ({ organization_id: reader.id('organization', ['org']), deleted: reader.flag('deleted') }),
  whk: (reader) => ({ organization_id: reader.id('organization', ['org']), active: reader.flag('active'), deleted: reader.flag('deleted') }),
  fil: (reader) => ({
    organization_id: reader.id('organization', ['org']),
    wallet_id: reader.id('wallet', ['wal']),
    sha256: reader.word('SHA-256'),
    size_bytes: reader.number('size'),
  }),
  dsp: (reader) => ({ organization_id: reader.id('organization', ['org']), subject_id: reader.id('subject', PREFIXES) }),
  act: (reader) => ({ address: reader.address('address'), from_batch: reader.number('from_batch') }),
};

/** The type of entry under an id. Refuses what is no key of the state. */
export function entryType(key: string): StateEntry['type'] {
  const type = ID.exec(key)?.[1];
  refuseUnless(type !== undefined && Object.hasOwn(READERS, type), `${JSON.stringify(key.slice(0, 64))} is no key of the state`);
  return type as StateEntry['type'];
}

function itemsOf(bytes: Uint8Array): readonly RlpItem[] {
  let item: RlpItem;
  try {
    item = decodeRlp(bytes);
  } catch (error) {
    throw error instanceof Refused ? new MalformedEntry(`malformed entry: ${error.message}`) : error;
  }
  need(!isBytes(item), 'it is no list');
  return item;
}

/**
 * Decodes the entry of an id at a checkpoint that ends with a sequence.
 *
 * @throws MalformedEntry if it is not the list of the id's type in canonical RLP, or a member is out of its range
 */
export function decodeEntry(key: string, bytes: Uint8Array, checkpointSequence: bigint): StateEntry {
  const type = entryType(key);
  const reader = new MemberReader(itemsOf(bytes));
  need(reader.number('format') === FORMAT, 'its format is not 1');
  const base = { version: reader.number('version'), sequence: reader.number('sequence'), integrity: reader.word('integrity') };
  need(base.version > 0n && base.sequence > 0n, 'version or sequence is 0');
  need(base.version <= base.sequence, 'its version is above its sequence');
  need(base.sequence <= checkpointSequence, "its sequence is above the checkpoint's");
  need(base.integrity !== ZERO, 'its integrity is zero');
  need(type !== 'var' || base.version === 1n, 'the version of a variation is not 1');
  const fields = READERS[type](reader);
  reader.end();
  return { type, ...base, ...fields } as StateEntry;
}
