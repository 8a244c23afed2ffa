//! The table `crates/protocol/vectors/verdicts.json`: valid and damaged evidence, as files and as calldata of the
//! judge, with the expected verdicts. `KEDGE_WRITE_VERDICTS=1` rewrites it.

#[path = "../../../protocol/tests/support/faults.rs"]
#[allow(dead_code, reason = "this binary takes the parts that it needs")]
mod faults;
#[path = "../../../protocol/tests/support/signed_log.rs"]
#[allow(dead_code, reason = "this binary takes the parts that it needs")]
mod signed_log;

use std::path::{Path, PathBuf};

use kedge_chain::contract::evidence_calldata;
use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::eip712::Domain;
use kedge_protocol::evidence::EvidenceFile;
use kedge_protocol::hash::to_hex;
use kedge_protocol::signature::Signature;
use kedge_protocol::{Address, Hash};
use serde::Serialize;
use serde_json::Value;

use faults::{ANCHORED, FIRST_KEY, ROTATED_AT, SECOND_KEY, cases, log, trust};
use signed_log::{domain, key};

/// The contract's state.
#[derive(Serialize)]
struct State {
    domain: Domain,
    keys: [Key; 2],
    evidence_age_s: u64,
    now_s: u64,
    checkpoints: Vec<Anchor>,
}

#[derive(Serialize)]
struct Key {
    key: Address,
    from_batch: u64,
}

#[derive(Serialize)]
struct Anchor {
    checkpoint: Checkpoint,
    signature: Signature,
    proof: Vec<Hash>,
}

#[derive(Serialize)]
struct Row {
    name: &'static str,
    proven: bool,
    refused: Option<&'static str>,
    file: EvidenceFile,
    calldata: String,
}

fn state() -> State {
    let log = log();
    let trust = trust(&log);
    let mut before = 0;
    let checkpoints = ANCHORED.map(|batches| {
        let checkpoint = log.checkpoint(batches);
        let signed = checkpoint.sign(&domain().separator(), &key(FIRST_KEY));
        let proof = log.consistency(before, batches);
        before = batches;
        Anchor {
            checkpoint,
            signature: signed.signature,
            proof,
        }
    });
    let term = |number: u8, from_batch| Key {
        key: key(number).address(),
        from_batch,
    };
    State {
        domain: domain(),
        keys: [term(FIRST_KEY, 0), term(SECOND_KEY, ROTATED_AT)],
        evidence_age_s: trust.evidence_age_s,
        now_s: trust.now_s,
        checkpoints: checkpoints.into(),
    }
}

/// One case per line, so that a diff shows which one changed.
fn table() -> String {
    let rows = cases(&log()).into_iter().map(|case| Row {
        name: case.name,
        proven: case.refused.is_none(),
        refused: case.refused,
        calldata: to_hex(&evidence_calldata(&case.file.evidence)),
        file: case.file,
    });
    let lines: Vec<String> = rows
        .map(|row| serde_json::to_string(&row).unwrap())
        .collect();
    let state = serde_json::to_string(&state()).unwrap();
    let state = state.strip_suffix('}').unwrap();
    format!("{state},\n\"cases\":[\n{}\n]}}\n", lines.join(",\n"))
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../protocol/vectors/verdicts.json")
}

#[test]
fn the_table_is_what_the_cases_make() {
    let (path, made) = (path(), table());
    if std::env::var_os("KEDGE_WRITE_VERDICTS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap();
    assert!(
        kept == made,
        "{} is another table; KEDGE_WRITE_VERDICTS=1 writes it again",
        path.display()
    );
}

#[test]
fn every_file_of_the_table_has_its_verdict() {
    let kept = std::fs::read_to_string(path()).unwrap();
    let table: Value = serde_json::from_str(&kept).unwrap();
    let trust = trust(&log());
    let cases = table["cases"].as_array().unwrap();
    assert!(cases.len() >= 60, "{}", cases.len());
    for case in cases {
        let file = EvidenceFile::parse(&case["file"].to_string()).unwrap();
        let verdict = file.check(&trust);
        assert_eq!(
            verdict.is_ok(),
            case["proven"],
            "{}: {verdict:?}",
            case["name"]
        );
        let calldata = to_hex(&evidence_calldata(&file.evidence));
        assert_eq!(case["calldata"], calldata, "{}", case["name"]);
    }
}
