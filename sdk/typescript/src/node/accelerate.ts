/** Compiled hashing and signatures in WebAssembly, several times faster than JavaScript. */

import { type Curve, javascriptCurve, replaceCurve } from '../protocol/curve.js';
import { type HashFunction, keccak, replaceKeccak } from '../protocol/hash.js';

const same = (one: Uint8Array | null, other: Uint8Array | null): boolean =>
  one !== null && other !== null && one.length === other.length && one.every((byte, i) => byte === other[i]);

async function compiledKeccak(): Promise<HashFunction> {
  const { createKeccak } = await import('hash-wasm');
  const state = await createKeccak(256);
  return (bytes) => state.init().update(bytes).digest('binary');
}

async function compiledCurve(): Promise<Curve> {
  const { signRecoverable, recover } = await import('tiny-secp256k1');
  return {
    sign(digest, key) {
      const { signature, recoveryId } = signRecoverable(digest, key);
      return { rs: signature, recovery: recoveryId };
    },
    recover(digest, rs, recovery) {
      try {
        return recover(digest, rs, recovery as 0 | 1, false);
      } catch {
        return null;
      }
    },
  };
}

/** Compares the compiled functions with the JavaScript ones before use. */
function check(hash: HashFunction, curve: Curve): void {
  const bytes = new Uint8Array(200).fill(7);
  const [digest, key] = [keccak(bytes), bytes.subarray(0, 32)];
  const { rs, recovery } = javascriptCurve.sign(digest, key);
  const made = curve.sign(digest, key);
  const holds = same(hash(bytes), digest) && same(made.rs, rs) && made.recovery === recovery;
  if (!holds || !same(curve.recover(digest, rs, recovery), javascriptCurve.recover(digest, rs, recovery))) {
    throw new Error('the compiled functions compute something else: check the versions of hash-wasm and tiny-secp256k1');
  }
}

/**
 * Switches the whole process to `hash-wasm` for hashing and `tiny-secp256k1` for signatures. Install both packages
 * first; the SDK does not depend on them. Rejects if one is missing or computes different results.
 */
export async function accelerate(): Promise<void> {
  const [hash, curve] = await Promise.all([compiledKeccak(), compiledCurve()]);
  check(hash, curve);
  replaceKeccak(hash);
  replaceCurve(curve);
}
