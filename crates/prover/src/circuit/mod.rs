//! The claim circuit: *I know five words whose SHA-256 is this content, and the ones disclosed by the mask are these.*
//!
//! Public inputs, in order: content, mask, the four words, context. Every 256-bit word is two numbers of 128 bits, high
//! half first. Range checks:
//!
//! - the content's halves equal sums of bits of the digest;
//! - the mask equals the sum of four bits, so nothing above bit 3 is set;
//! - half of a word is its mask bit times the sum of the word's bits: that sum, or zero;
//! - the context's halves equal sums of bits that have no other use.

mod gates;
mod sha256;
#[cfg(test)]
mod tests;

use ark_bn254::Fr;
use ark_relations::gr1cs::{
    ConstraintSynthesizer, ConstraintSystem, ConstraintSystemRef, LinearCombination,
    OptimizationGoal, R1CS_PREDICATE_LABEL, SynthesisError, SynthesisMode,
};
use ark_relations::utils::matrix::Matrix;
use kedge_protocol::Hash;
use kedge_protocol::claim::{ClaimOpening, ClaimStatement, INPUTS, WORDS_DISCLOSABLE};

use gates::{CircuitWord, Gates, pack};

/// 32-bit words of a hash.
const HASH_WORDS: usize = 8;
/// 32-bit words of half a hash, which is one public input.
const HALF_WORDS: usize = 4;

/// The circuit with one witness.
#[derive(Clone)]
pub(crate) struct ClaimCircuit {
    statement: ClaimStatement,
    opening: ClaimOpening,
}

impl ClaimCircuit {
    pub(crate) fn new(statement: ClaimStatement, opening: ClaimOpening) -> Self {
        Self { statement, opening }
    }

    /// The circuit without a witness, for its constraints and keys.
    pub(crate) fn blank() -> Self {
        Self::new(ClaimStatement::default(), ClaimOpening::default())
    }
}

/// A circuit's constraints as three matrices A, B, C: in each row, the product of A's and B's combinations is
/// C's. A column is a wire: the constant one, then the public inputs, then the others.
pub struct Constraints {
    /// A, B and C, in this order.
    pub matrices: Vec<Matrix<Fr>>,
    /// Number of public inputs, without the constant one.
    pub inputs: usize,
    /// Number of wires, including the constant one.
    pub wires: usize,
}

impl Constraints {
    pub fn count(&self) -> usize {
        self.matrices[0].len()
    }

    pub fn of(circuit: impl ConstraintSynthesizer<Fr>) -> Result<Self, SynthesisError> {
        let system = synthesize(circuit, SynthesisMode::Setup)?;
        Self::read(&system)
    }

    pub fn of_claims() -> Result<Self, SynthesisError> {
        Self::of(ClaimCircuit::blank())
    }

    /// A circuit's constraints and the values of its wires.
    pub fn with_wires(
        circuit: impl ConstraintSynthesizer<Fr>,
    ) -> Result<(Self, Vec<Fr>), SynthesisError> {
        let mode = SynthesisMode::Prove {
            construct_matrices: true,
            generate_lc_assignments: false,
        };
        let system = synthesize(circuit, mode)?;
        let mut wires = system.instance_assignment()?;
        wires.extend(system.witness_assignment()?);
        Ok((Self::read(&system)?, wires))
    }

    fn read(system: &ConstraintSystemRef<Fr>) -> Result<Self, SynthesisError> {
        let mut matrices = system.to_matrices()?;
        let matrices = matrices
            .remove(R1CS_PREDICATE_LABEL)
            .ok_or(SynthesisError::PredicateNotFound)?;
        Ok(Self {
            matrices,
            inputs: system.num_instance_variables() - 1,
            wires: system.num_variables(),
        })
    }
}

fn synthesize(
    circuit: impl ConstraintSynthesizer<Fr>,
    mode: SynthesisMode,
) -> Result<ConstraintSystemRef<Fr>, SynthesisError> {
    let system = ConstraintSystem::new_ref();
    system.set_optimization_goal(OptimizationGoal::Constraints);
    system.set_mode(mode);
    circuit.generate_constraints(system.clone())?;
    system.finalize();
    Ok(system)
}

impl ConstraintSynthesizer<Fr> for ClaimCircuit {
    fn generate_constraints(self, system: ConstraintSystemRef<Fr>) -> Result<(), SynthesisError> {
        let gates = Gates::new(system);
        let mut inputs = Vec::with_capacity(INPUTS);
        for value in self.statement.numbers().map(Fr::from) {
            inputs.push(gates.input(value)?);
        }
        let mut message = Vec::new();
        for word in &self.opening.words() {
            message.extend(words_of(&gates, word)?);
        }
        let digest = sha256::sha256(&gates, &message)?;
        for (half, input) in digest.as_chunks::<HALF_WORDS>().0.iter().zip(&inputs[..2]) {
            gates.equal(pack(half), *input)?;
        }
        let mut mask = LinearCombination::zero();
        for word in 0..WORDS_DISCLOSABLE {
            let bit = gates.bit(self.statement.mask.discloses(word))?;
            mask += (Fr::from(1u8 << word), bit);
            let halves = message[HASH_WORDS * word..][..HASH_WORDS]
                .as_chunks::<HALF_WORDS>()
                .0;
            for (half, input) in halves.iter().zip(&inputs[3 + 2 * word..]) {
                gates.constrain(pack(half), bit.into(), (*input).into())?;
            }
        }
        gates.equal(mask, inputs[2])?;
        let context = words_of(&gates, &self.statement.context)?;
        for (half, input) in context
            .as_chunks::<HALF_WORDS>()
            .0
            .iter()
            .zip(&inputs[11..])
        {
            gates.equal(pack(half), *input)?;
        }
        Ok(())
    }
}

/// A hash of the witness as 32-bit words.
fn words_of(gates: &Gates, hash: &Hash) -> Result<Vec<CircuitWord>, SynthesisError> {
    let quads = hash.0.as_chunks::<4>().0;
    quads
        .iter()
        .map(|quad| gates.word(u32::from_be_bytes(*quad)))
        .collect()
}
