//! The table of verdicts, `protocol/vectors/verdicts.json`: evidence good and spoiled, as files and as
//! calldata of the judge, each with the verdict that every checker must come to. `KEDGE_WRITE_VERDICTS=1`
//! writes it anew.

#![allow(clippy::unwrap_used, reason = "a test file: a panic is the failure")]

#[path = "../../protocol/tests/support/faults.rs"]
#[allow(dead_code, reason = "this binary takes the parts that it needs")]
mod faults;
#[path = "../../protocol/tests/support/signed_log.rs"]
#[allow(dead_code, reason = "this binary takes the parts that it needs")]
mod signed_log;

use std::path::Path;

use kedge_chain::contract::evidence_calldata;
use kedge_protocol::evidence::{EvidenceFile, Trust};
use kedge_protocol::hash::to_hex;
use serde_json::{Value, json};

use faults::{ANCHORED, FIRST_KEY, ROTATED_AT, SECOND_KEY, cases, log, trust};
use signed_log::{domain, key};

fn table() -> Value {
    let log = log();
    let trust = trust(&log);
    let mut before = 0;
    let checkpoints: Vec<Value> = ANCHORED
        .into_iter()
        .map(|batches| {
            let signed = log
                .checkpoint(batches)
                .sign(&domain().separator(), &key(FIRST_KEY));
            let proof = log.consistency(before, batches);
            before = batches;
            json!({"checkpoint": signed.checkpoint, "signature": signed.signature, "proof": proof})
        })
        .collect();
    let cases: Vec<Value> = cases(&log)
        .iter()
        .map(|case| {
            json!({
                "name": case.name,
                "file": case.file,
                "calldata": to_hex(&evidence_calldata(&case.file.evidence)),
                "proven": case.refused.is_none(),
                "refused": case.refused,
            })
        })
        .collect();
    json!({
        "domain": domain(),
        "keys": [
            {"key": key(FIRST_KEY).address(), "from_batch": 0},
            {"key": key(SECOND_KEY).address(), "from_batch": ROTATED_AT},
        ],
        "evidence_age_s": trust.evidence_age_s,
        "now_s": trust.now_s,
        "checkpoints": checkpoints,
        "cases": cases,
    })
}

/// One case a line, so that a change shows which one it is.
fn text(table: &Value) -> String {
    let mut head = table.clone();
    let cases = head.as_object_mut().unwrap().remove("cases").unwrap();
    let lines: Vec<String> = cases
        .as_array()
        .unwrap()
        .iter()
        .map(Value::to_string)
        .collect();
    let head = serde_json::to_string(&head).unwrap();
    let head = head.strip_suffix('}').unwrap();
    format!("{head},\n\"cases\":[\n{}\n]}}\n", lines.join(",\n"))
}

#[test]
fn the_table_is_what_the_cases_make() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../protocol/vectors/verdicts.json");
    let made = text(&table());
    if std::env::var_os("KEDGE_WRITE_VERDICTS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap();
    assert!(
        kept == made,
        "{} is another table; KEDGE_WRITE_VERDICTS=1 writes it anew",
        path.display()
    );
}

#[test]
fn every_file_of_the_table_has_its_verdict() {
    let table: Value =
        serde_json::from_str(include_str!("../../protocol/vectors/verdicts.json")).unwrap();
    let log = log();
    let trust: Trust = trust(&log);
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
