//! Receipts, proof files, claims and evidence: they survive writing and parsing unchanged, and a file that verifies
//! states only what the sequencer has signed.

use std::collections::HashSet;

use kedge_protocol::claim::ClaimFile;
use kedge_protocol::evidence::EvidenceFile;
use kedge_protocol::proof::ProofFile;
use kedge_protocol::receipt::{BatchReceipt, Receipt};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{fuzz, vectors};

/// Parses, writes and parses again; `Err` is the parse error.
fn parsed<T: DeserializeOwned + Serialize>(input: &[u8]) -> Result<T, String> {
    let file: T = serde_json::from_slice(input).map_err(|error| error.to_string())?;
    let written = serde_json::to_string(&file).unwrap();
    let again: T =
        serde_json::from_str(&written).unwrap_or_else(|error| panic!("{written}: {error}"));
    assert_eq!(serde_json::to_string(&again).unwrap(), written);
    Ok(file)
}

fn seeds(kind: &str) -> Vec<Vec<u8>> {
    let files = vectors::files(kind);
    assert!(files.len() > 3, "{kind}");
    files.into_iter().map(Vec::from).collect()
}

/// Words of these file formats.
const WORDS: &[&str] = &[
    "null",
    "\"0x\"",
    "\"version\":2",
    "\"anchor\":null",
    "\"path\":[]",
    "0x00",
    "ff",
    ",",
    "[",
    "]",
    "{}",
    "\"18446744073709551615\"",
];

#[test]
fn receipts_that_verify_are_those_that_were_signed() {
    let (domain, sequencer) = vectors::trusted();
    let signed = |receipt: &Receipt| {
        let fixed = (receipt.leaf, receipt.leaf_index);
        format!("{fixed:?} {:?} {:?}", receipt.path, receipt.batch.header)
    };
    let seeds = seeds("receipt");
    let good: HashSet<String> = seeds
        .iter()
        .filter_map(|text| parsed::<Receipt>(text).ok())
        .filter(|receipt| receipt.verify(&domain, &sequencer).is_ok())
        .map(|receipt| signed(&receipt))
        .collect();
    assert!(!good.is_empty(), "no valid receipt to begin with");
    fuzz("receipts").seeds(seeds).words(WORDS).run(|input| {
        if let Ok(many) = parsed::<BatchReceipt>(input) {
            return format!("many: {:?}", many.verify(&domain, &sequencer, &[]).is_ok());
        }
        let receipt = match parsed::<Receipt>(input) {
            Ok(receipt) => receipt,
            Err(error) => return error,
        };
        match receipt.verify(&domain, &sequencer) {
            Ok(()) => {
                assert!(
                    good.contains(&signed(&receipt)),
                    "a forged receipt verifies"
                );
                "verified".to_owned()
            }
            Err(error) => error.to_string(),
        }
    });
}

#[test]
fn proofs_that_verify_are_those_that_were_signed() {
    let (domain, sequencer) = vectors::trusted();
    let signed = |proof: &ProofFile| {
        format!(
            "{:?} {:?} {:?}",
            proof.action, proof.leaf, proof.batch.header
        )
    };
    let seeds = seeds("proof");
    let good: HashSet<String> = seeds
        .iter()
        .filter_map(|text| parsed::<ProofFile>(text).ok())
        .filter(|proof| proof.verify(&domain, &sequencer).is_ok())
        .map(|proof| signed(&proof))
        .collect();
    assert!(!good.is_empty(), "no valid proof to begin with");
    fuzz("proofs").seeds(seeds).words(WORDS).run(|input| {
        let proof = match parsed::<ProofFile>(input) {
            Ok(proof) => proof,
            Err(error) => return error,
        };
        match proof.verify(&domain, &sequencer) {
            Ok(shown) => {
                assert!(good.contains(&signed(&proof)), "a forged proof verifies");
                format!("{shown:?}")
            }
            Err(error) => error.to_string(),
        }
    });
}

#[test]
fn claims_have_one_form_and_are_checked() {
    let (domain, sequencer) = vectors::trusted();
    let seeds = seeds("claim");
    let key: kedge_protocol::Hash = seeds
        .iter()
        .find_map(|text| {
            Some(
                ClaimFile::parse(std::str::from_utf8(text).ok()?)
                    .ok()?
                    .key_hash,
            )
        })
        .unwrap();
    fuzz("claims").seeds(seeds).words(WORDS).run(|input| {
        let Ok(text) = std::str::from_utf8(input) else {
            return "not UTF-8".to_owned();
        };
        let claim = match ClaimFile::parse(text) {
            Ok(claim) => claim,
            Err(error) => return error.to_string(),
        };
        let normal = claim.normal_form().unwrap();
        let again = ClaimFile::parse(&normal).unwrap_or_else(|error| panic!("{normal}: {error}"));
        assert_eq!(again.normal_form().unwrap(), normal);
        assert_eq!(again.subject(), claim.subject());
        assert_eq!(again.statement().decimals(), claim.statement().decimals());
        let stated = claim.check_stated().err().map(|error| error.to_string());
        let trusted = claim.check(&domain, &sequencer, &key);
        assert!(
            trusted.is_err() || stated.is_none(),
            "trusted, and not consistent"
        );
        format!("{stated:?} {}", trusted.is_ok())
    });
}

#[test]
fn evidence_has_one_form() {
    let table = vectors::read("verdicts.json");
    let cases = table["cases"].as_array().unwrap();
    let seeds = cases.iter().map(|case| case["file"].to_string());
    let seeds: Vec<Vec<u8>> = seeds
        .filter(|text| text.len() < 16_000)
        .map(Vec::from)
        .collect();
    fuzz("evidence").seeds(seeds).words(WORDS).run(|input| {
        let Ok(text) = std::str::from_utf8(input) else {
            return "not UTF-8".to_owned();
        };
        let file = match EvidenceFile::parse(text) {
            Ok(file) => file,
            Err(error) => return error.to_string(),
        };
        let normal = file.normal_form().unwrap();
        let again =
            EvidenceFile::parse(&normal).unwrap_or_else(|error| panic!("{normal}: {error}"));
        assert_eq!(again.normal_form().unwrap(), normal);
        // Every verified file has a subject and can be encoded for the contract.
        let calldata = kedge_chain::contract::evidence_calldata(&file.evidence);
        assert!(calldata.len() > 4);
        let fault = file.evidence.fault();
        assert_eq!(
            kedge_protocol::evidence::Fault::of_text(fault.text()),
            Some(fault)
        );
        format!(
            "{fault:?} {} {:?}",
            file.evidence.batch(),
            file.evidence.anchored_batches().len()
        )
    });
}
