/** The hash chain: contents, integrities, leaves, heads and ids. */

import { type Hex, bigEndian, concat, fromHex, toHex, word } from './bytes.js';
import { keptSignature } from './curve.js';
import { ZERO, hashOf, sha256, textHash, u32, u64 } from './hash.js';
import { refuseUnless } from '../refused.js';

/** An action's five words in readable form. */
export interface ActionWords {
  readonly kind: string;
  readonly target: string;
  readonly payload: string;
  readonly signer: Hex;
  readonly authority: Hex;
}

/** The hash of a signature and an action's salt. */
export const authorityOf = (signature: Hex, salt: Hex): Hex => hashOf(hashOf(keptSignature(signature)), salt);

/** SHA-256 of an action's five words. */
export function contentOf({ kind, target, payload, signer, authority }: ActionWords): Hex {
  const words = [textHash(kind), textHash(target), textHash(payload), word(fromHex(signer)), fromHex(authority)];
  return toHex(sha256(concat(words)));
}

/** A resource's integrity after an action. */
export const nextIntegrity = (previous: Hex, content: Hex): Hex => hashOf(previous, content);

/** The integrity with which the resource at an index begins, among those that one action makes. */
export const firstIntegrity = (content: Hex, index: number): Hex =>
  hashOf(ZERO, index === 0 ? content : hashOf(content, u32(index)));

/** The log's head after a leaf. */
export const nextHead = (previous: Hex, leaf: Hex): Hex => hashOf(previous, leaf);

/** What a leaf commits to. */
export interface Leaf {
  readonly sequence: bigint;
  /** Milliseconds since 1970. */
  readonly timestamp_ms: bigint;
  readonly content: Hex;
  readonly integrity: Hex;
}

/** The leaf of an action: a member of its batch's tree. */
export const leafOf = ({ sequence, timestamp_ms: time, content, integrity }: Leaf): Hex =>
  hashOf('0x00', u64(sequence), u64(time), content, integrity);

const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';
const PREFIXES = 'wal org key tpl var obj act bat anc evt fil whk dlv dsp'.split(' ');

/** An id from its prefix and a hash, whose first 16 bytes it spells. */
export function idOf(prefix: string, hash: Hex): string {
  let number = BigInt(hash.slice(0, 34));
  let digits = '';
  for (let i = 0; i < 26; i += 1) {
    digits = DIGITS.charAt(Number(number & 31n)) + digits;
    number >>= 5n;
  }
  return `${prefix}_${digits}`;
}

/** The id of the resource at an index among those that an action makes under one prefix. */
export const madeId = (prefix: string, content: Hex, index = 0): string => idOf(prefix, hashOf(content, u32(index)));

/** The id of an action. */
export const actionId = (content: Hex): string => idOf('act', content);

/** The 16 bytes that an id spells. Refuses every other spelling. */
export function idBytes(id: string): Hex {
  const match = /^([a-z]{3})_([0-7][0-9a-hjkmnp-tv-z]{25})$/.exec(id);
  refuseUnless(match !== null && PREFIXES.includes(match[1] as string), `${JSON.stringify(id)} is no id`);
  let number = 0n;
  for (const digit of match[2] as string) number = (number << 5n) | BigInt(DIGITS.indexOf(digit));
  return toHex(bigEndian(number, 16));
}
