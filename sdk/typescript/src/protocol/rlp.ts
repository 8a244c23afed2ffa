/** Strict reading of RLP, Ethereum's encoding of nested lists of bytes. */

import { refuseUnless } from '../refused.js';

/** Bytes, or a list of items. */
export type RlpItem = Uint8Array | readonly RlpItem[];

/** Nesting of lists: a template's entry holds a list of rules, and each rule is a list. */
const DEPTH_MAX = 3;
const SHORT_MAX = 55;
/** Bytes of a length; a longer one exceeds every input. */
const LENGTH_BYTES_MAX = 4;

class RlpReader {
  #at = 0;

  constructor(readonly bytes: Uint8Array) {}

  #longLength(size: number, end: number): number {
    refuseUnless(size <= LENGTH_BYTES_MAX && this.#at + size <= end, 'RLP: a length goes past the end');
    let length = 0;
    for (let i = 0; i < size; i += 1) length = length * 256 + (this.bytes[this.#at + i] as number);
    refuseUnless(this.bytes[this.#at] !== 0 && length > SHORT_MAX, 'RLP: a length is longer than it needs to be');
    this.#at += size;
    return length;
  }

  /** Reads the length that a prefix of strings (0x80) or lists (0xc0) begins. Returns where the content ends. */
  #endOf(prefix: number, base: number, end: number): number {
    const length = prefix <= base + SHORT_MAX ? prefix - base : this.#longLength(prefix - base - SHORT_MAX, end);
    refuseUnless(length <= end - this.#at, 'RLP: an item goes past the end');
    return this.#at + length;
  }

  #item(end: number, depth: number): RlpItem {
    refuseUnless(this.#at < end, 'RLP: an item is missing');
    const prefix = this.bytes[this.#at] as number;
    if (prefix < 0x80) {
      this.#at += 1;
      return this.bytes.subarray(this.#at - 1, this.#at);
    }
    this.#at += 1;
    const isList = prefix >= 0xc0;
    const last = this.#endOf(prefix, isList ? 0xc0 : 0x80, end);
    if (isList) {
      refuseUnless(depth < DEPTH_MAX, 'RLP: lists are nested too deeply');
      const items: RlpItem[] = [];
      while (this.#at < last) items.push(this.#item(last, depth + 1));
      return items;
    }
    const content = this.bytes.subarray(this.#at, last);
    refuseUnless(content.length !== 1 || (content[0] as number) >= 0x80, 'RLP: a single byte has a prefix that it does not need');
    this.#at = last;
    return content;
  }

  whole(): RlpItem {
    const item = this.#item(this.bytes.length, 0);
    refuseUnless(this.#at === this.bytes.length, 'RLP: bytes follow the item');
    return item;
  }
}

/**
 * Decodes one item in canonical RLP, with nothing after it. The bytes of the result are views of the input.
 *
 * @throws Refused for every other encoding, and for lists nested more than three deep
 */
export const decodeRlp = (bytes: Uint8Array): RlpItem => new RlpReader(bytes).whole();
