//! Keys of the claim circuit: the development key, and the chains that may trust it.

use std::sync::LazyLock;

use kedge_protocol::Hash;
use kedge_protocol::claim::INPUTS;

use crate::circuit::ClaimCircuit;
use crate::groth16::{ProveError, ProvingKey, VerifyingKey};

/// Seed of the development keys. It is public, so these keys prove nothing.
pub const DEV_INSECURE_SEED: &str = "DEV-INSECURE kedge claim circuit, version 1";
/// Chains without value: the embedded one and those of test nodes. Only here may keys in [`DENIED_KEY_HASHES`] be
/// trusted.
pub const TEST_CHAIN_IDS: [u64; 2] = [1_337, 31_337];
/// Hashes of verifying keys whose secrets are public.
pub const DENIED_KEY_HASHES: [&str; 1] =
    ["0xaeb47bcabc5b0996dfb66da836feb1096828d6b8f36b0f89f9908ee1431cc6fe"];

static DEV_INSECURE: LazyLock<VerifyingKey> = LazyLock::new(|| {
    VerifyingKey::of_snarkjs(include_str!("../keys/dev-insecure.json"))
        .expect("the file in the source is a key")
});

/// Verifying key of development chains.
pub fn dev_insecure() -> &'static VerifyingKey {
    &DEV_INSECURE
}

/// Its proving key, built on each call; takes about as long as a proof.
pub fn dev_insecure_proving() -> Result<ProvingKey, ProveError> {
    ProvingKey::insecure_of_seed(DEV_INSECURE_SEED, ClaimCircuit::blank())
}

/// Why a key must not check claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CircuitKeyError {
    /// The key belongs to another circuit.
    #[error("the key is for a circuit of {0} public inputs; a claim has {INPUTS}")]
    OtherCircuit(usize),
    /// The key's secret is public.
    #[error(
        "the key {0} is DEV-INSECURE: anybody can prove anything with it. On a chain of worth, use \
         the verification key of a ceremony"
    )]
    DevInsecure(Hash),
}

/// Checks whether this key may verify claims about a log on this chain.
pub fn check_allowed(key: &VerifyingKey, chain_id: u64) -> Result<(), CircuitKeyError> {
    if key.inputs() != INPUTS {
        return Err(CircuitKeyError::OtherCircuit(key.inputs()));
    }
    let hash = key.hash();
    if DENIED_KEY_HASHES.contains(&hash.to_string().as_str()) && !TEST_CHAIN_IDS.contains(&chain_id)
    {
        return Err(CircuitKeyError::DevInsecure(hash));
    }
    Ok(())
}
