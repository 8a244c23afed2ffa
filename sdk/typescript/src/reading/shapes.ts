/**
 * Readers for the members of files. Each converts a value of {@link readStrictly} or `JSON.parse` to its canonical
 * form, or refuses it. Unknown or missing members are refused.
 */

import { Refused, refuseUnless } from '../refused.js';
import { type Hex, fromHex } from '../protocol/bytes.js';
import { checksummed } from '../protocol/curve.js';

/** Converts an unknown value to its canonical form, or refuses it. */
export type Reader<T> = (value: unknown) => T;

const whole =
  (most: bigint): Reader<bigint> =>
  (value) => {
    const number = Number.isSafeInteger(value) ? BigInt(value as number) : value;
    refuseUnless(typeof number === 'bigint' && number >= 0n && number <= most, 'no whole number of its size');
    return number;
  };

/** A whole number below 2^32. */
export const u32 = whole(2n ** 32n - 1n);

/** A whole number below 2^64. */
export const u64 = whole(2n ** 64n - 1n);

/** Any text. */
export const text: Reader<string> = (value) => {
  refuseUnless(typeof value === 'string', 'no text');
  return value;
};

/** True or false. */
export const flag: Reader<boolean> = (value) => {
  refuseUnless(typeof value === 'boolean', 'neither true nor false');
  return value;
};

/** A number below 2^64 as decimal digits, without leading zeros. */
export const decimal: Reader<bigint> = (value) => {
  const digits = text(value);
  refuseUnless(/^(0|[1-9][0-9]{0,19})$/.test(digits), 'no decimal number');
  return u64(BigInt(digits));
};

/** Bytes of any length, at most `most`. */
export const bytesOf =
  (most = Number.POSITIVE_INFINITY): Reader<Uint8Array> =>
  (value) => {
    const digits = text(value);
    refuseUnless(digits.length <= 2 + 2 * most, `more than ${most} bytes`);
    try {
      return fromHex(digits);
    } catch {
      throw new Refused('no bytes in hexadecimal');
    }
  };

/** 32 bytes, in lower case. */
export const word: Reader<Hex> = (value) => {
  const digits = text(value);
  refuseUnless(/^0x[0-9a-fA-F]{64}$/.test(digits), 'no word of 32 bytes');
  return digits.toLowerCase() as Hex;
};

/** An address in a single case or with the checksum of EIP-55; returned in lower case. */
export const address: Reader<Hex> = (value) => {
  const given = text(value) as Hex;
  refuseUnless(/^0x[0-9a-fA-F]{40}$/.test(given), 'no address');
  const digits = given.slice(2);
  const lower = given.toLowerCase() as Hex;
  const inOneCase = digits === digits.toLowerCase() || digits === digits.toUpperCase();
  refuseUnless(inOneCase || checksummed(lower) === given, 'an address with a wrong checksum');
  return lower;
};

/** A list of at most `most` items. */
export const listOf =
  <T>(reader: Reader<T>, most = Number.POSITIVE_INFINITY): Reader<T[]> =>
  (value) => {
    refuseUnless(Array.isArray(value) && value.length <= most, 'no list, or one that is too long');
    return value.map((item) => reader(item));
  };

/** Words. */
export const words = listOf(word);

/** Null, or a value that the reader accepts. */
export const nullOr =
  <T>(reader: Reader<T>): Reader<T | null> =>
  (value) =>
    value === null ? null : reader(value);

type Readers = Record<string, Reader<unknown>>;
type Read<R extends Readers> = { [Name in keyof R]: ReturnType<R[Name]> };

function readMember(what: string, name: string, reader: Reader<unknown>, value: unknown): unknown {
  try {
    return reader(value);
  } catch (error) {
    if (error instanceof Refused) throw new Refused(`${what}.${name}: ${error.message}`);
    throw error;
  }
}

/** An object with all of these members, any of the optional ones, and no other. */
export const shape =
  <R extends Readers, O extends Readers = Record<never, never>>(what: string, readers: R, optional?: O): Reader<Read<R> & Partial<Read<O>>> =>
  (value) => {
    refuseUnless(value !== null && typeof value === 'object' && !Array.isArray(value), `${what} is no object`);
    const read: Record<string, unknown> = {};
    const given = value as Record<string, unknown>;
    for (const name of Object.keys(given)) {
      const among = Object.hasOwn(readers, name) ? readers : optional;
      refuseUnless(among !== undefined && Object.hasOwn(among, name), `${what} has an unknown member ${JSON.stringify(name)}`);
      read[name] = readMember(what, name, among[name] as Reader<unknown>, given[name]);
    }
    for (const name of Object.keys(readers)) refuseUnless(Object.hasOwn(read, name), `${what} lacks the member ${name}`);
    return read as Read<R> & Partial<Read<O>>;
  };

/** Contents of a file. A text is read strictly; parsed JSON is accepted if its numbers are exact. */
export const fileOf = (file: string | object, strictly: (text: string) => unknown): unknown =>
  typeof file === 'string' ? strictly(file) : file;

/** These members of an object that may have others. */
export const some =
  <R extends Readers>(what: string, readers: R): Reader<Read<R>> =>
  (value) => {
    refuseUnless(value !== null && typeof value === 'object' && !Array.isArray(value), `${what} is no object`);
    const given = value as Record<string, unknown>;
    const read: Record<string, unknown> = {};
    for (const [name, reader] of Object.entries(readers)) {
      refuseUnless(Object.hasOwn(given, name), `${what} lacks the member ${name}`);
      read[name] = readMember(what, name, reader, given[name]);
    }
    return read as Read<R>;
  };
