//! Claim files: valid ones, and every kind of invalid one.

use kedge_protocol::hash::keccak;
use kedge_protocol::{Address, Hash};
use kedge_prover::claim::{
    self, ClaimDisclosure, ClaimError, ClaimFile, ClaimFileError, DisclosureMask,
};
use kedge_prover::groth16::ProveError;
use kedge_prover::keys;
use serde_json::{Value, json};

use crate::spec_log::{binding, claim, domain, proof_files, proving_key, sequencer, spec};

fn verify(claim: &ClaimFile) -> Result<u8, ClaimError> {
    let shown = claim::verify(claim, &domain(), &sequencer(), keys::dev_insecure())?;
    assert!(shown.anchored);
    Ok(shown.mask.bits())
}

#[test]
fn claims_hold_and_say_what_they_disclose() {
    // Actions with a target, because every log contains the hash of the empty text.
    for (record, mask) in [(3, 0), (1, 1), (2, 6), (8, 15)] {
        let made = claim(record, mask);
        let text = serde_json::to_string_pretty(&made).unwrap();
        let read: ClaimFile = serde_json::from_str(&text).unwrap();
        assert_eq!(read, made);
        assert_eq!(verify(&read), Ok(mask), "record {record}");
        let action = &proof_files()[record].action;
        assert!(!text.contains(&action.authority.to_string()));
        let hashes =
            [&action.kind, &action.target, &action.payload].map(|text| keccak(text.as_bytes()));
        for (place, hash) in hashes.into_iter().enumerate() {
            let shown = text.contains(&hash.to_string());
            assert_eq!(shown, mask >> place & 1 == 1, "word {place} of mask {mask}");
        }
        assert_eq!(text.contains(&action.signer.to_string()), mask & 8 != 0);
    }
}

#[test]
fn hashes_alone_are_disclosed_without_their_texts() {
    let file = &proof_files()[1];
    let choice = ClaimDisclosure {
        mask: DisclosureMask::new(7).unwrap(),
        hashes_only: true,
    };
    let claim = claim::prove(proving_key(), file, choice, binding("hashes")).unwrap();
    assert_eq!(verify(&claim), Ok(7));
    let text = serde_json::to_string(&claim).unwrap();
    assert!(!text.contains(&file.action.target));
    assert!(claim.disclosed.kind.unwrap().text.is_none());
}

#[test]
fn nothing_is_proved_of_words_that_are_not_the_leafs() {
    let mut file = proof_files()[1].clone();
    file.action.authority.0[0] ^= 1;
    let choice = ClaimDisclosure::default();
    let refused = claim::prove(proving_key(), &file, choice, binding("another"));
    assert!(matches!(refused, Err(ProveError::OtherContent)));
}

/// A nearby number below 2^128.
fn nudged(input: &Hash) -> Hash {
    let mut nudged = *input;
    nudged.0[31] ^= 1;
    nudged
}

#[test]
fn every_public_input_is_held_by_the_proof() {
    let claim = claim(4, 9);
    let proof = kedge_prover::groth16::Groth16Proof::of_parts(&claim.proof).unwrap();
    let key = keys::dev_insecure();
    assert!(key.verify(&proof, &claim.public_inputs));
    for place in 0..claim.public_inputs.len() {
        let mut inputs = claim.public_inputs;
        inputs[place] = nudged(&inputs[place]);
        assert!(!key.verify(&proof, &inputs), "input {place}");
        // A word that is not below the field's order.
        inputs[place] = Hash([0xff; 32]);
        assert!(!key.verify(&proof, &inputs), "input {place}");
    }
    assert!(!key.verify(&proof, &claim.public_inputs[1..]));
}

/// A change of a claim's JSON, and part of the error that it must cause.
type Spoilt = (&'static str, fn(&mut Value), &'static str);

