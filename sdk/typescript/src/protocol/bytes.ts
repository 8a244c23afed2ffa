/** Encodings of bytes in the protocol: hexadecimal and base64. */

/** Bytes as `0x` and hexadecimal digits. */
export type Hex = `0x${string}`;

const encoder = new TextEncoder();
const PAIRS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** The UTF-8 bytes of a text. */
export const utf8 = (text: string): Uint8Array => encoder.encode(text);

/** Bytes as lower-case hexadecimal with `0x`. */
export function toHex(bytes: Uint8Array): Hex {
  let digits = '';
  for (const byte of bytes) digits += PAIRS[byte];
  return `0x${digits}`;
}

const digit = (code: number): number => {
  if (code >= 48 && code <= 57) return code - 48;
  const lower = code | 32;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
};

/** Decodes `0x` and hexadecimal digits of either case. Throws a TypeError for anything else. */
export function fromHex(hex: string): Uint8Array {
  const bytes = new Uint8Array(Math.max(0, hex.length / 2 - 1));
  let holds = hex.startsWith('0x') && hex.length % 2 === 0;
  for (let i = 0; i < bytes.length && holds; i += 1) {
    const [high, low] = [digit(hex.charCodeAt(2 * i + 2)), digit(hex.charCodeAt(2 * i + 3))];
    holds = high >= 0 && low >= 0;
    bytes[i] = high * 16 + low;
  }
  if (!holds) throw new TypeError('not 0x and pairs of hexadecimal digits');
  return bytes;
}

/** Concatenates byte arrays. */
export function concat(parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const joined = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** Encodes a whole number as `size` bytes, big-endian. */
export function bigEndian(value: number | bigint, size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  let rest = BigInt(value);
  for (let i = size - 1; i >= 0 && rest > 0n; i -= 1) {
    bytes[i] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  return bytes;
}

/** Pads bytes with leading zeros to a word of 32. */
export function word(bytes: Uint8Array): Uint8Array {
  const padded = new Uint8Array(32);
  padded.set(bytes, 32 - bytes.length);
  return padded;
}

/** Base64 of the standard alphabet, padded. */
export const toBase64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));

/** Random bytes from the platform's generator. */
export const randomBytes = (size: number): Uint8Array => crypto.getRandomValues(new Uint8Array(size));
