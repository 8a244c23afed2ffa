//! Development keys from a public seed.

use ark_bn254::{Fr, G1Projective, G2Projective};
use ark_ec::PrimeGroup as _;
use ark_ff::PrimeField as _;
use ark_relations::gr1cs::ConstraintSynthesizer;
use ark_std::rand::{self, RngCore};
use kedge_protocol::hash::sha256;

use super::{Groth16, ProveError, ProvingKey};

impl ProvingKey {
    /// Creates a circuit's keys from a seed. INSECURE: knowing the seed, which is in the source, allows to prove
    /// anything.
    pub fn insecure_of_seed(
        seed: &str,
        circuit: impl ConstraintSynthesizer<Fr>,
    ) -> Result<Self, ProveError> {
        let mut numbers = SeededRng { seed, counter: 0 };
        let [alpha, beta, gamma, delta] = std::array::from_fn(|_| numbers.scalar());
        let key = Groth16::generate_parameters_with_qap(
            circuit,
            alpha,
            beta,
            gamma,
            delta,
            G1Projective::generator(),
            G2Projective::generator(),
            &mut numbers,
        )?;
        Self::new(key).map_err(|_| ProveError::OtherCircuit("a seed that gives no key"))
    }
}

/// SHA-256 over the seed and a counter: reproducible, and not secret.
struct SeededRng<'a> {
    seed: &'a str,
    counter: u64,
}

impl SeededRng<'_> {
    fn block(&mut self) -> [u8; 32] {
        self.counter += 1;
        let mut preimage = self.seed.as_bytes().to_vec();
        preimage.extend(self.counter.to_be_bytes());
        sha256(&preimage).0
    }

    fn scalar(&mut self) -> Fr {
        let wide = [self.block(), self.block()].concat();
        Fr::from_le_bytes_mod_order(&wide)
    }
}

impl RngCore for SeededRng<'_> {
    fn next_u32(&mut self) -> u32 {
        self.next_u64() as u32
    }

    fn next_u64(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.fill_bytes(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        for part in bytes.chunks_mut(32) {
            part.copy_from_slice(&self.block()[..part.len()]);
        }
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), rand::Error> {
        self.fill_bytes(bytes);
        Ok(())
    }
}
