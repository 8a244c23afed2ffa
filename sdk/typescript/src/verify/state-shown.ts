/** Parts of a state proof that are for people, and that the entry's hashes bind: its fields and its texts. */

import { Refused, refuseUnless } from '../refused.js';
import { toHex } from '../protocol/bytes.js';
import { checksummed } from '../protocol/curve.js';
import { textHash } from '../protocol/hash.js';
import { wellFormed } from '../reading/json.js';
import { listOf, shape, text } from '../reading/shapes.js';
import type { StateEntry } from './state-entries.js';

/** An answer that differs from the proven entry. The entry is what the log has made. */
export class StateMismatch extends Refused {
  override readonly name: string = 'StateMismatch';

  constructor(
    /** Id of the resource. */
    readonly key: string,
    /** Members of the answer that differ from the entry. */
    readonly members: readonly string[],
  ) {
    super(`${members.join(', ')} of ${key} ${members.length === 1 ? 'differs' : 'differ'} from the proven entry`);
  }
}

/** Texts whose hashes are in an entry, as the log has them. A text is absent if the server no longer has it. */
export interface StateTexts {
  /** Properties of an object, a template or a variation. */
  readonly properties?: string;
  /** Schema of a template; the empty text where there is none. */
  readonly schema?: string;
  /** Name of a variation. */
  readonly name?: string;
  /** Schemas of a template's rules, in their order; the empty text where a rule has none. */
  readonly rules?: readonly string[];
}

/** Reads `texts` of an answer. */
export const stateTexts = shape('texts', {}, { properties: text, schema: text, name: text, rules: listOf(text) });

/** A value of JSON with the meaning of an entry's member: numbers in any spelling, addresses with or without checksum. */
function isSame(shown: unknown, entry: unknown): boolean {
  if (typeof entry === 'bigint') {
    if (typeof shown === 'string') return shown === entry.toString();
    return (typeof shown === 'bigint' || Number.isSafeInteger(shown)) && BigInt(shown as number | bigint) === entry;
  }
  if (typeof entry === 'string') return shown === entry || (/^0x[0-9a-f]{40}$/.test(entry) && shown === checksummed(entry as `0x${string}`));
  if (Array.isArray(entry)) return Array.isArray(shown) && shown.length === entry.length && entry.every((item, i) => isSame(shown[i], item));
  if (entry === null || typeof entry !== 'object') return shown === entry;
  if (shown === null || typeof shown !== 'object') return false;
  return differingMembers(shown as Record<string, unknown>, entry as Record<string, unknown>).length === 0;
}

/** Names of members that one of both lacks, or that differ. */
export function differingMembers(shown: Readonly<Record<string, unknown>>, entry: Readonly<Record<string, unknown>>): string[] {
  const names = new Set([...Object.keys(entry), ...Object.keys(shown)]);
  return [...names].filter((name) => !Object.hasOwn(shown, name) || !Object.hasOwn(entry, name) || !isSame(shown[name], entry[name]));
}

/** Compares `fields` of an answer with the decoded entry: its members, without its type. */
export function checkFields(key: string, fields: unknown, { type: _, ...entry }: StateEntry): void {
  refuseUnless(fields !== null && typeof fields === 'object' && !Array.isArray(fields), 'fields is no object');
  const members = differingMembers(fields as Record<string, unknown>, entry);
  if (members.length > 0) throw new StateMismatch(key, members.map((name) => `fields.${name}`));
}

/** Hashes of an entry's texts, by the text's name. */
function hashesOf(entry: StateEntry): Record<string, string | readonly string[]> {
  if (entry.type === 'obj') return { properties: entry.properties_hash };
  if (entry.type === 'var') return { name: entry.name_hash, properties: entry.properties_hash };
  if (entry.type !== 'tpl') return {};
  return { properties: entry.properties_hash, schema: entry.schema_hash, rules: entry.rules.map((rule) => rule.schema_hash) };
}

const hashText = (shown: string): string => toHex(textHash(wellFormed(shown)));

/** Compares the texts of an answer with the hashes in the entry. */
export function checkTexts(key: string, texts: StateTexts, entry: StateEntry): void {
  const expected = hashesOf(entry);
  const shown = Object.entries(texts) as [string, string | readonly string[]][];
  const hashed = shown.map(([name, value]) => [name, typeof value === 'string' ? hashText(value) : value.map(hashText)] as const);
  const wrong = hashed.filter(([name, hashes]) => !isSame(hashes, expected[name])).map(([name]) => `texts.${name}`);
  if (wrong.length > 0) throw new StateMismatch(key, wrong);
}
