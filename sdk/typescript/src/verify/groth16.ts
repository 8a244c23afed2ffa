/** Verification of Groth16 proofs over BN254. */

import { bn254 } from '@noble/curves/bn254';
import { refuseUnless } from '../refused.js';

/** The required part of a verification key in snarkjs' form. */
export interface VerificationKey {
  readonly protocol: string;
  readonly curve: string;
  readonly vk_alpha_1: readonly string[];
  readonly vk_beta_2: readonly (readonly string[])[];
  readonly vk_gamma_2: readonly (readonly string[])[];
  readonly vk_delta_2: readonly (readonly string[])[];
  readonly IC: readonly (readonly string[])[];
}

/** A proof: numbers in the contract's order, in which coordinates of G2 start with the imaginary part. */
export interface Proof {
  readonly a: readonly bigint[];
  readonly b: readonly bigint[];
  readonly c: readonly bigint[];
}

const { G1, G2 } = bn254;
const { Fp, Fr } = bn254.fields;
type G1Point = InstanceType<typeof G1.ProjectivePoint>;
type G2Point = InstanceType<typeof G2.ProjectivePoint>;

const isZero = (numbers: readonly bigint[]): boolean => numbers.every((number) => number === 0n);

function inField(numbers: readonly bigint[]): void {
  refuseUnless(numbers.every((number) => number < Fp.ORDER), 'a number of the proof is not below the order of its field');
}

/** Checks that a point is on its curve and in its group. */
function inGroup<P extends { assertValidity(): void }>(point: P, name: string): P {
  try {
    point.assertValidity();
  } catch {
    refuseUnless(false, `${name} is no point of its group`);
  }
  return point;
}

function pointOfG1(numbers: readonly bigint[], name: string): G1Point {
  inField(numbers);
  const [x, y] = numbers as [bigint, bigint];
  return isZero(numbers) ? G1.ProjectivePoint.ZERO : inGroup(G1.ProjectivePoint.fromAffine({ x, y }), name);
}

function pointOfG2(numbers: readonly bigint[], name: string): G2Point {
  inField(numbers);
  const [x1, x0, y1, y0] = numbers as [bigint, bigint, bigint, bigint];
  // The curve has points outside the group of the pairing's order, which the check refuses too.
  return isZero(numbers) ? G2.ProjectivePoint.ZERO : inGroup(G2.ProjectivePoint.fromAffine({ x: { c0: x0, c1: x1 }, y: { c0: y0, c1: y1 } }), name);
}

const keyG1 = (numbers: readonly string[], name: string): G1Point => pointOfG1(numbers.slice(0, 2).map(BigInt), name);

const keyG2 = ([x, y]: readonly (readonly string[])[], name: string): G2Point => {
  const [[x0, x1], [y0, y1]] = [x, y] as [[string, string], [string, string]];
  return pointOfG2([x1, x0, y1, y0].map(BigInt), name);
};

/** Refuses a proof that is invalid for these inputs and this key. */
export function checkProof(proof: Proof, inputs: readonly bigint[], key: VerificationKey): void {
  const [a, b, c] = [pointOfG1(proof.a, 'a'), pointOfG2(proof.b, 'b'), pointOfG1(proof.c, 'c')];
  refuseUnless(key.IC.length === inputs.length + 1, 'the key has another number of inputs');
  const [constant, ...points] = key.IC.map((point, i) => keyG1(point, `IC[${i}]`));
  const sum = points.reduce((total, point, i) => {
    const input = inputs[i] as bigint;
    refuseUnless(input < Fr.ORDER, 'a public input is not below the order of its field');
    return input === 0n ? total : total.add(point.multiplyUnsafe(input));
  }, constant as G1Point);
  const pairs = [
    { g1: a.negate(), g2: b },
    { g1: keyG1(key.vk_alpha_1, 'alpha'), g2: keyG2(key.vk_beta_2, 'beta') },
    { g1: sum, g2: keyG2(key.vk_gamma_2, 'gamma') },
    { g1: c, g2: keyG2(key.vk_delta_2, 'delta') },
  ].filter(({ g1, g2 }) => !g1.equals(G1.ProjectivePoint.ZERO) && !g2.equals(G2.ProjectivePoint.ZERO));
  const { Fp12 } = bn254.fields;
  refuseUnless(Fp12.eql(bn254.pairingBatch(pairs), Fp12.ONE), 'the proof does not hold for this claim');
}