const SPOILT: &[Spoilt] = &[
    (
        "another format",
        |c| c["format"] = json!("kedge.proof"),
        "is not a claim",
    ),
    ("a newer version", |c| c["version"] = json!(2), "version 2"),
    (
        "another chain",
        |c| c["domain"]["chain_id"] = json!(1),
        "another log",
    ),
    (
        "another key",
        |c| c["key_hash"] = c["leaf"]["content"].clone(),
        "proved for the key",
    ),
    (
        "another kind",
        |c| c["disclosed"]["kind"]["text"] = json!("burn"),
        "disclosed kind",
    ),
    (
        "another kind with its hash",
        |c| {
            c["disclosed"]["kind"] = json!({"text": "burn", "hash": keccak(b"burn")});
        },
        "public input 3",
    ),
    (
        "another signer",
        |c| c["disclosed"]["signer"] = json!(Address([1; 20])),
        "public input 9",
    ),
    (
        "less disclosed",
        |c| {
            c["disclosed"].as_object_mut().unwrap().remove("kind");
        },
        "public input 2",
    ),
    (
        "more disclosed",
        |c| {
            c["disclosed"]["target"] = json!({"hash": Hash::ZERO});
        },
        "public input 2",
    ),
    (
        "another content",
        |c| c["leaf"]["content"] = c["key_hash"].clone(),
        "public input 0",
    ),
    (
        "another claimant",
        |c| c["binding"]["claimant"] = json!(Address([1; 20])),
        "public input 11",
    ),
    (
        "another resolver",
        |c| c["binding"]["resolver"] = json!(Address([1; 20])),
        "public input 11",
    ),
    (
        "another purpose",
        |c| c["binding"]["purpose"] = json!(Hash([1; 32])),
        "public input 11",
    ),
    (
        "another input",
        |c| c["public_inputs"][12] = json!(Hash::ZERO),
        "public input 12",
    ),
    (
        "another sequence",
        |c| c["leaf"]["sequence"] = json!(4),
        "is not leaf",
    ),
    (
        "another time",
        |c| c["leaf"]["timestamp_ms"] = json!(1),
        "path to the batch root",
    ),
    (
        "another integrity",
        |c| c["leaf"]["integrity"] = json!(Hash::ZERO),
        "path to the batch root",
    ),
    (
        "a shorter path",
        |c| {
            c["inclusion"]["path"].as_array_mut().unwrap().pop();
        },
        "path to the batch root",
    ),
    (
        "another header",
        |c| c["batch"]["header"]["sealed_at_ms"] = json!(1_790_000_000_999_u64),
        "batch header",
    ),
    (
        "a forged checkpoint",
        |c| {
            c["anchor"]["checkpoint"]["checkpoint"]["head"] = json!(Hash::ZERO);
        },
        "the anchor",
    ),
    (
        "a shorter path of the batch",
        |c| {
            c["anchor"]["path"].as_array_mut().unwrap().pop();
        },
        "the anchor",
    ),
    (
        "a point off its curve",
        |c| c["proof"]["a"][0] = json!(Hash([1; 32])),
        "does not lie on its curve",
    ),
    (
        "a coordinate beyond the field",
        |c| c["proof"]["c"][0] = json!(Hash([0xff; 32])),
        "field's order",
    ),
    (
        "parts of a coordinate swapped",
        |c| c["proof"]["b"].as_array_mut().unwrap().swap(0, 1),
        "its curve",
    ),
    (
        "points swapped",
        |c| {
            let proof = c["proof"].as_object_mut().unwrap();
            let a = proof["a"].take();
            proof["a"] = proof["c"].take();
            proof["c"] = a;
        },
        "does not hold",
    ),
    (
        "points at infinity",
        |c| {
            let zero = Hash::ZERO;
            c["proof"] =
                json!({"a": [zero, zero], "b": [zero, zero, zero, zero], "c": [zero, zero]});
        },
        "does not hold",
    ),
];

// Holds invariant 73.
#[test]
fn whatever_is_changed_is_refused() {
    let good = serde_json::to_value(claim(2, 9)).unwrap();
    for (name, spoil, expected) in SPOILT {
        let mut spoilt = good.clone();
        spoil(&mut spoilt);
        assert_ne!(spoilt, good, "{name}");
        let claim: ClaimFile = serde_json::from_value(spoilt).unwrap();
        let error = verify(&claim).expect_err(name).to_string();
        assert!(error.contains(expected), "{name}: {error}");
    }
}

#[test]
fn claims_are_read_strictly() {
    let good = serde_json::to_value(claim(2, 9)).unwrap();
    let spoils: &[fn(&mut Value)] = &[
        |c| c["more"] = json!(1),
        |c| c["disclosed"]["authority"] = json!(Hash::ZERO),
        |c| c["leaf"]["previous_integrity"] = json!(Hash::ZERO),
        |c| c["leaf"] = json!([3, 1, Hash::ZERO, Hash::ZERO]),
        |c| c["disclosed"]["kind"] = json!([Hash::ZERO, "mint"]),
        |c| c["proof"]["d"] = json!(1),
        |c| c["proof"]["a"] = json!([Hash::ZERO]),
        |c| c["public_inputs"] = json!([Hash::ZERO]),
        |c| c["public_inputs"][0] = json!("0x1"),
        |c| c["binding"]["claimant"] = json!("0x5D5c99EdF529335160FF180fA141Dd4967fc00D2"),
        |c| {
            c.as_object_mut().unwrap().remove("binding");
        },
    ];
    for (case, spoil) in spoils.iter().enumerate() {
        let mut spoilt = good.clone();
        spoil(&mut spoilt);
        assert!(
            serde_json::from_value::<ClaimFile>(spoilt).is_err(),
            "case {case}"
        );
    }
}

#[test]
fn another_sequencer_is_refused() {
    let claim = claim(1, 0);
    let stranger: Address =
        serde_json::from_value(spec()["keys"]["bob"]["address"].clone()).unwrap();
    let refused = claim::verify(&claim, &domain(), &stranger, keys::dev_insecure());
    assert!(
        matches!(refused, Err(ClaimError::File(ClaimFileError::Receipt(_)))),
        "{refused:?}"
    );
}

#[test]
fn proofs_of_one_claim_are_not_alike() {
    let (first, second) = (claim(1, 2), claim(1, 2));
    assert_eq!(first.public_inputs, second.public_inputs);
    assert_ne!(first.proof, second.proof);
}
