//! Checks receipts, proof files and claims against `vectors/files.json`: good ones and spoiled ones, each with the
//! check that refuses it. `kedge-prover` checks the proofs of claims.

use kedge_protocol::claim::{ClaimFile, ClaimTextError};
use kedge_protocol::eip712::Domain;
use kedge_protocol::limits::CLAIM_BYTES_MAX;
use kedge_protocol::proof::ProofFile;
use kedge_protocol::receipt::{BatchReceipt, Receipt};
use kedge_protocol::{Address, Hash, Id, Prefix};
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::checks::{of_claim, of_json, of_proof, of_receipt, parsed};

#[derive(Deserialize)]
struct Table<'a> {
    domain: Domain,
    sequencer: Address,
    #[serde(borrow)]
    cases: Vec<Case<'a>>,
}

#[derive(Deserialize)]
struct Case<'a> {
    name: String,
    kind: String,
    refused: Option<String>,
    contents: Vec<Hash>,
    #[serde(borrow, default)]
    file: Option<&'a RawValue>,
    #[serde(default)]
    text: Option<String>,
}

impl Case<'_> {
    fn text(&self) -> &str {
        let text = self.text.as_deref();
        text.or_else(|| self.file.map(RawValue::get)).unwrap()
    }
}

fn table() -> Table<'static> {
    serde_json::from_str(include_str!("../../vectors/files.json")).unwrap()
}

/// The first good claim; all claims have the same verifying key.
fn good_claim(table: &Table<'_>) -> ClaimFile {
    let mut cases = table.cases.iter();
    let good = cases.find(|case| case.kind == "claim" && case.refused.is_none());
    ClaimFile::parse(good.unwrap().text()).unwrap()
}

fn claim_of(text: &str) -> Result<ClaimFile, &'static str> {
    ClaimFile::parse(text).map_err(|error| match error {
        ClaimTextError::TooLong(_) => "length",
        ClaimTextError::Json(error) => of_json(&error),
    })
}

fn verdict(case: &Case<'_>, table: &Table<'_>, key_hash: &Hash) -> Result<(), &'static str> {
    let Table {
        domain, sequencer, ..
    } = table;
    match case.kind.as_str() {
        "receipt" => {
            let file: Receipt = parsed(case.text())?;
            let held = file.verify(domain, sequencer);
            held.map_err(|error| of_receipt(&error))?;
            let same = case.contents == [file.leaf.content];
            if same { Ok(()) } else { Err("content") }
        }
        "receipts" => {
            let file: BatchReceipt = parsed(case.text())?;
            let sent = |index: u32| case.contents.get(index as usize).copied();
            let named = file.actions.iter().filter_map(|action| sent(action.index));
            let held = file.verify(domain, sequencer, &named.collect::<Vec<_>>());
            held.map_err(|error| of_receipt(&error))
        }
        "proof" => {
            let file: ProofFile = parsed(case.text())?;
            let shown = file.verify(domain, sequencer);
            let shown = shown.map_err(|error| of_proof(&error))?;
            assert_eq!(shown.anchored, file.anchor.is_some(), "{}", case.name);
            assert_eq!(shown.authorship, file.authorship.is_some(), "{}", case.name);
            Ok(())
        }
        "claim" => {
            let file = claim_of(case.text())?;
            let shown = file.check(domain, sequencer, key_hash);
            let shown = shown.map_err(|error| of_claim(&error))?;
            assert_eq!(shown.anchored, file.anchor.is_some(), "{}", case.name);
            Ok(())
        }
        kind => panic!("{kind}"),
    }
}

#[test]
fn every_file_has_its_verdict() {
    let table = table();
    let key_hash = good_claim(&table).key_hash;
    for case in &table.cases {
        // Only the prover checks a claim's proof.
        let expected = case
            .refused
            .as_deref()
            .filter(|refused| *refused != "proof");
        let found = verdict(case, &table, &key_hash).err();
        assert_eq!(found, expected, "{}", case.name);
    }
}

/// The reader decides whom to trust: the key that a file names, and the signer of its checkpoint, are not part of its
/// consistency.
#[test]
fn claims_are_consistent_whoever_is_trusted() {
    let table = table();
    for case in table.cases.iter().filter(|case| case.kind == "claim") {
        let Ok(file) = claim_of(case.text()) else {
            continue;
        };
        let stated = file.check_stated().map_err(|error| of_claim(&error));
        let expected = match case.refused.as_deref() {
            None | Some("proof" | "key") => Ok(()),
            // The context, which is a public input, depends on the domain.
            Some("domain") => Err("inputs"),
            Some(refused) => Err(refused),
        };
        let found = stated.map(|_| ());
        let is_of_others = matches!(expected, Err("signature" | "anchor")) && found.is_ok();
        assert!(
            is_of_others || found == expected,
            "{}: {found:?}",
            case.name
        );
    }
}

#[test]
fn claims_have_one_normal_form() {
    let table = table();
    for case in &table.cases {
        if case.kind != "claim" || case.refused.is_some() {
            continue;
        }
        let file = ClaimFile::parse(case.text()).unwrap();
        let normal = file.normal_form().unwrap();
        assert_eq!(ClaimFile::parse(&normal).unwrap(), file, "{}", case.name);
        assert!(
            !normal.contains('\n') && normal.starts_with(r#"{"format":"kedge.claim","version":1,"#)
        );
        let digest: [u8; 32] = Sha256::digest(&normal).into();
        assert_eq!(ClaimFile::digest_of(&normal), Hash(digest));
        assert_eq!(
            file.subject(),
            Id::of_hash(Prefix::Action, &file.leaf.content)
        );
    }
}

#[test]
fn claims_are_bounded() {
    let text = good_claim(&table()).normal_form().unwrap();
    let room = " ".repeat(CLAIM_BYTES_MAX - text.len());
    assert!(ClaimFile::parse(&format!("{text}{room}")).is_ok());
    let long = ClaimFile::parse(&format!("{text}{room} "));
    assert!(matches!(long, Err(ClaimTextError::TooLong(length)) if length == CLAIM_BYTES_MAX + 1));
}
