//! Bits, 32-bit words, sums and gates of the SHA-256 circuit.
//!
//! Every gate fixes its output wire: for inputs of 0 or 1, exactly one output value satisfies the constraint, and it is
//! 0 or 1 too.

use ark_bn254::Fr;
use ark_ff::{AdditiveGroup as _, Field as _};
use ark_relations::gr1cs::{ConstraintSystemRef, LinearCombination, SynthesisError, Variable};

/// Bits of a [`CircuitWord`].
pub(super) const WORD_BITS: usize = 32;

type SynthesisResult<T> = Result<T, SynthesisError>;

/// A constant bit, or a wire that is constrained to 0 or 1.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CircuitBit {
    Known(bool),
    Wire(Variable),
}

/// A 32-bit number, least significant bit first, with its value in this witness.
#[derive(Clone, Copy)]
pub(super) struct CircuitWord {
    bits: [CircuitBit; WORD_BITS],
    value: u32,
}

impl CircuitWord {
    /// A word that is constant over all witnesses.
    pub(super) fn known(value: u32) -> Self {
        Self {
            bits: std::array::from_fn(|i| CircuitBit::Known(is_set(value, i))),
            value,
        }
    }

    /// Rotated right, as in FIPS 180-4.
    pub(super) fn rotated(&self, by: usize) -> Self {
        Self {
            bits: std::array::from_fn(|i| self.bits[(i + by) % WORD_BITS]),
            value: self.value.rotate_right(by as u32),
        }
    }

    /// Shifted right, filled with zeros.
    pub(super) fn shifted(&self, by: usize) -> Self {
        Self {
            bits: std::array::from_fn(|i| {
                self.bits
                    .get(i + by)
                    .copied()
                    .unwrap_or(CircuitBit::Known(false))
            }),
            value: self.value >> by,
        }
    }
}

fn is_set(value: u32, bit: usize) -> bool {
    value >> bit & 1 == 1
}

/// A linear combination of wires, which accumulates additions before the split into bits.
#[derive(Clone)]
pub(super) struct CircuitSum {
    terms: Vec<(Fr, Variable)>,
    value: u64,
    /// Largest value over all witnesses.
    max: u64,
}

impl CircuitSum {
    pub(super) fn new() -> Self {
        Self {
            terms: Vec::new(),
            value: 0,
            max: 0,
        }
    }

    fn push(&mut self, coefficient: Fr, bit: CircuitBit) {
        match bit {
            CircuitBit::Known(false) => {}
            CircuitBit::Known(true) => self.terms.push((coefficient, Variable::One)),
            CircuitBit::Wire(wire) => self.terms.push((coefficient, wire)),
        }
    }

    pub(super) fn add(mut self, word: &CircuitWord) -> Self {
        let mut weight = Fr::ONE;
        for bit in word.bits {
            self.push(weight, bit);
            weight.double_in_place();
        }
        self.value += u64::from(word.value);
        let is_known = word
            .bits
            .iter()
            .all(|bit| matches!(bit, CircuitBit::Known(_)));
        self.max += u64::from(if is_known { word.value } else { u32::MAX });
        self
    }

    pub(super) fn add_sum(mut self, other: &Self) -> Self {
        self.terms.extend_from_slice(&other.terms);
        self.value += other.value;
        self.max += other.max;
        self
    }
}

/// Packs four words, most significant first, into one 128-bit linear combination.
pub(super) fn pack(words: &[CircuitWord]) -> LinearCombination<Fr> {
    let mut sum = CircuitSum::new();
    let mut weight = Fr::ONE;
    for word in words.iter().rev() {
        for bit in word.bits {
            sum.push(weight, bit);
            weight.double_in_place();
        }
    }
    combination(sum.terms)
}

/// Merges the terms of each wire, as a matrix requires.
fn combination(terms: Vec<(Fr, Variable)>) -> LinearCombination<Fr> {
    let mut combination = LinearCombination(terms);
    combination.compactify();
    combination
}

fn of_bits<const N: usize>(bits: [(Fr, CircuitBit); N]) -> LinearCombination<Fr> {
    let mut sum = CircuitSum::new();
    for (coefficient, bit) in bits {
        sum.push(coefficient, bit);
    }
    combination(sum.terms)
}

/// Builder of the constraint system.
pub(super) struct Gates {
    system: ConstraintSystemRef<Fr>,
}

impl Gates {
    pub(super) fn new(system: ConstraintSystemRef<Fr>) -> Self {
        Self { system }
    }

    /// Adds a constraint: the first times the second equals the third.
    pub(super) fn constrain(
        &self,
        left: LinearCombination<Fr>,
        right: LinearCombination<Fr>,
        product: LinearCombination<Fr>,
    ) -> SynthesisResult<()> {
        self.system
            .enforce_r1cs_constraint(|| left, || right, || product)
    }

    /// Adds a public input.
    pub(super) fn input(&self, value: Fr) -> SynthesisResult<Variable> {
        self.system.new_input_variable(|| Ok(value))
    }

    fn wire(&self, value: bool) -> SynthesisResult<Variable> {
        self.system.new_witness_variable(|| Ok(Fr::from(value)))
    }

    /// Adds a wire that is 0 or 1.
    pub(super) fn bit(&self, value: bool) -> SynthesisResult<Variable> {
        let wire = self.wire(value)?;
        self.constrain(wire.into(), wire.into(), wire.into())?;
        Ok(wire)
    }

