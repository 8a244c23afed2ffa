//! Soundness of the claim circuit: the constraints leave no wire free.

#![allow(
    clippy::many_single_char_names,
    reason = "the names of a constraint's three sides"
)]

use ark_bn254::Fr;
use ark_ff::{AdditiveGroup as _, BigInteger as _, Field as _, PrimeField as _, Zero as _};
use ark_relations::gr1cs::{ConstraintSystemRef, Variable};
use kedge_protocol::claim::DisclosureMask;

use super::gates::{CircuitSum, Gates};
use super::*;

/// A pseudorandom witness.
fn witness(seed: u8, mask: u8) -> (ClaimStatement, ClaimOpening) {
    let word = |i: u8| kedge_protocol::hash::keccak(&[seed, i]);
    let opening = ClaimOpening {
        disclosable: [word(0), word(1), word(2), word(3)],
        authority: word(4),
    };
    let mask = DisclosureMask::new(mask).unwrap();
    (ClaimStatement::of(&opening, mask, word(5)), opening)
}

fn built(statement: ClaimStatement, opening: ClaimOpening) -> (Constraints, Vec<Fr>) {
    Constraints::with_wires(ClaimCircuit::new(statement, opening)).unwrap()
}

/// First wire of a word: after the constant, the inputs, and 256 bits for each preceding word.
fn first_wire(word: usize) -> usize {
    1 + INPUTS + 256 * word
}

/// Rows evaluated in advance, so that changing a wire costs only its own rows.
struct Rows<'a> {
    constraints: &'a Constraints,
    wires: Vec<Fr>,
    values: [Vec<Fr>; 3],
    /// The rows of each wire.
    of_wire: Vec<Vec<usize>>,
}

impl<'a> Rows<'a> {
    fn new(constraints: &'a Constraints, wires: Vec<Fr>) -> Self {
        let mut of_wire = vec![Vec::new(); wires.len()];
        let values = std::array::from_fn(|matrix| {
            let rows = constraints.matrices[matrix].iter().enumerate();
            rows.map(|(row, terms)| {
                let mut value = Fr::ZERO;
                for &(coefficient, wire) in terms {
                    value += coefficient * wires[wire];
                    if of_wire[wire].last() != Some(&row) {
                        of_wire[wire].push(row);
                    }
                }
                value
            })
            .collect()
        });
        for rows in &mut of_wire {
            rows.sort_unstable();
            rows.dedup();
        }
        Self {
            constraints,
            wires,
            values,
            of_wire,
        }
    }

    fn is_satisfied(&self) -> bool {
        let [a, b, c] = &self.values;
        a.iter().zip(b).zip(c).all(|((a, b), c)| *a * b == *c)
    }

    /// Whether all constraints still hold after setting this wire.
    fn holds_with(&self, wire: usize, value: Fr) -> bool {
        let change = value - self.wires[wire];
        self.of_wire[wire].iter().all(|&row| {
            let [a, b, c] = std::array::from_fn(|matrix| {
                let terms = &self.constraints.matrices[matrix][row];
                let factor: Fr = terms
                    .iter()
                    .filter(|(_, column)| *column == wire)
                    .map(|(coefficient, _)| *coefficient)
                    .sum();
                self.values[matrix][row] + factor * change
            });
            a * b == c
        })
    }
}

#[test]
fn the_digest_is_sha256() {
    for seed in 0..8 {
        let (statement, opening) = witness(seed, seed % 16);
        let (constraints, wires) = built(statement, opening);
        assert!(Rows::new(&constraints, wires).is_satisfied(), "{seed}");
        let mut other = statement;
        other.content.0[usize::from(seed)] ^= 1;
        let (constraints, wires) = built(other, opening);
        assert!(!Rows::new(&constraints, wires).is_satisfied(), "{seed}");
    }
}

// Holds invariant 72.
#[test]
fn every_public_input_counts() {
    for mask in [0, 9, 15] {
        let (statement, opening) = witness(1, mask);
        let (constraints, wires) = built(statement, opening);
        let rows = Rows::new(&constraints, wires);
        for input in 1..=INPUTS {
            let now = rows.wires[input];
            let beyond = now + Fr::from(2).pow([128]);
            for value in [now + Fr::ONE, now - Fr::ONE, -now - Fr::ONE, beyond] {
                assert!(
                    !rows.holds_with(input, value),
                    "input {input} of mask {mask}"
                );
            }
        }
    }
}

