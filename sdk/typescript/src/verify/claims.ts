/** Claims: disclosed words of an action, its place in the log, and the zero-knowledge proof. */

import { refuseUnless } from '../refused.js';
import { type Hex, bigEndian, concat, fromHex, toHex, word as padded } from '../protocol/bytes.js';
import { type Domain, separatorOf } from '../protocol/domain.js';
import { ZERO, hashOf, keccak, textHash } from '../protocol/hash.js';
import { readStrictly } from '../reading/json.js';
import { address, fileOf, shape, text, u32, u64, word, words } from '../reading/shapes.js';
import * as forms from './forms.js';
import { type VerificationKey, checkProof } from './groth16.js';
import { checkPlaced } from './placed.js';
import { type OnStep, unseen } from './steps.js';
import type { Trust } from './trust.js';

const INPUTS = 13;
/** Keys with a public secret, and the worthless chains on which they are accepted. */
const DENIED_KEYS: readonly string[] = ['0xaeb47bcabc5b0996dfb66da836feb1096828d6b8f36b0f89f9908ee1431cc6fe'];
const TEST_CHAINS: readonly bigint[] = [1337n, 31337n];

const disclosedText = shape('text', { hash: word }, { text });

const exactly =
  (count: number) =>
  (value: unknown): bigint[] => {
    const numbers = words(value);
    refuseUnless(numbers.length === count, `no list of ${count}`);
    return numbers.map(BigInt);
  };

const claimFile = shape('claim', {
  format: text,
  version: u32,
  ...forms.placed,
  leaf: shape('leaf', { sequence: u64, timestamp_ms: u64, content: word, integrity: word }),
  binding: shape('binding', { resolver: address, claimant: address, purpose: word }),
  disclosed: shape('disclosed', {}, { kind: disclosedText, target: disclosedText, payload: disclosedText, signer: address }),
  key_hash: word,
  public_inputs: exactly(INPUTS),
  proof: shape('proof', { a: exactly(2), b: exactly(4), c: exactly(2) }),
});

type Claim = ReturnType<typeof claimFile>;

const numbersOfG1 = ([x, y]: readonly string[]): string[] => [x as string, y as string];
const numbersOfG2 = ([x, y]: readonly (readonly string[])[]): string[] => {
  const [[x0, x1], [y0, y1]] = [x, y] as [[string, string], [string, string]];
  return [x1, x0, y1, y0];
};

/** keccak-256 over the words of a verification key: `keyHash()` of its verifier contract. */
export function verificationKeyHash(key: VerificationKey): Hex {
  const numbers = [
    ...numbersOfG1(key.vk_alpha_1),
    ...[key.vk_beta_2, key.vk_gamma_2, key.vk_delta_2].flatMap(numbersOfG2),
    ...key.IC.flatMap(numbersOfG1),
  ];
  return toHex(keccak(concat(numbers.map((number) => bigEndian(BigInt(number), 32)))));
}

function checkKey(key: VerificationKey, chainId: bigint): Hex {
  refuseUnless(key.protocol === 'groth16' && key.curve === 'bn128' && key.IC.length === INPUTS + 1, 'the key is of another circuit');
  const hash = verificationKeyHash(key);
  refuseUnless(!DENIED_KEYS.includes(hash) || TEST_CHAINS.includes(chainId), 'with this key anybody can prove anything');
  return hash;
}

const halves = (value: Hex): bigint[] => [BigInt(value.slice(0, 34)), BigInt(`0x${value.slice(34)}`)];

/** Context of a claim: keccak-256 of domain separator, resolver, claimant and purpose. */
export const contextOf = (domain: Domain, binding: Claim['binding']): Hex =>
  hashOf(separatorOf(domain), binding.resolver, binding.claimant, binding.purpose);

function inputsOf({ leaf, disclosed, binding }: Claim, domain: Domain): bigint[] {
  const { kind, target, payload, signer } = disclosed;
  const shown = [kind?.hash, target?.hash, payload?.hash, signer && toHex(padded(fromHex(signer)))];
  const mask = shown.reduce((bits, value, place) => bits | (value === undefined ? 0 : 1 << place), 0);
  return [...halves(leaf.content), BigInt(mask), ...shown.flatMap((value) => halves(value ?? ZERO)), ...halves(contextOf(domain, binding))];
}

function checkTexts({ kind, target, payload }: Claim['disclosed']): void {
  for (const [name, shown] of Object.entries({ kind, target, payload })) {
    const holds = shown?.text === undefined || toHex(textHash(shown.text)) === shown.hash;
    refuseUnless(holds, `the text of ${name} does not have its hash`);
  }
}

/** Facts shown by a valid claim. The signer's signature is not among them. */
export interface ClaimFacts {
  /** Position of the action in the log. */
  readonly sequence: bigint;
  /** Time of the action, milliseconds since 1970. */
  readonly timestampMs: bigint;
  /** Disclosed words: their hashes, and their texts if shown. */
  readonly disclosed: Claim['disclosed'];
  /** Resolver, claimant and purpose of the claim. */
  readonly binding: Claim['binding'];
  /** Hash of the binding, which a resolver accepts once. */
  readonly context: Hex;
  /** Whether an anchored checkpoint, according to the file, covers the action. */
  readonly anchored: boolean;
}

/**
 * Verifies a claim file completely, with a trusted verification key in snarkjs' form.
 *
 * @throws Refused if the claim is invalid
 */
export function verifyClaim(file: string | object, trust: Trust, key: VerificationKey, onStep: OnStep = unseen): ClaimFacts {
  onStep('form');
  const read = claimFile(fileOf(file, readStrictly));
  refuseUnless(read.format === 'kedge.claim', 'the file is no claim');
  refuseUnless(read.key_hash === checkKey(key, trust.domain.chainId), 'the claim is for another key');
  onStep('words');
  checkTexts(read.disclosed);
  const inputs = inputsOf(read, trust.domain);
  refuseUnless(read.public_inputs.every((input, i) => input === inputs[i]), 'the public inputs are not those of the claim');
  checkPlaced(read, trust, { onStep });
  onStep('proof');
  checkProof(read.proof, inputs, key);
  const { disclosed, binding, leaf } = read;
  const context = contextOf(trust.domain, binding);
  return { sequence: leaf.sequence, timestampMs: leaf.timestamp_ms, disclosed, binding, context, anchored: read.anchor !== null };
}

