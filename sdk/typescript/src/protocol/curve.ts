/** secp256k1 signatures: canonical form, signing, and key recovery. */

import { invert } from '@noble/curves/abstract/modular';
import { secp256k1 } from '@noble/curves/secp256k1';
import { Refused, refuseUnless } from '../refused.js';
import { type Hex, fromHex, toHex } from './bytes.js';
import { keccak } from './hash.js';

/** Interface of a secp256k1 implementation. */
export interface Curve {
  /** Signs a digest by RFC 6979, with s in the lower half. Returns r and s (64 bytes), and the recovery id, 0 or 1. */
  sign(digest: Uint8Array, key: Uint8Array): { rs: Uint8Array; recovery: number };
  /** Recovers the public key (65 bytes) of a signature, or null if there is none. */
  recover(digest: Uint8Array, rs: Uint8Array, recovery: number): Uint8Array | null;
  /**
   * Whether {@link Curve.recover} gives this public key. Optional, for implementations that answer this faster for keys
   * that sign often.
   */
  recovers?(publicKey: Uint8Array, digest: Uint8Array, rs: Uint8Array, recovery: number): boolean;
}

const { ProjectivePoint: Point, CURVE } = secp256k1;
const scalar = (bytes: Uint8Array): bigint => BigInt(toHex(bytes));

/** Public keys with precomputed tables for fast multiplication, by their bytes in hexadecimal. */
const tables = new Map<Hex, InstanceType<typeof Point>>();
const TABLES_MAX = 16;

function tableOf(publicKey: Uint8Array): InstanceType<typeof Point> {
  const name = toHex(publicKey);
  let point = tables.get(name);
  if (point === undefined) {
    if (tables.size >= TABLES_MAX) tables.clear();
    point = Point.fromHex(publicKey);
    point._setWindowSize(8);
    tables.set(name, point);
  }
  return point;
}

/** secp256k1 in JavaScript: slower than compiled code, but without dependencies. */
export const javascriptCurve: Curve = {
  sign(digest, key) {
    const signature = secp256k1.sign(digest, key);
    return { rs: signature.toCompactRawBytes(), recovery: signature.recovery };
  },
  recover(digest, rs, recovery) {
    try {
      return secp256k1.Signature.fromCompact(rs).addRecoveryBit(recovery).recoverPublicKey(digest).toRawBytes(false);
    } catch {
      return null;
    }
  },
  recovers(publicKey, digest, rs, recovery) {
    const [r, s] = [scalar(rs.subarray(0, 32)), scalar(rs.subarray(32))];
    if (r <= 0n || r >= CURVE.n || s <= 0n || s >= CURVE.n) return false;
    const inverse = invert(s, CURVE.n);
    const multiple = (factor: bigint): bigint => (factor * inverse) % CURVE.n;
    const z = scalar(digest) % CURVE.n;
    const signed = tableOf(publicKey).multiply(multiple(r));
    const point = z === 0n ? signed : Point.BASE.multiply(multiple(z)).add(signed);
    if (point.equals(Point.ZERO)) return false;
    const { x, y } = point.toAffine();
    return x === r && Number(y & 1n) === recovery;
  },
};

let curve = javascriptCurve;

/** Replaces the implementation for signing and recovery. */
export function replaceCurve(replacement: Curve): void {
  curve = replacement;
}

const HALF_ORDER = '7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0';

/**
 * Canonical form of a 65-byte signature, with v 27 or 28. Refuses other lengths, a v other than 0, 1, 27 or 28, and an
 * s in the upper half.
 */
export function keptSignature(signature: unknown): Hex {
  refuseUnless(typeof signature === 'string' && /^0x[0-9a-fA-F]{130}$/.test(signature), 'a signature has 65 bytes');
  const lower = signature.toLowerCase();
  const v = Number.parseInt(lower.slice(130), 16);
  refuseUnless(v === 0 || v === 1 || v === 27 || v === 28, 'v is 0, 1, 27 or 28');
  refuseUnless(lower.slice(66, 130) <= HALF_ORDER, 's is above half the order');
  return `${lower.slice(0, 130)}${(v < 27 ? v + 27 : v).toString(16)}` as Hex;
}

/** Address of a 65-byte public key, in lower case. */
export const addressOf = (publicKey: Uint8Array): Hex => toHex(keccak(publicKey.subarray(1)).subarray(12));

/** Recovers the address, in lower case, whose key signed a digest. Refuses signatures in a forbidden form. */
export function recoverAddress(digest: Hex, signature: unknown): Hex {
  const bytes = fromHex(keptSignature(signature));
  const publicKey = curve.recover(fromHex(digest), bytes.subarray(0, 64), (bytes[64] as number) - 27);
  if (publicKey === null) throw new Refused('the signature recovers to no key');
  return addressOf(publicKey);
}

/** Number of an address's signatures from which a table for its key pays off. */
const TABLE_AFTER = 8;
const SIGNERS_MAX = 256;

/** Recovered public keys, by address. */
const signers = new Map<string, { readonly publicKey: Uint8Array; times: number }>();

/** Checks that an address's key signed a digest. Returns null if so, otherwise the address of the actual signer. */
export function signerUnless(expected: string, digest: Hex, signature: unknown): Hex | null {
  const address = expected.toLowerCase();
  const bytes = fromHex(keptSignature(signature));
  const [rs, recovery, hash] = [bytes.subarray(0, 64), (bytes[64] as number) - 27, fromHex(digest)];
  const known = signers.get(address);
  if (known !== undefined && known.times >= TABLE_AFTER && curve.recovers?.(known.publicKey, hash, rs, recovery)) return null;
  const publicKey = curve.recover(hash, rs, recovery);
  if (publicKey === null) throw new Refused('the signature recovers to no key');
  const found = addressOf(publicKey);
  if (found !== address) return found;
  if (known !== undefined) {
    known.times += 1;
    return null;
  }
  if (signers.size >= SIGNERS_MAX) signers.clear();
  signers.set(address, { publicKey, times: 1 });
  return null;
}

/** Signs a digest: 65 bytes r ‖ s ‖ v, with v 27 or 28. */
export function signDigest(digest: Hex, key: Uint8Array): Hex {
  const { rs, recovery } = curve.sign(fromHex(digest), key);
  return `${toHex(rs)}${(27 + recovery).toString(16)}` as Hex;
}

/** Address of a private key. Throws for invalid keys. */
export const addressOfKey = (key: Uint8Array): Hex => checksummed(addressOf(secp256k1.getPublicKey(key, false)));

/** An address in EIP-55's mixed case. */
export function checksummed(address: Hex): Hex {
  const lower = address.slice(2).toLowerCase();
  const hash = toHex(keccak(new TextEncoder().encode(lower)));
  const mixed = [...lower].map((digit, i) => (Number.parseInt(hash[i + 2] as string, 16) >= 8 ? digit.toUpperCase() : digit));
  return `0x${mixed.join('')}`;
}

/** Whether two addresses are equal, ignoring case. */
export const sameAddress = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();
