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

/** Integrity hash of a resource after an action. */
export const nextIntegrity = (previous: Hex, content: Hex): Hex => hashOf(previous, content);

/** First integrity hash of a resource, by its index among the resources that the action creates. */
export const firstIntegrity = (content: Hex, index: number): Hex =>
  hashOf(ZERO, index === 0 ? content : hashOf(content, u32(index)));

/** Head of the log after a leaf. */
export const nextHead = (previous: Hex, leaf: Hex): Hex => hashOf(previous, leaf);

/** Content of a leaf. */
export interface Leaf {
  readonly sequence: bigint;
  /** Time in milliseconds since 1970. */
  readonly timestamp_ms: bigint;
  readonly content: Hex;
  readonly integrity: Hex;
}

/** Hash of an action's leaf in its batch's tree. */
export const leafOf = ({ sequence, timestamp_ms: time, content, integrity }: Leaf): Hex =>
  hashOf('0x00', u64(sequence), u64(time), content, integrity);

const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';
/** Prefixes of all ids. */
export const PREFIXES: readonly string[] = 'wal org key tpl var obj act bat anc evt fil whk dlv dsp'.split(' ');

/** An id with this prefix, which encodes the first 16 bytes of a hash. */
export function idOf(prefix: string, hash: Hex): string {
  let number = BigInt(hash.slice(0, 34));
  let digits = '';
  for (let i = 0; i < 26; i += 1) {
    digits = DIGITS.charAt(Number(number & 31n)) + digits;
    number >>= 5n;
  }
  return `${prefix}_${digits}`;
}

/** Id of a created resource, by its index among those that an action creates under one prefix. */
export const madeId = (prefix: string, content: Hex, index = 0): string => idOf(prefix, hashOf(content, u32(index)));

/** The id of an action. */
export const actionId = (content: Hex): string => idOf('act', content);

/** Decodes the 16 bytes of an id. Refuses other spellings. */
export function idBytes(id: string): Hex {
  const match = /^([a-z]{3})_([0-7][0-9a-hjkmnp-tv-z]{25})$/.exec(id);
  refuseUnless(match !== null && PREFIXES.includes(match[1] as string), `${JSON.stringify(id)} is no id`);
  let number = 0n;
  for (const digit of match[2] as string) number = (number << 5n) | BigInt(DIGITS.indexOf(digit));
  return toHex(bigEndian(number, 16));
}
