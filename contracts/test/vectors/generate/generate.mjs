// Makes ../groth16.json: a verifying key and proofs, by snarkjs, for claims about actions of the protocol's vectors. The
// setup is random, so each run makes another file; the tests need only that its parts belong together.

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import jsSha3 from 'js-sha3';
import * as snarkjs from 'snarkjs';

import { INPUTS, r1cs, witness } from './circuit.mjs';

const POWER = 6;
// The contract that resolves and the account that claims, as the tests have them.
const RESOLVER = '8464135c8f25da09e49bc8782676a84730c318bc';
const CLAIMANT = '3c44cdddb6a900fa2b585dd299e03d12fa4293bc';

const here = import.meta.dirname;
const spec = JSON.parse(readFileSync(path.join(here, '../../../../crates/protocol/vectors/spec.json'), 'utf8'));
const keccak = (bytes) => jsSha3.keccak256(bytes);
const textHash = (text) => keccak(Buffer.from(text, 'utf8'));
const hex = (value) => `0x${BigInt(value).toString(16).padStart(64, '0')}`;
const bare = (word) => word.replace(/^0x/, '').toLowerCase();
const halves = (word) => [BigInt(`0x${word.slice(0, 32)}`), BigInt(`0x${word.slice(32)}`)];

/** The actions of all requests, in the order of their records. */
const actions = spec.requests.flatMap(({ message }) =>
  message.actions.map((action) => ({
    words: [textHash(action.kind), textHash(action.target), textHash(action.payload), bare(message.signer).padStart(64, '0')],
  })),
);

function claim(record, mask) {
  const content = bare(spec.records[record].content);
  const words = actions[record].words.map((word, i) => ((mask >> i) & 1 ? word : '0'.repeat(64)));
  const purpose = keccak(Buffer.from(`claim ${record}, mask ${mask}`));
  const context = keccak(Buffer.from(bare(spec.domain_separator) + RESOLVER + CLAIMANT + purpose, 'hex'));
  const inputs = [...halves(content), BigInt(mask), ...words.flatMap(halves), ...halves(context)];
  if (inputs.length !== INPUTS) throw new Error(`${inputs.length} inputs`);
  return { record, mask, words: words.map((word) => `0x${word}`), purpose: `0x${purpose}`, context: `0x${context}`, inputs };
}

const g1 = ([x, y]) => [hex(x), hex(y)];
// EIP-197 puts the imaginary part first.
const g2 = ([x, y]) => [hex(x[1]), hex(x[0]), hex(y[1]), hex(y[0])];

const folder = mkdtempSync(path.join(tmpdir(), 'groth16-'));
const file = (name) => path.join(folder, name);
try {
  const curve = await snarkjs.curves.getCurveFromName('bn128');
  writeFileSync(file('circuit.r1cs'), r1cs());
  await snarkjs.powersOfTau.newAccumulator(curve, POWER, file('0.ptau'));
  await snarkjs.powersOfTau.contribute(file('0.ptau'), file('1.ptau'), 'vectors', `${process.hrtime.bigint()}`);
  await snarkjs.powersOfTau.preparePhase2(file('1.ptau'), file('2.ptau'));
  await snarkjs.zKey.newZKey(file('circuit.r1cs'), file('2.ptau'), file('0.zkey'));
  await snarkjs.zKey.contribute(file('0.zkey'), file('1.zkey'), 'vectors', `${process.hrtime.bigint()}`);
  const key = await snarkjs.zKey.exportVerificationKey(file('1.zkey'));

  const claims = [];
  for (const [record, mask] of [[0, 0], [1, 9], [2, 4], [4, 15]]) {
    const { inputs, ...rest } = claim(record, mask);
    writeFileSync(file('witness.wtns'), witness(inputs));
    const { proof, publicSignals } = await snarkjs.groth16.prove(file('1.zkey'), file('witness.wtns'));
    if (publicSignals.some((signal, i) => BigInt(signal) !== inputs[i])) throw new Error('other inputs than meant');
    if (!(await snarkjs.groth16.verify(key, publicSignals, proof))) throw new Error('snarkjs refuses its own proof');
    claims.push({ ...rest, inputs: inputs.map(hex), proof: [...g1(proof.pi_a), ...g2(proof.pi_b), ...g1(proof.pi_c)] });
  }
  const vectors = {
    about: 'A Groth16 key and proofs by snarkjs, for a circuit of 13 inputs that stands for the claim circuit in tests.',
    resolver: `0x${RESOLVER}`,
    claimant: `0x${CLAIMANT}`,
    key: [...g1(key.vk_alpha_1), ...g2(key.vk_beta_2), ...g2(key.vk_gamma_2), ...g2(key.vk_delta_2), ...key.IC.flatMap(g1)],
    claims,
  };
  writeFileSync(path.join(here, '../groth16.json'), `${JSON.stringify(vectors, null, 2)}\n`);
  await curve.terminate();
} finally {
  rmSync(folder, { recursive: true });
}
