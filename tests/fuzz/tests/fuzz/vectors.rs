//! Test vectors of the protocol, as initial inputs.

use std::path::Path;

use kedge_protocol::Address;
use kedge_protocol::eip712::Domain;
use serde_json::Value;

/// Reads a file of `crates/protocol/vectors`.
pub(crate) fn read(name: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/protocol/vectors");
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The log of `files.json`, and its sequencer's key.
pub(crate) fn trusted() -> (Domain, Address) {
    let table = read("files.json");
    let domain = serde_json::from_value(table["domain"].clone()).unwrap();
    (
        domain,
        table["sequencer"].as_str().unwrap().parse().unwrap(),
    )
}

/// Files of a kind: the valid ones, and some invalid ones.
pub(crate) fn files(kind: &str) -> Vec<String> {
    let table = read("files.json");
    let cases = table["cases"].as_array().unwrap().iter();
    let of_kind = cases.filter(|case| case["kind"] == kind);
    let texts = of_kind.map(|case| match &case["file"] {
        Value::String(text) => text.clone(),
        file => file.to_string(),
    });
    texts.filter(|text| text.len() < 16_000).take(24).collect()
}
