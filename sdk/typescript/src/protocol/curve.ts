/** Signatures over secp256k1: their one kept form, signing a digest, and recovering who signed. */

import { secp256k1 } from '@noble/curves/secp256k1';
import { Refused, refuseUnless } from '../refused.js';
import { type Hex, fromHex, toHex } from './bytes.js';
import { keccak } from './hash.js';

/** What is needed of an implementation of secp256k1. */
export interface Curve {
  /** Signs a digest by RFC 6979, with s in the lower half: r and s (64 bytes), and the recovery id, 0 or 1. */
  sign(digest: Uint8Array, key: Uint8Array): { rs: Uint8Array; recovery: number };
  /** The public key (65 bytes) that made a signature, or null if there is none. */
  recover(digest: Uint8Array, rs: Uint8Array, recovery: number): Uint8Array | null;
}

/** secp256k1 in JavaScript: slower than compiled code, and needs nothing. */
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
};

let curve = javascriptCurve;

/** Signs and recovers with another implementation from now on. */
export function replaceCurve(replacement: Curve): void {
  curve = replacement;
}

const HALF_ORDER = '7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0';

/**
 * The kept form of a signature of 65 bytes, with v 27 or 28. Refuses other lengths, another v than 0, 1, 27 or 28, and an
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

/** The address of a public key of 65 bytes, in lower case. */
export const addressOf = (publicKey: Uint8Array): Hex => toHex(keccak(publicKey.subarray(1)).subarray(12));

/** The address, in lower case, whose key signed a digest. Refuses signatures that are not in a permitted form. */
export function recoverAddress(digest: Hex, signature: unknown): Hex {
  const bytes = fromHex(keptSignature(signature));
  const publicKey = curve.recover(fromHex(digest), bytes.subarray(0, 64), (bytes[64] as number) - 27);
  if (publicKey === null) throw new Refused('the signature recovers to no key');
  return addressOf(publicKey);
}

/** Signs a digest: 65 bytes r ‖ s ‖ v, with v 27 or 28. */
export function signDigest(digest: Hex, key: Uint8Array): Hex {
  const { rs, recovery } = curve.sign(fromHex(digest), key);
  return `${toHex(rs)}${(27 + recovery).toString(16)}` as Hex;
}

/** The address of a private key. Throws for bytes that are no key. */
export const addressOfKey = (key: Uint8Array): Hex => checksummed(addressOf(secp256k1.getPublicKey(key, false)));

/** An address in EIP-55's mixed case. */
export function checksummed(address: Hex): Hex {
  const lower = address.slice(2).toLowerCase();
  const hash = toHex(keccak(new TextEncoder().encode(lower)));
  const mixed = [...lower].map((digit, i) => (Number.parseInt(hash[i + 2] as string, 16) >= 8 ? digit.toUpperCase() : digit));
  return `0x${mixed.join('')}`;
}

/** Whether two addresses are the same, whatever their case. */
export const sameAddress = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();
