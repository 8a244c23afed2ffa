// A circuit of 13 public inputs, written by hand as an .r1cs file and a witness: no compiler is needed. It says that
// somebody knows the square of the inputs' sum, so every input counts. It stands for the claim circuit in tests of the
// verifier, which sees of a circuit nothing but its key.

const PRIME = 21888242871839275222246405745257275088548364400416034343698204186575808495617n;
const WORD = 32;
export const INPUTS = 13;
// Wires: the one, the inputs, a copy of each, the square.
const SQUARE = 2 * INPUTS + 1;
const WIRES = SQUARE + 1;

const u32 = (value) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
const u64 = (value) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
};
const number = (value) => Buffer.from(value.toString(16).padStart(2 * WORD, '0'), 'hex').reverse();
const section = (kind, body) => Buffer.concat([u32(kind), u64(body.length), body]);

/** A linear combination: these wires, each once. */
const sum = (wires) => Buffer.concat([u32(wires.length), ...wires.flatMap((wire) => [u32(wire), number(1n)])]);

/** The .r1cs file (iden3's binary format, version 1). */
export function r1cs() {
  const copies = Array.from({ length: INPUTS }, (_, i) => INPUTS + 1 + i);
  const constraints = copies.map((copy, i) => Buffer.concat([sum([1 + i]), sum([0]), sum([copy])]));
  constraints.push(Buffer.concat([sum(copies), sum(copies), sum([SQUARE])]));
  const header = Buffer.concat([
    u32(WORD), number(PRIME), u32(WIRES), u32(0), u32(INPUTS), u32(INPUTS + 1), u64(WIRES), u32(constraints.length),
  ]);
  const labels = Buffer.concat(Array.from({ length: WIRES }, (_, i) => u64(i)));
  return Buffer.concat([
    Buffer.from('r1cs'), u32(1), u32(3), section(1, header), section(2, Buffer.concat(constraints)), section(3, labels),
  ]);
}

/** The .wtns file for these inputs. */
export function witness(inputs) {
  const total = inputs.reduce((left, right) => (left + right) % PRIME, 0n);
  const values = [1n, ...inputs, ...inputs, (total * total) % PRIME];
  const header = Buffer.concat([u32(WORD), number(PRIME), u32(values.length)]);
  const body = Buffer.concat(values.map(number));
  return Buffer.concat([Buffer.from('wtns'), u32(2), u32(2), section(1, header), section(2, body)]);
}
