//! Generator of `circuit.json` and `keys/dev-insecure.json`. To be run after a change of the circuit, which also
//! requires new keys and a new verifier contract.

use std::error::Error;
use std::path::Path;

use kedge_prover::circuit::Constraints;
use kedge_prover::groth16::r1cs;
use kedge_prover::{keys, pins};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let constraints = Constraints::of_claims()?;
    let pins = pins::Pins::of(&r1cs::file(&constraints), &constraints);
    std::fs::write(
        folder.join("circuit.json"),
        serde_json::to_string_pretty(&pins)? + "\n",
    )?;
    let key = keys::dev_insecure_proving()?;
    std::fs::write(
        folder.join("keys/dev-insecure.json"),
        key.verifying().to_snarkjs()? + "\n",
    )?;
    Ok(())
}
