//! Checks the committed fingerprints of the circuit and its development keys.

use kedge_prover::circuit::Constraints;
use kedge_prover::groth16::{VerifyingKey, VerifyingKeyError, r1cs};
use kedge_prover::keys::{self, CircuitKeyError, DENIED_KEY_HASHES, TEST_CHAIN_IDS};
use kedge_prover::pins::Pins;
use serde_json::{Value, json};

use crate::spec_log::proving_key;

// Holds invariant 74.
#[test]
fn the_circuit_is_the_pinned_one() {
    let constraints = Constraints::of_claims().unwrap();
    let pins = Pins::of(&r1cs::file(&constraints), &constraints);
    let pinned: Pins = serde_json::from_str(include_str!("../../circuit.json")).unwrap();
    assert_eq!(
        pins, pinned,
        "another circuit: new keys and a new verifier contract"
    );
    // One more constraint would double the proving time.
    assert!(pins.constraints + pins.public_inputs < 1 << 16);
}

#[test]
fn development_keys_come_from_the_seed() {
    let made = proving_key().verifying();
    let kept = keys::dev_insecure();
    assert_eq!(made.words(), kept.words());
    assert!(DENIED_KEY_HASHES.contains(&kept.hash().to_string().as_str()));
}

// Holds invariant 74.
#[test]
fn development_keys_are_for_test_chains_alone() {
    let key = keys::dev_insecure();
    for chain in TEST_CHAIN_IDS {
        assert_eq!(keys::check_allowed(key, chain), Ok(()));
    }
    for chain in [0, 1, 10, 8_453, 11_155_111] {
        let refused = keys::check_allowed(key, chain);
        assert_eq!(
            refused,
            Err(CircuitKeyError::DevInsecure(key.hash())),
            "{chain}"
        );
    }
}

fn key_json() -> Value {
    serde_json::from_str(&keys::dev_insecure().to_snarkjs().unwrap()).unwrap()
}

#[test]
fn keys_are_read_strictly() {
    let read = |key: &Value| VerifyingKey::of_snarkjs(&key.to_string());
    assert_eq!(
        read(&key_json()).unwrap().hash(),
        keys::dev_insecure().hash()
    );
    let spoilt = |change: &dyn Fn(&mut Value)| {
        let mut key = key_json();
        change(&mut key);
        read(&key).err().unwrap()
    };
    let error = spoilt(&|key| key["protocol"] = json!("plonk"));
    assert!(matches!(error, VerifyingKeyError::System { .. }), "{error}");
    let error = spoilt(&|key| key["nPublic"] = json!(12));
    assert!(
        matches!(
            error,
            VerifyingKeyError::Inputs {
                said: 12,
                found: 13
            }
        ),
        "{error}"
    );
    let error = spoilt(&|key| key["vk_delta_2"] = key["vk_gamma_2"].clone());
    assert!(
        matches!(error, VerifyingKeyError::NoContribution),
        "{error}"
    );
    let error = spoilt(&|key| key["IC"][3][1] = key["IC"][3][0].clone());
    assert!(matches!(error, VerifyingKeyError::Point { .. }), "{error}");
    for number in ["", "01", "+1", "0x1", "-1", "1 "] {
        let error = spoilt(&|key| key["vk_alpha_1"][0] = json!(number));
        assert!(
            matches!(error, VerifyingKeyError::Point { part: "alpha", .. }),
            "{error}"
        );
    }
    // Swapped parts of a coordinate do not form a point.
    let error = spoilt(&|key| {
        let pair = key["vk_beta_2"][0].as_array().unwrap().clone();
        key["vk_beta_2"][0] = json!([pair[1], pair[0]]);
    });
    assert!(
        matches!(error, VerifyingKeyError::Point { part: "beta", .. }),
        "{error}"
    );
}

#[test]
fn a_key_of_another_circuit_is_refused() {
    let mut key = key_json();
    key["IC"].as_array_mut().unwrap().pop();
    key["nPublic"] = json!(12);
    let key = VerifyingKey::of_snarkjs(&key.to_string()).unwrap();
    assert_eq!(
        keys::check_allowed(&key, 31_337),
        Err(CircuitKeyError::OtherCircuit(12))
    );
}