// Holds invariant 72.
#[test]
fn no_wire_is_free() {
    let (statement, opening) = witness(2, 5);
    let (constraints, wires) = built(statement, opening);
    let rows = Rows::new(&constraints, wires);
    assert!(rows.is_satisfied());
    for (wire, &now) in rows.wires.iter().enumerate().skip(1) {
        for value in [
            Fr::ONE - now,
            now + Fr::ONE,
            now - Fr::ONE,
            now.double() + Fr::from(7),
        ] {
            let changed = value != now;
            assert!(
                !changed || !rows.holds_with(wire, value),
                "wire {wire} may be {value}, not {now}"
            );
        }
    }
}

/// Derives the wires with only one possible value from known ones: from rows with one unknown wire, and from rows that
/// write a known number with unknown bits.
struct Solver<'a> {
    rows: &'a Rows<'a>,
    is_bit: Vec<bool>,
    known: Vec<bool>,
}

impl<'a> Solver<'a> {
    fn new(rows: &'a Rows<'a>) -> Self {
        let mut is_bit = vec![false; rows.wires.len()];
        let [a, b, c] = &rows.constraints.matrices[..] else {
            panic!("three matrices");
        };
        for ((a, b), c) in a.iter().zip(b).zip(c) {
            if let [(factor, wire)] = a[..]
                && factor == Fr::ONE
                && a == b
                && a == c
            {
                is_bit[wire] = true;
            }
        }
        let mut known = vec![false; rows.wires.len()];
        known[..=INPUTS].fill(true);
        Self {
            rows,
            is_bit,
            known,
        }
    }

    fn solve(&mut self) {
        let mut waiting: Vec<usize> = (0..self.rows.constraints.count()).collect();
        while let Some(row) = waiting.pop() {
            for wire in self.forced(row) {
                self.known[wire] = true;
                waiting.extend(&self.rows.of_wire[wire]);
            }
        }
    }

    /// The wires of a row that its known wires determine.
    fn forced(&self, row: usize) -> Vec<usize> {
        let terms = |matrix: usize| &self.rows.constraints.matrices[matrix][row];
        let mut unknown: Vec<usize> = (0..3)
            .flat_map(terms)
            .map(|(_, wire)| *wire)
            .filter(|wire| !self.known[*wire])
            .collect();
        unknown.sort_unstable();
        unknown.dedup();
        let is_forced = match unknown[..] {
            [] => false,
            [wire] => self.has_one_value(row, wire),
            _ => self.is_number_in_bits(row, &unknown),
        };
        if is_forced { unknown } else { Vec::new() }
    }

    fn coefficient(&self, matrix: usize, row: usize, wire: usize) -> Fr {
        let terms = &self.rows.constraints.matrices[matrix][row];
        let mut found = terms.iter().filter(|(_, column)| *column == wire);
        found
            .next()
            .map_or(Fr::ZERO, |(coefficient, _)| *coefficient)
    }

    /// One unknown: (a₀ + a₁x)(b₀ + b₁x) = c₀ + c₁x has a single solution, or a single one among 0 and 1.
    fn has_one_value(&self, row: usize, wire: usize) -> bool {
        let now = self.rows.wires[wire];
        let [(a, a1), (b, b1), (c, c1)] = std::array::from_fn(|matrix| {
            let factor = self.coefficient(matrix, row, wire);
            (self.rows.values[matrix][row] - factor * now, factor)
        });
        let holds = |x: Fr| (a + a1 * x) * (b + b1 * x) == c + c1 * x;
        if self.is_bit[wire] {
            return holds(Fr::ZERO) != holds(Fr::ONE);
        }
        (a1 * b1).is_zero() && !(a * b1 + a1 * b - c1).is_zero()
    }

    /// Unknown bits with distinct powers of two as factors, times one number, and no other unknown: a number below the
    /// field's order has only one binary form.
    fn is_number_in_bits(&self, row: usize, unknown: &[usize]) -> bool {
        let right = &self.rows.constraints.matrices[1][row];
        let right_is_known = right.iter().all(|(_, wire)| self.known[*wire]);
        if !right_is_known || !unknown.iter().all(|wire| self.is_bit[*wire]) {
            return false;
        }
        let factors: Vec<Fr> = unknown
            .iter()
            .map(|wire| {
                self.coefficient(0, row, *wire) * self.rows.values[1][row]
                    - self.coefficient(2, row, *wire)
            })
            .collect();
        let powers_of = |least: Fr| -> Option<Vec<u32>> {
            let inverse = least.inverse()?;
            let power = |factor: &Fr| {
                let number = (*factor * inverse).into_bigint();
                let bits = number.to_bits_le();
                let ones = bits.iter().filter(|bit| **bit).count();
                (ones == 1 && number.num_bits() <= 200).then(|| number.num_bits())
            };
            let mut powers: Vec<u32> = factors.iter().map(power).collect::<Option<_>>()?;
            powers.sort_unstable();
            powers
                .windows(2)
                .all(|pair| pair[0] < pair[1])
                .then_some(powers)
        };
        factors.iter().any(|least| powers_of(*least).is_some())
    }

