// Asks snarkjs about proofs. Standard input: {key, cases: [{inputs, proof}]}; standard output: for each case whether
// it is accepted. What snarkjs throws at is refused.

import { readFileSync } from 'node:fs';

import * as snarkjs from 'snarkjs';

const { key, cases } = JSON.parse(readFileSync(0, 'utf8'));
const verdicts = [];
for (const { inputs, proof } of cases) {
  try {
    verdicts.push(await snarkjs.groth16.verify(key, inputs, proof));
  } catch {
    verdicts.push(false);
  }
}
process.stdout.write(JSON.stringify(verdicts));
// snarkjs keeps its threads.
process.exit(0);
