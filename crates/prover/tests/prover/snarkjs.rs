//! snarkjs, an independent implementation, accepts our proofs and rejects changed ones.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kedge_prover::groth16::Groth16Proof;
use kedge_prover::keys;
use serde_json::{Value, json};

use crate::spec_log::claim;

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("snarkjs")
}

/// snarkjs' verdict on each case.
pub(crate) fn verdicts(key: &Value, cases: &[Value]) -> Vec<bool> {
    let mut child = Command::new("node")
        .arg(folder().join("verify.mjs"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("node runs");
    let question = json!({"key": key, "cases": cases}).to_string();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(question.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "run npm ci --prefix crates/prover/snarkjs"
    );
    let verdicts: Vec<bool> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(verdicts.len(), cases.len());
    verdicts
}

/// A decimal text's number with its last bit flipped.
fn one_more(text: &Value) -> Value {
    let number: u128 = text.as_str().unwrap().parse().unwrap();
    json!((number ^ 1).to_string())
}

// Holds invariant 73.
#[test]
fn snarkjs_agrees() {
    let key: Value = serde_json::from_str(&keys::dev_insecure().to_snarkjs().unwrap()).unwrap();
    let mut cases = Vec::new();
    let mut good = 0;
    for (record, mask) in [(0, 0), (2, 9), (4, 15)] {
        let claim = claim(record, mask);
        let proof = Groth16Proof::of_parts(&claim.proof).unwrap().to_snarkjs();
        let inputs = json!(claim.statement().decimals());
        cases.insert(0, json!({"inputs": inputs, "proof": proof}));
        good += 1;
        for input in 0..13 {
            let mut inputs = inputs.clone();
            inputs[input] = one_more(&inputs[input]);
            cases.push(json!({"inputs": inputs, "proof": proof}));
        }
        let negated = |part: &str| {
            let mut proof = proof.clone();
            proof[part][1] = json!("1");
            proof
        };
        let mut swapped = proof.clone();
        swapped["pi_a"] = proof["pi_c"].clone();
        for proof in [negated("pi_a"), negated("pi_c"), swapped] {
            cases.push(json!({"inputs": inputs, "proof": proof}));
        }
    }
    for (case, accepted) in verdicts(&key, &cases).into_iter().enumerate() {
        assert_eq!(accepted, case < good, "{}", cases[case]);
    }
}
