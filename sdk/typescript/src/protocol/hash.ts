/** The protocol's two hash functions. */

import { sha256 as nobleSha256 } from '@noble/hashes/sha2';
import { keccak_256 } from '@noble/hashes/sha3';
import { type Hex, bigEndian, concat, fromHex, toBase64, toHex, utf8 } from './bytes.js';

/** A function from bytes to a hash of 32 bytes. */
export type HashFunction = (bytes: Uint8Array) => Uint8Array;

let keccakFunction: HashFunction = keccak_256;

/** Replaces the implementation of keccak-256, for example by a compiled one. */
export function replaceKeccak(replacement: HashFunction): void {
  keccakFunction = replacement;
}

/** keccak-256 of bytes. */
export const keccak: HashFunction = (bytes) => keccakFunction(bytes);

/** SHA-256 of bytes. */
export const sha256: HashFunction = (bytes) => nobleSha256(bytes);

/** Incremental SHA-256. */
export const sha256Stream = (): { update(bytes: Uint8Array): unknown; digest(): Uint8Array } => nobleSha256.create();

/** keccak-256 of concatenated values, as a word. */
export const hashOf = (...parts: (Hex | Uint8Array)[]): Hex =>
  toHex(keccak(concat(parts.map((part) => (typeof part === 'string' ? fromHex(part) : part)))));

/** keccak-256 of a text's UTF-8 bytes. */
export const textHash = (text: string): Uint8Array => keccak(utf8(text));

/** 32 zero bytes. */
export const ZERO: Hex = `0x${'00'.repeat(32)}`;

/** keccak-256 of the empty input: the root of an empty tree. */
export const EMPTY: Hex = '0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470';

/** Digest form of a payload: `sha-256=:`, base64 of a SHA-256, and `:`. */
export const digestForm = (digest: Uint8Array): string => `sha-256=:${toBase64(digest)}:`;

/** Encodes a number as 8 bytes. */
export const u64 = (value: number | bigint): Uint8Array => bigEndian(value, 8);

/** Encodes a number as 4 bytes. */
export const u32 = (value: number | bigint): Uint8Array => bigEndian(value, 4);
