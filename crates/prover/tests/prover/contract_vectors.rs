//! `contracts/test/vectors/claims.json`: claims for the contract's tests, made with the real circuit and its
//! development key. The test checks the file's verdicts, so contract and crate agree.

use std::path::{Path, PathBuf};

use kedge_protocol::Hash;
use kedge_prover::calldata::resolve_claim;
use kedge_prover::claim::ClaimFile;
use kedge_prover::groth16::{Groth16Proof, ProofParts, VerifyingKey};
use kedge_prover::keys;
use serde::{Deserialize, Serialize};

use crate::spec_log::{CLAIMANT, RESOLVER, claim};

/// Record and disclosed words of each claim; the contract's tests expect this number of claims.
const CLAIMS: [(usize, u8); 4] = [(0, 0), (1, 9), (2, 4), (4, 15)];

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Vectors {
    about: String,
    resolver: String,
    claimant: String,
    key: Vec<Hash>,
    claims: Vec<Claim>,
    refused: Refused,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    record: usize,
    mask: u8,
    words: [Hash; 4],
    purpose: Hash,
    context: Hash,
    inputs: Vec<Hash>,
    proof: Vec<Hash>,
    call: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Refused {
    why: Vec<String>,
    /// Inputs of all cases, concatenated, because Solidity reads them in one array.
    inputs: Vec<Hash>,
    /// Proofs of all cases, concatenated.
    proofs: Vec<Hash>,
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contracts/test/vectors/claims.json")
}

fn flat(parts: &ProofParts) -> Vec<Hash> {
    [&parts.a[..], &parts.b, &parts.c].concat()
}

fn parts(words: &[Hash]) -> ProofParts {
    ProofParts {
        a: words[..2].try_into().unwrap(),
        b: words[2..6].try_into().unwrap(),
        c: words[6..].try_into().unwrap(),
    }
}

fn described(file: &ClaimFile, record: usize) -> Claim {
    let statement = file.statement();
    Claim {
        record,
        mask: statement.mask.bits(),
        words: statement.words,
        purpose: file.binding.purpose,
        context: statement.context,
        inputs: file.public_inputs.to_vec(),
        proof: flat(&file.proof),
        call: kedge_protocol::hash::to_hex(&resolve_claim(file, 1).unwrap()),
    }
}

/// A word with its last bit flipped.
fn turned(word: &Hash) -> Hash {
    let mut turned = *word;
    turned.0[31] ^= 1;
    turned
}

fn spoilt(claims: &[Claim]) -> Refused {
    let [hidden, some, .., all] = claims else {
        panic!("three claims");
    };
    let mut refused = Refused {
        why: Vec::new(),
        inputs: Vec::new(),
        proofs: Vec::new(),
    };
    let mut refuse = |why: String, inputs: &[Hash], proof: &[Hash]| {
        refused.why.push(why);
        refused.inputs.extend(inputs);
        refused.proofs.extend(proof);
    };
    for claim in [hidden, some, all] {
        for place in 0..claim.inputs.len() {
            let mut inputs = claim.inputs.clone();
            inputs[place] = turned(&inputs[place]);
            refuse(
                format!("mask {}, input {place} turned", claim.mask),
                &inputs,
                &claim.proof,
            );
        }
        for place in 0..claim.proof.len() {
            let mut proof = claim.proof.clone();
            proof[place] = turned(&proof[place]);
            refuse(
                format!("mask {}, number {place} of the proof turned", claim.mask),
                &claim.inputs,
                &proof,
            );
        }
    }
    refuse("another claim's proof".to_owned(), &some.inputs, &all.proof);
    refuse("no points".to_owned(), &some.inputs, &[Hash::ZERO; 8]);
    let mut swapped = some.proof.clone();
    swapped.swap(2, 3);
    swapped.swap(4, 5);
    refuse("the other order of G2".to_owned(), &some.inputs, &swapped);
    let mut exchanged = some.proof.clone();
    exchanged.swap(0, 6);
    exchanged.swap(1, 7);
    refuse("a and c exchanged".to_owned(), &some.inputs, &exchanged);
    refused
}

fn accepts(key: &VerifyingKey, inputs: &[Hash], proof: &[Hash]) -> bool {
    Groth16Proof::of_parts(&parts(proof)).is_ok_and(|proof| key.verify(&proof, inputs))
}

/// Proofs are randomized, so the file is not compared. Rewritten when the circuit changes: `cargo test -p kedge-prover
/// --test prover -- --ignored write_the_contracts_vectors`
#[test]
#[ignore = "writes the file again"]
fn write_the_contracts_vectors() {
    let claims = CLAIMS.map(|(record, mask)| described(&claim(record, mask), record));
    let vectors = Vectors {
        about: "Claims about the actions of spec.json, proved with the development key, and proofs that must be refused."
            .to_owned(),
        resolver: RESOLVER.to_owned(),
        claimant: CLAIMANT.to_owned(),
        key: keys::dev_insecure().words(),
        refused: spoilt(&claims),
        claims: claims.into(),
    };
    let text = serde_json::to_string_pretty(&vectors).unwrap() + "\n";
    std::fs::write(path(), text).unwrap();
}

// Holds invariant 73.
#[test]
fn the_contracts_vectors_are_judged_alike() {
    let text = std::fs::read_to_string(path()).unwrap();
    let vectors: Vectors = serde_json::from_str(&text).unwrap();
    let key = keys::dev_insecure();
    assert_eq!(vectors.key, key.words());
    assert_eq!(vectors.claims.len(), CLAIMS.len());
    for (claim, (record, mask)) in vectors.claims.iter().zip(CLAIMS) {
        assert_eq!((claim.record, claim.mask), (record, mask));
        assert!(accepts(key, &claim.inputs, &claim.proof), "record {record}");
    }
    let Refused {
        why,
        inputs,
        proofs,
    } = &vectors.refused;
    assert_eq!(why.len(), 3 * (13 + 8) + 4);
    let cases = inputs.chunks_exact(13).zip(proofs.chunks_exact(8));
    assert_eq!(cases.len(), why.len());
    for (why, (inputs, proof)) in why.iter().zip(cases) {
        assert!(!accepts(key, inputs, proof), "{why}");
    }
}
