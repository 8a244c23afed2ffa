// Complete checks of claim files, written from docs/PROTOCOL.md alone (layer 4): the disclosed words of an action, its
// place in the log, and the proof, by snarkjs.

import * as snarkjs from 'snarkjs';
import { concat, keccak256, numberToHex, pad, stringToBytes } from 'viem';
import * as p from './protocol.mjs';
import { address, listOf, refuseUnless, shape, text, u32, u64, word } from './reading.mjs';
import { checkPlaced, placed } from './receipts.mjs';

/** The order of the field of the points' coordinates: larger numbers are second spellings, and are refused. */
const BASE_FIELD = 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47n;
const INPUTS = 13;
/** Keys with a public secret, and the worthless chains where they are accepted nevertheless. */
const DENIED_KEYS = ['0xaeb47bcabc5b0996dfb66da836feb1096828d6b8f36b0f89f9908ee1431cc6fe'];
const TEST_CHAINS = [1337n, 31337n];

const disclosedText = shape('text', { hash: word }, { text });
const exactly = (count) => (value) => {
  refuseUnless(Array.isArray(value) && value.length === count, `no list of ${count}`);
  return listOf(word)(value);
};

const claimFile = shape('claim', {
  format: text,
  version: u32,
  ...placed,
  leaf: shape('leaf', { sequence: u64, timestamp_ms: u64, content: word, integrity: word }),
  binding: shape('binding', { resolver: address, claimant: address, purpose: word }),
  disclosed: shape('disclosed', {}, { kind: disclosedText, target: disclosedText, payload: disclosedText, signer: address }),
  key_hash: word,
  public_inputs: exactly(INPUTS),
  proof: shape('proof', { a: exactly(2), b: exactly(4), c: exactly(2) }),
});

// Keys, as snarkjs writes them

const wordOf = (number) => numberToHex(BigInt(number), { size: 32 });
const wordsOfG1 = ([x, y]) => [x, y].map(wordOf);
const wordsOfG2 = ([[x0, x1], [y0, y1]]) => [x1, x0, y1, y0].map(wordOf);

/** keccak256 over the words of a verification key: `keyHash()` of its contract. */
export function keyHash(key) {
  const points = [wordsOfG1(key.vk_alpha_1), ...[key.vk_beta_2, key.vk_gamma_2, key.vk_delta_2].map(wordsOfG2), ...key.IC.map(wordsOfG1)];
  return keccak256(concat(points.flat()));
}

function checkKey(key, chainId) {
  refuseUnless(key.protocol === 'groth16' && key.curve === 'bn128' && key.IC.length === INPUTS + 1, 'a key of another circuit');
  const hash = keyHash(key);
  refuseUnless(!DENIED_KEYS.includes(hash) || TEST_CHAINS.includes(chainId), 'a key with which anybody can prove anything');
  return hash;
}

// The circuit's inputs

const halves = (value) => [BigInt(value.slice(0, 34)), BigInt(`0x${value.slice(34)}`)];

/** keccak(domain separator ‖ resolver ‖ claimant ‖ purpose). */
export const contextOf = (domain, { resolver, claimant, purpose }) => keccak256(concat([p.separator(domain), resolver, claimant, purpose]));

function inputsOf({ leaf, disclosed, binding }, domain) {
  const { kind, target, payload, signer } = disclosed;
  const words = [kind?.hash, target?.hash, payload?.hash, signer && pad(signer, { size: 32 })];
  const mask = words.reduce((bits, value, place) => bits | (value === undefined ? 0 : 1 << place), 0);
  const shown = words.flatMap((value) => halves(value ?? p.ZERO));
  return [...halves(leaf.content), BigInt(mask), ...shown, ...halves(contextOf(domain, binding))];
}

function checkTexts(disclosed) {
  for (const [name, { hash, text: shown }] of Object.entries(disclosed)) {
    const fits = shown === undefined || keccak256(stringToBytes(shown)) === hash;
    refuseUnless(fits, `the text of ${name} does not have its hash`);
  }
}

// The proof

const isInfinity = (numbers) => numbers.every((number) => number === 0n);

function pointsOf({ a, b, c }) {
  const numbersOf = (words) => words.map((value) => {
    refuseUnless(BigInt(value) < BASE_FIELD, 'a number of the proof is not below the order of its field');
    return BigInt(value);
  });
  const g1 = (words) => {
    const numbers = numbersOf(words);
    return isInfinity(numbers) ? [0n, 1n, 0n] : [...numbers, 1n];
  };
  const g2 = (words) => {
    const numbers = numbersOf(words);
    const [x1, x0, y1, y0] = numbers;
    return isInfinity(numbers) ? [[0n, 0n], [1n, 0n], [0n, 0n]] : [[x0, x1], [y0, y1], [1n, 0n]];
  };
  return { protocol: 'groth16', curve: 'bn128', pi_a: g1(a), pi_b: g2(b), pi_c: g1(c) };
}

async function checkProof(proof, inputs, key) {
  const points = pointsOf(proof);
  // snarkjs checks that points lie on their curves, but not every point of the second curve is in the group.
  const { G2, r } = await snarkjs.curves.getCurveFromName('bn128');
  const b = G2.fromObject(points.pi_b);
  refuseUnless(G2.isValid(b) && G2.isZero(G2.timesScalar(b, r)), 'b is no point of its group');
  refuseUnless(await snarkjs.groth16.verify(key, inputs, points), 'the proof does not hold for this claim');
}

/** Ends snarkjs' threads, without which a program that checked a claim does not exit. */
export async function endProofs() {
  await globalThis.curve_bn128?.terminate();
}

/**
 * Checks a claim file for the caller's {domain, sequencer} and verification key in snarkjs' form; returns what the file
 * shows. It does not show that the signer signed.
 */
export async function checkClaim(file, trust, key) {
  const read = claimFile(file);
  refuseUnless(read.format === 'kedge.claim', 'no claim');
  refuseUnless(read.key_hash === checkKey(key, trust.domain.chainId), 'the claim is for another key');
  checkTexts(read.disclosed);
  const inputs = inputsOf(read, trust.domain);
  refuseUnless(read.public_inputs.every((input, i) => BigInt(input) === inputs[i]), 'the public inputs are not those of the claim');
  await checkPlaced(read, 1n, trust);
  await checkProof(read.proof, inputs, key);
  return { anchored: read.anchor !== null, disclosed: read.disclosed, context: contextOf(trust.domain, read.binding) };
}
