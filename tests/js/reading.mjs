// Strict reading of files: JSON with one meaning, and members of the right shape. Leniencies of JSON.parse (a member
// twice, 1e0 for 1, digits lost above 2^53) are refused, because two readers must not see two files.

import { checksumAddress } from 'viem';

export class Refused extends Error {}

export function refuseUnless(holds, why) {
  if (!holds) throw new Refused(why);
}

const TOKEN = /[\t\n\r ]*(?:([{}[\],:])|("(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(0|[1-9][0-9]*)|(true|false|null)|$)/y;
const DEPTH_MAX = 64;
const CONSTANTS = { true: true, false: false, null: null };

function* tokens(text) {
  const token = new RegExp(TOKEN);
  while (token.lastIndex < text.length) {
    const found = token.exec(text);
    refuseUnless(found !== null, 'no JSON, or a number with a sign, a fraction or an exponent');
    const [, mark, string, number, constant] = found;
    if (mark !== undefined) yield { mark };
    else if (string !== undefined) yield { value: textOf(string) };
    else if (number !== undefined) yield { value: BigInt(number) };
    else if (constant !== undefined) yield { value: CONSTANTS[constant] };
  }
}

function textOf(string) {
  const text = JSON.parse(string);
  refuseUnless(text.isWellFormed(), 'a text with half a character');
  return text;
}

/** JSON with each member once and only whole numbers from 0 up, which become bigints. */
export function readJson(text) {
  const rest = tokens(text);
  const next = () => rest.next().value ?? {};
  const read = ({ mark, value }, depth) => {
    if (mark === undefined && value !== undefined) return value;
    refuseUnless(depth < DEPTH_MAX && (mark === '{' || mark === '['), 'no JSON');
    return mark === '{' ? members(depth) : items(depth);
  };
  const members = (depth) => {
    // Without a prototype, a member may have any name.
    const object = Object.create(null);
    let token = next();
    if (token.mark === '}') return object;
    for (;;) {
      const name = token.value;
      refuseUnless(typeof name === 'string' && next().mark === ':', 'no JSON');
      refuseUnless(!(name in object), `the member ${name} stands twice`);
      object[name] = read(next(), depth + 1);
      const { mark } = next();
      if (mark === '}') return object;
      refuseUnless(mark === ',', 'no JSON');
      token = next();
    }
  };
  const items = (depth) => {
    const list = [];
    let token = next();
    if (token.mark === ']') return list;
    for (;;) {
      list.push(read(token, depth + 1));
      const { mark } = next();
      if (mark === ']') return list;
      refuseUnless(mark === ',', 'no JSON');
      token = next();
    }
  };
  const value = read(next(), 0);
  refuseUnless(rest.next().done, 'something stands behind the JSON');
  return value;
}

// Readers take a value of readJson or JSON.parse, and return its one form or refuse it.

const whole = (most) => (value) => {
  const number = Number.isSafeInteger(value) ? BigInt(value) : value;
  refuseUnless(typeof number === 'bigint' && number >= 0n && number <= most, 'no number of its size');
  return number;
};

export const u32 = whole(2n ** 32n - 1n);
export const u64 = whole(2n ** 64n - 1n);

export function text(value) {
  refuseUnless(typeof value === 'string', 'no text');
  return value;
}

export function flag(value) {
  refuseUnless(typeof value === 'boolean', 'neither true nor false');
  return value;
}

/** A u64 as a text: digits alone. */
export function decimal(value) {
  refuseUnless(/^(0|[1-9][0-9]{0,19})$/.test(text(value)), 'no decimal number');
  return u64(BigInt(value));
}

/** 32 bytes; digits of either case. */
export function word(value) {
  refuseUnless(/^0x[0-9a-fA-F]{64}$/.test(text(value)), 'no word');
  return value.toLowerCase();
}

/** In one case throughout, or with the checksum of EIP-55. */
export function address(value) {
  refuseUnless(/^0x[0-9a-fA-F]{40}$/.test(text(value)), 'no address');
  const digits = value.slice(2);
  const inOneCase = digits === digits.toLowerCase() || digits === digits.toUpperCase();
  refuseUnless(inOneCase || checksumAddress(value.toLowerCase()) === value, 'an address with a wrong checksum');
  return value.toLowerCase();
}

export const listOf = (reader, most = Infinity) => (value) => {
  refuseUnless(Array.isArray(value) && value.length <= most, 'no list, or too long a one');
  return value.map((item) => reader(item));
};

export const nullOr = (reader) => (value) => (value === null ? null : reader(value));

/** An object with all of these members, any of the optional ones, and no others. */
export const shape = (what, readers, optional = {}) => (value) => {
  refuseUnless(value !== null && typeof value === 'object' && !Array.isArray(value), `${what} is no object`);
  const read = {};
  for (const name of Object.keys(value)) {
    const reader = Object.hasOwn(readers, name) ? readers[name] : Object.hasOwn(optional, name) && optional[name];
    refuseUnless(reader, `${what} has no member ${name}`);
    try {
      read[name] = reader(value[name]);
    } catch (error) {
      if (error instanceof Refused) throw new Refused(`${what}.${name}: ${error.message}`);
      throw error;
    }
  }
  for (const name of Object.keys(readers)) refuseUnless(Object.hasOwn(read, name), `${what} lacks the member ${name}`);
  return read;
};
