//! From a small circuit to keys of a real ceremony: `.r1cs` file, ceremony by snarkjs, proofs with its key, and their
//! verification by snarkjs.

use std::path::Path;
use std::process::Command;

use ark_bn254::Fr;
use ark_relations::gr1cs::{
    ConstraintSynthesizer, ConstraintSystemRef, LinearCombination, SynthesisError, Variable,
};
use kedge_prover::circuit::Constraints;
use kedge_prover::groth16::zkey::{self, ZkeyError};
use kedge_prover::groth16::{ProveError, VerifyingKey, r1cs};
use kedge_prover::keys::{self, CircuitKeyError};
use serde_json::{Value, json};

use crate::snarkjs::verdicts;
use crate::spec_log::proving_key;

/// Three public numbers; the prover knows the square of their sum, and the square of that.
struct Small {
    inputs: [u64; 3],
}

impl ConstraintSynthesizer<Fr> for Small {
    fn generate_constraints(self, system: ConstraintSystemRef<Fr>) -> Result<(), SynthesisError> {
        let mut sum = LinearCombination::zero();
        for input in self.inputs {
            let wire = system.new_input_variable(|| Ok(Fr::from(input)))?;
            sum.0.push((Fr::from(1), wire));
        }
        let total = Fr::from(self.inputs.iter().sum::<u64>());
        let square = system.new_witness_variable(|| Ok(total * total))?;
        let fourth = system.new_witness_variable(|| Ok(total * total * total * total))?;
        let as_sum = |wire: Variable| LinearCombination::from(wire);
        system.enforce_r1cs_constraint(|| sum.clone(), || sum.clone(), || as_sum(square))?;
        system.enforce_r1cs_constraint(|| as_sum(square), || as_sum(square), || as_sum(fourth))
    }
}

fn ceremony(arguments: &[&str]) -> std::process::Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/ceremony.sh");
    Command::new(script).args(arguments).output().unwrap()
}

#[test]
fn keys_of_a_ceremony_prove() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (constraints, wires) = Constraints::with_wires(Small { inputs: [3, 4, 5] }).unwrap();
    std::fs::write(path("small.r1cs"), r1cs::file(&constraints)).unwrap();
    let made = ceremony(&["rehearse", &path("small.r1cs"), "4", &path("keys")]);
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );

    let file = std::fs::read(path("keys/final.zkey")).unwrap();
    let key = zkey::read(&file).unwrap();
    let text = std::fs::read_to_string(path("keys/verification_key.json")).unwrap();
    let exported = VerifyingKey::of_snarkjs(&text).unwrap();
    assert_eq!(key.verifying().words(), exported.words());

    let proof = key.prove(&constraints, &wires).unwrap();
    let case = |inputs: [u64; 3]| json!({"inputs": inputs.map(|input| input.to_string()), "proof": proof.to_snarkjs()});
    let key_json: Value = serde_json::from_str(&text).unwrap();
    let said = verdicts(
        &key_json,
        &[case([3, 4, 5]), case([3, 5, 4]), case([3, 4, 6])],
    );
    assert_eq!(said, [true, false, false]);

    refuses_what_does_not_fit(&file, &constraints, wires);
    refuses_what_was_changed(&path("keys"));
    let small = keys::check_allowed(key.verifying(), 1);
    assert_eq!(small, Err(CircuitKeyError::OtherCircuit(3)));
}

/// Rejects wires that break a constraint, a key of another circuit, and a damaged file.
fn refuses_what_does_not_fit(file: &[u8], constraints: &Constraints, mut wires: Vec<Fr>) {
    let key = zkey::read(file).unwrap();
    let other = proving_key().prove(constraints, &wires);
    assert!(matches!(other, Err(ProveError::OtherCircuit(_))));
    wires[4] += Fr::from(1);
    let broken = key.prove(constraints, &wires);
    assert!(matches!(broken, Err(ProveError::NotVerified)));
    for length in [0, 3, 12, 100, file.len() - 1] {
        assert!(zkey::read(&file[..length]).is_err(), "{length} bytes");
    }
    let longer = [file, &[0]].concat();
    assert!(matches!(zkey::read(&longer), Err(ZkeyError::Size(_))));
    // The points of the header follow the orders of both fields and three counts.
    let header = file
        .windows(12)
        .position(|bytes| bytes[..4] == [2, 0, 0, 0] && bytes[8..] == [0; 4]);
    let points = header.unwrap() + 12 + 2 * 36 + 3 * 4;
    for place in [points, points + 64, points + 128] {
        let mut spoilt = file.to_vec();
        spoilt[place] ^= 1;
        assert!(
            matches!(zkey::read(&spoilt), Err(ZkeyError::Point { .. })),
            "at {place}"
        );
    }
}

/// Detects a key that does not come from these files.
fn refuses_what_was_changed(folder: &str) {
    assert!(ceremony(&["verify", folder]).status.success());
    let final_key = format!("{folder}/final.zkey");
    let kept = std::fs::read(&final_key).unwrap();
    std::fs::copy(format!("{folder}/0001.zkey"), &final_key).unwrap();
    assert!(!ceremony(&["verify", folder]).status.success());
    std::fs::write(&final_key, kept).unwrap();
    let early = ceremony(&["finish", folder, "not a beacon"]);
    assert!(!early.status.success());
}
