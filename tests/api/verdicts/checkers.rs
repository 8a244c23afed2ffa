//! Two of the checkers: the library, and the command line as a process.

use std::process::Output;

use kedge_protocol::Hash;
use kedge_protocol::proof::ProofFile;
use kedge_protocol::receipt::{BatchReceipt, Receipt};
use kedge_prover::claim::{self, ClaimError, ClaimFile};
use kedge_prover::keys;
use serde_json::Value;

use super::checks::{self, of_proof, of_receipt, parsed};
use super::kept;
use super::log::Log;
use super::table::{Kind, Row};
use crate::program::kedge;

fn of_claim(error: &ClaimError) -> &'static str {
    match error {
        ClaimError::File(error) => checks::of_claim(error),
        ClaimError::Point(_) | ClaimError::ProofRefused => "proof",
    }
}

/// The contents of the actions in a receipt, as far as they were sent.
fn contents_of(receipt: &BatchReceipt, sent: &[Hash]) -> Vec<Hash> {
    let actions = receipt.actions.iter();
    actions
        .filter_map(|action| sent.get(action.index as usize).copied())
        .collect()
}

fn library(row: &Row, log: &Log) -> Result<(), &'static str> {
    let (domain, sequencer) = (log.domain(), log.sequencer());
    match row.kind {
        Kind::Receipt => {
            let file: Receipt = parsed(row.text())?;
            let held = file.verify(&domain, &sequencer);
            held.map_err(|error| of_receipt(&error))?;
            let same = row.contents == [file.leaf.content];
            if same { Ok(()) } else { Err("content") }
        }
        Kind::Receipts => {
            let file: BatchReceipt = parsed(row.text())?;
            let contents = contents_of(&file, &row.contents);
            let held = file.verify(&domain, &sequencer, &contents);
            held.map_err(|error| of_receipt(&error))
        }
        Kind::Proof => {
            let file: ProofFile = parsed(row.text())?;
            let held = file.verify(&domain, &sequencer);
            held.map(drop).map_err(|error| of_proof(&error))
        }
        Kind::Claim => {
            let file: ClaimFile = parsed(row.text())?;
            let held = claim::verify(&file, &domain, &sequencer, keys::dev_insecure());
            held.map(drop).map_err(|error| of_claim(&error))
        }
    }
}

// Holds invariant 70.
#[test]
fn the_library_comes_to_every_verdict() {
    let log = Log::read();
    let mut wrong = Vec::new();
    for row in kept() {
        let verdict = library(&row, &log).err();
        if verdict != row.refused.as_deref() {
            wrong.push(format!("{}: {verdict:?}", row.name));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The command of a user who has the file, and knows the log and its sequencer.
fn command_line(row: &Row, log: &Log, file: &std::path::Path) -> Output {
    std::fs::write(file, row.text()).unwrap();
    let domain = log.domain();
    let what = match row.kind {
        Kind::Receipt | Kind::Receipts => "receipt",
        Kind::Proof => "proof",
        Kind::Claim => "claim",
    };
    let mut command = kedge();
    command.args(["verify", what, "--json"]).arg(file).args([
        "--domain",
        &format!("{}:{}", domain.chain_id, domain.verifying_contract),
        "--sequencer",
        &log.sequencer().to_string(),
    ]);
    if row.kind == Kind::Claim {
        command.arg("--dev-insecure");
    }
    let contents = match parsed::<BatchReceipt>(row.text()) {
        Ok(receipt) if row.kind == Kind::Receipts => contents_of(&receipt, &row.contents),
        _ => row.contents.clone(),
    };
    for content in contents {
        command.arg("--content").arg(content.to_string());
    }
    command.output().unwrap()
}

// Holds invariant 70.
#[test]
fn the_command_line_comes_to_every_verdict() {
    let log = Log::read();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file.json");
    let mut wrong = Vec::new();
    for row in kept() {
        let output = command_line(&row, &log, &file);
        let shown: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let reported = (output.status.code(), shown["valid"] == true);
        let expected = match row.refused.as_deref() {
            None => (Some(0), true),
            // The command needs the contents of all its actions, not only some.
            Some("actions") => (Some(2), false),
            Some(_) => (Some(1), false),
        };
        if reported != expected {
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            wrong.push(format!("{}: {reported:?} {error}", row.name));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