    /// Adds a word of the witness.
    pub(super) fn word(&self, value: u32) -> SynthesisResult<CircuitWord> {
        let mut bits = [CircuitBit::Known(false); WORD_BITS];
        for (i, bit) in bits.iter_mut().enumerate() {
            *bit = CircuitBit::Wire(self.bit(is_set(value, i))?);
        }
        Ok(CircuitWord { bits, value })
    }

    /// Constrains the two to be equal.
    pub(super) fn equal(
        &self,
        left: LinearCombination<Fr>,
        right: Variable,
    ) -> SynthesisResult<()> {
        self.constrain(left, Variable::One.into(), right.into())
    }

    /// The sum modulo 2^32: the lower 32 bits of its binary form.
    pub(super) fn reduce(&self, sum: CircuitSum) -> SynthesisResult<CircuitWord> {
        let value = sum.value as u32;
        if sum.terms.iter().all(|(_, wire)| wire.is_one()) {
            return Ok(CircuitWord::known(value));
        }
        let width = (u64::BITS - sum.max.leading_zeros()) as usize;
        let mut word = CircuitWord::known(0);
        word.value = value;
        let mut cut = Vec::with_capacity(width);
        let mut weight = Fr::ONE;
        for i in 0..width {
            let wire = self.bit(sum.value >> i & 1 == 1)?;
            if let Some(bit) = word.bits.get_mut(i) {
                *bit = CircuitBit::Wire(wire);
            }
            cut.push((weight, wire));
            weight.double_in_place();
        }
        self.constrain(
            combination(sum.terms),
            Variable::One.into(),
            combination(cut),
        )?;
        Ok(word)
    }

    /// Majority m of three bits. With s their sum, s · (s - 4m - 1) = -6m has one solution m for each s: 0, 0, 1, 1 for
    /// s = 0, 1, 2, 3.
    fn majority_bit(&self, bits: [CircuitBit; 3], value: bool) -> SynthesisResult<CircuitBit> {
        match bits {
            [CircuitBit::Known(a), CircuitBit::Known(b), other]
            | [CircuitBit::Known(a), other, CircuitBit::Known(b)]
            | [other, CircuitBit::Known(a), CircuitBit::Known(b)] => {
                return Ok(if a == b { CircuitBit::Known(a) } else { other });
            }
            _ => {}
        }
        let majority = CircuitBit::Wire(self.wire(value)?);
        let [x, y, z] = bits.map(|bit| (Fr::ONE, bit));
        let one = CircuitBit::Known(true);
        self.constrain(
            of_bits([x, y, z]),
            of_bits([x, y, z, (-Fr::from(4), majority), (-Fr::ONE, one)]),
            of_bits([(-Fr::from(6), majority)]),
        )?;
        Ok(majority)
    }

    /// Maj of FIPS 180-4: the bitwise majority.
    pub(super) fn majority(
        &self,
        x: &CircuitWord,
        y: &CircuitWord,
        z: &CircuitWord,
    ) -> SynthesisResult<CircuitWord> {
        let value = (x.value & y.value) ^ (x.value & z.value) ^ (y.value & z.value);
        let mut bits = [CircuitBit::Known(false); WORD_BITS];
        for (i, bit) in bits.iter_mut().enumerate() {
            *bit = self.majority_bit([x.bits[i], y.bits[i], z.bits[i]], is_set(value, i))?;
        }
        Ok(CircuitWord { bits, value })
    }

    /// x ⊕ y ⊕ z: bitwise, the sum minus twice the majority.
    pub(super) fn exclusive_or(
        &self,
        x: &CircuitWord,
        y: &CircuitWord,
        z: &CircuitWord,
    ) -> SynthesisResult<CircuitSum> {
        let majority = self.majority(x, y, z)?;
        let mut sum = CircuitSum::new().add(x).add(y).add(z);
        let mut weight = -Fr::from(2);
        for bit in majority.bits {
            sum.push(weight, bit);
            weight.double_in_place();
        }
        sum.value = u64::from(x.value ^ y.value ^ z.value);
        sum.max = u64::from(u32::MAX);
        Ok(sum)
    }

    /// Ch of FIPS 180-4: where a bit of `which` is set, the bit of `set`, else that of `clear`.
    pub(super) fn choose(
        &self,
        which: &CircuitWord,
        set: &CircuitWord,
        clear: &CircuitWord,
    ) -> SynthesisResult<CircuitWord> {
        let value = (which.value & set.value) | (!which.value & clear.value);
        let mut bits = [CircuitBit::Known(false); WORD_BITS];
        for (i, bit) in bits.iter_mut().enumerate() {
            *bit = match which.bits[i] {
                CircuitBit::Known(true) => set.bits[i],
                CircuitBit::Known(false) => clear.bits[i],
                CircuitBit::Wire(wire) => {
                    let chosen = CircuitBit::Wire(self.wire(is_set(value, i))?);
                    let less = (-Fr::ONE, clear.bits[i]);
                    self.constrain(
                        wire.into(),
                        of_bits([(Fr::ONE, set.bits[i]), less]),
                        of_bits([(Fr::ONE, chosen), less]),
                    )?;
                    chosen
                }
            };
        }
        Ok(CircuitWord { bits, value })
    }
}
