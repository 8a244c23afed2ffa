//! The names in `vectors/files.json` of the checks that refuse a file. Other crates' tests include this file by its
//! path.

use kedge_protocol::claim::ClaimFileError;
use kedge_protocol::json::JsonObject;
use kedge_protocol::proof::ProofFileError;
use kedge_protocol::receipt::ReceiptError;
use serde::de::DeserializeOwned;

/// The name of a check, as in the table.
pub(crate) fn of_receipt(error: &ReceiptError) -> &'static str {
    match error {
        ReceiptError::Version(_) => "version",
        ReceiptError::OtherDomain => "domain",
        ReceiptError::Signature(_) | ReceiptError::OtherSequencer { .. } => "signature",
        ReceiptError::Count(_) => "count",
        ReceiptError::Place { .. } => "place",
        ReceiptError::Time => "time",
        ReceiptError::Integrity => "integrity",
        ReceiptError::Content => "content",
        ReceiptError::Path(_) => "path",
        ReceiptError::ActionCount { .. } => "actions",
        ReceiptError::Order => "order",
    }
}

pub(crate) fn of_proof(error: &ProofFileError) -> &'static str {
    match error {
        ProofFileError::Version(_) => "version",
        ProofFileError::OtherDomain => "domain",
        ProofFileError::Content => "content",
        ProofFileError::Receipt(error) => of_receipt(error),
        ProofFileError::History(_)
        | ProofFileError::Checkpoint(_)
        | ProofFileError::OtherSequencer { .. }
        | ProofFileError::NotCovered => "anchor",
        ProofFileError::Authorship(_) => "authorship",
    }
}

pub(crate) fn of_claim(error: &ClaimFileError) -> &'static str {
    match error {
        ClaimFileError::Format(_) => "format",
        ClaimFileError::Version(_) => "version",
        ClaimFileError::OtherDomain => "domain",
        ClaimFileError::OtherKey { .. } => "key",
        ClaimFileError::Text(_) => "text",
        ClaimFileError::Input(_) => "inputs",
        ClaimFileError::Receipt(error) => of_receipt(error),
        ClaimFileError::Anchor(_) => "anchor",
    }
}

pub(crate) fn of_json(error: &serde_json::Error) -> &'static str {
    // Parsing already detects an invalid signature.
    let reported = error.to_string();
    let of_signature = ["a signature ", "the signature ", "the signature's "];
    if of_signature.iter().any(|words| reported.contains(words)) {
        "signature"
    } else {
        "form"
    }
}

pub(crate) fn parsed<T: DeserializeOwned>(text: &str) -> Result<T, &'static str> {
    let read: Result<JsonObject<T>, _> = serde_json::from_str(text);
    read.map(|JsonObject(file)| file)
        .map_err(|error| of_json(&error))
}
