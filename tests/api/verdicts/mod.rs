//! The table of files, `crates/protocol/vectors/files.json`: receipts, proof files and claims, good and spoiled, each
//! with the verdict that every checker must reach. `KEDGE_WRITE_FILES=1` rewrites it.

mod calls;
mod checkers;
#[path = "../../../crates/protocol/tests/support/checks.rs"]
mod checks;
mod claims;
mod log;
mod proofs;
mod receipts;
mod table;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use kedge_prover::claim::ClaimFile;
use kedge_prover::keys;
use serde::Deserialize;
use serde_json::json;

use claims::Kept;
use log::Log;
use table::{Kind, Maker, Row};

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/protocol/vectors/files.json")
}

fn kept() -> Vec<Row> {
    #[derive(Deserialize)]
    struct Table {
        cases: Vec<Row>,
    }
    let text = std::fs::read_to_string(path()).unwrap();
    serde_json::from_str::<Table>(&text).unwrap().cases
}

fn kept_proofs() -> Kept {
    let may_prove = std::env::var_os("KEDGE_WRITE_FILES").is_some();
    if !path().exists() && may_prove {
        let proofs = HashMap::new();
        return Kept { proofs, may_prove };
    }
    let claims = kept().into_iter().filter(|row| row.kind == Kind::Claim);
    let good = claims.filter(|row| row.valid && !row.name.contains(": "));
    let proof = |row: Row| {
        let claim: ClaimFile = serde_json::from_str(row.text()).unwrap();
        (row.name, claim.proof)
    };
    Kept {
        proofs: good.map(proof).collect(),
        may_prove,
    }
}

/// One case per line, so that a diff shows which one has changed.
fn made() -> String {
    let mut maker = Maker {
        log: Log::read(),
        rows: Vec::new(),
    };
    receipts::add(&mut maker);
    proofs::add(&mut maker);
    claims::add(&mut maker, &kept_proofs());
    let log = &maker.log;
    let state = json!({"domain": log.domain(), "sequencer": log.sequencer(), "resolver": claims::RESOLVER,
        "key": keys::dev_insecure().words(), "now_s": 1_790_001_000, "checkpoints": log.anchors()});
    let state = state.to_string();
    let state = state.strip_suffix('}').unwrap();
    let lines: Vec<String> = maker
        .rows
        .iter()
        .map(|row| serde_json::to_string(row).unwrap())
        .collect();
    format!("{state},\n\"cases\":[\n{}\n]}}\n", lines.join(",\n"))
}

// Holds invariant 70.
#[test]
fn the_table_is_what_the_cases_make() {
    let (path, made) = (path(), made());
    if std::env::var_os("KEDGE_WRITE_FILES").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap();
    assert!(
        kept == made,
        "{} is another table; KEDGE_WRITE_FILES=1 writes it again",
        path.display()
    );
}

#[test]
fn every_kind_of_file_has_its_cases() {
    let rows = kept();
    let count = |kind, valid| {
        let rows = rows.iter();
        rows.filter(|row| row.kind == kind && row.valid == valid)
            .count()
    };
    for (kind, good, spoiled) in [
        (Kind::Receipt, 7, 50),
        (Kind::Receipts, 6, 30),
        (Kind::Proof, 10, 70),
        (Kind::Claim, 12, 90),
    ] {
        assert!(count(kind, true) >= good, "{kind:?}");
        assert!(count(kind, false) >= spoiled, "{kind:?}");
    }
    let judged = rows.iter().filter(|row| row.contract.is_some());
    assert!(judged.count() >= 100);
}