    fn knows_word(&self, word: usize) -> bool {
        self.known[first_wire(word)..][..256]
            .iter()
            .all(|known| *known)
    }
}

// Holds invariant 72.
/// Witnesses with equal public inputs disclose the same: the inputs determine every bit of a disclosed word, and reveal
/// no bit of a hidden one.
#[test]
fn public_inputs_decide_what_is_disclosed() {
    for mask in 0..16 {
        let (statement, opening) = witness(3, mask);
        let (constraints, wires) = built(statement, opening);
        let rows = Rows::new(&constraints, wires);
        let mut solver = Solver::new(&rows);
        solver.solve();
        for word in 0..5 {
            let disclosed = word < WORDS_DISCLOSABLE && statement.mask.discloses(word);
            assert_eq!(
                solver.knows_word(word),
                disclosed,
                "word {word} of mask {mask}"
            );
            let bits = &solver.known[first_wire(word)..][..256];
            assert!(
                disclosed || !bits.contains(&true),
                "word {word} of mask {mask}"
            );
        }
    }
}

// Holds invariant 72.
/// The five words determine everything else.
#[test]
fn words_decide_every_wire() {
    let (statement, opening) = witness(4, 6);
    let (constraints, wires) = built(statement, opening);
    let rows = Rows::new(&constraints, wires);
    let mut solver = Solver::new(&rows);
    solver.known[first_wire(0)..first_wire(5)].fill(true);
    solver.solve();
    let free = solver.known.iter().position(|known| !known);
    assert_eq!(free, None, "of {}", rows.wires.len());
}

/// One gate on three bits, some of them known when the circuit is built.
struct Gate {
    bits: [bool; 3],
    known: u8,
    which: u8,
}

impl ConstraintSynthesizer<Fr> for Gate {
    fn generate_constraints(self, system: ConstraintSystemRef<Fr>) -> Result<(), SynthesisError> {
        let gates = Gates::new(system);
        let mut words = Vec::new();
        for (i, bit) in self.bits.into_iter().enumerate() {
            let value = u32::from(bit) * u32::MAX;
            let is_known = self.known >> i & 1 == 1;
            words.push(if is_known {
                CircuitWord::known(value)
            } else {
                gates.word(value)?
            });
        }
        let [x, y, z] = [&words[0], &words[1], &words[2]];
        let number = |bit: bool| u32::from(bit) * u32::MAX;
        let [a, b, c] = self.bits;
        let (sum, expected) = match self.which {
            0 => (
                CircuitSum::new().add(&gates.majority(x, y, z)?),
                (a & b) || (a & c) || (b & c),
            ),
            1 => (
                CircuitSum::new().add(&gates.choose(x, y, z)?),
                if a { b } else { c },
            ),
            _ => (gates.exclusive_or(x, y, z)?, a ^ b ^ c),
        };
        let result = gates.reduce(sum)?;
        let expected = gates.input(Fr::from(number(expected)))?;
        gates.equal(pack(&[result]), expected)
    }
}

#[test]
fn gates_have_the_right_tables() {
    for case in 0..8u8 {
        for known in 0..8u8 {
            for which in 0..3 {
                let bits = std::array::from_fn(|i| case >> i & 1 == 1);
                let gate = Gate { bits, known, which };
                let (constraints, wires) = Constraints::with_wires(gate).unwrap();
                let rows = Rows::new(&constraints, wires);
                let name = format!("gate {which} on {bits:?}, known {known:03b}");
                assert!(rows.is_satisfied(), "{name}");
                // The inputs are free; what the gate computes from them is not.
                let inputs = 32 * (3 - known.count_ones() as usize);
                for (wire, &now) in rows.wires.iter().enumerate().skip(2 + inputs) {
                    assert!(!rows.holds_with(wire, Fr::ONE - now), "{name}: wire {wire}");
                    assert!(
                        !rows.holds_with(wire, now + Fr::from(2)),
                        "{name}: wire {wire}"
                    );
                }
            }
        }
    }
}

#[test]
fn known_bits_make_no_wires() {
    let system = ConstraintSystem::<Fr>::new_ref();
    let gates = Gates::new(system.clone());
    let sum = CircuitSum::new()
        .add(&CircuitWord::known(u32::MAX))
        .add(&CircuitWord::known(2));
    let word = gates.reduce(sum).unwrap();
    assert!(pack(&[word]).0 == vec![(Fr::ONE, Variable::One)]);
    assert_eq!(system.num_constraints(), 0);
}
