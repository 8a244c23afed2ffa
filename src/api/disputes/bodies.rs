//! Bodies of disputes: evidence and claim files.

use kedge_http::scalars::{AddressText, HashText};
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::checkpoint::SignedCheckpoint;
use kedge_protocol::claim::{CLAIM_FORMAT, CLAIM_VERSION, INPUTS};
use kedge_protocol::eip712::Domain;
use kedge_protocol::evidence::{EVIDENCE_FORMAT, EVIDENCE_VERSION};
use kedge_protocol::proof::BatchPath;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::json;

use crate::api::disputes::views::FaultName;

/// Members of evidence that are signed or positioned records.
const RECORDS: [&str; 11] = [
    "action", "batch", "before", "earlier", "first", "last", "later", "left", "next", "second",
    "signed",
];
/// Members that are lists of hashes.
const HASH_LISTS: [&str; 3] = ["leaves", "path", "proof"];
/// Members that are hashes.
const HASHES: [&str; 3] = ["beginning", "held", "previous"];

/// Members of all kinds of evidence; PROTOCOL.md lists which kind has which.
fn members(fault: &Schema) -> serde_json::Value {
    let mut members = serde_json::Map::new();
    members.insert("fault".to_owned(), fault.clone().to_value());
    let batches = json!({ "type": "integer", "minimum": 1 });
    members.insert("anchored_batches".to_owned(), batches);
    for name in RECORDS {
        members.insert(name.to_owned(), json!({ "type": "object" }));
    }
    for name in HASH_LISTS {
        let hashes = json!({ "type": "array", "items": { "type": "string" } });
        members.insert(name.to_owned(), hashes);
    }
    for name in HASHES {
        members.insert(name.to_owned(), json!({ "type": "string" }));
    }
    members.into()
}

/// An evidence file, as docs/PROTOCOL.md describes it.
struct EvidenceBody;

impl JsonSchema for EvidenceBody {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "EvidenceBody".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "An evidence file.",
            "properties": {
                "format": { "const": EVIDENCE_FORMAT },
                "version": { "const": EVIDENCE_VERSION },
                "domain": generator.subschema_for::<Domain>(),
                "evidence": {
                    "type": "object",
                    "description": "The fault, and the records that show it; the members differ for each fault.",
                    "properties": members(&generator.subschema_for::<FaultName>()),
                    "required": ["fault"],
                },
            },
            "required": ["format", "version", "domain", "evidence"],
            "additionalProperties": false,
        })
    }
}

/// Schema of a list of this many hashes.
fn hashes(generator: &mut SchemaGenerator, count: usize) -> Schema {
    let items = generator.subschema_for::<HashText>();
    json_schema!({ "type": "array", "items": items, "minItems": count, "maxItems": count })
}

/// Schema of an object with exactly these members; all are required, or all are optional.
fn object(members: &[(&str, Schema)], all_required: bool) -> Schema {
    let names: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
    let required = if all_required { names } else { Vec::new() };
    let properties: serde_json::Map<String, serde_json::Value> = members
        .iter()
        .map(|(name, schema)| ((*name).to_owned(), schema.clone().to_value()))
        .collect();
    json_schema!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// Schema of a claim's disclosures.
fn disclosed(generator: &mut SchemaGenerator) -> Schema {
    let text = json_schema!({
        "type": "object",
        "properties": {
            "hash": generator.subschema_for::<HashText>(),
            "text": { "type": ["string", "null"] },
        },
        "required": ["hash"],
        "additionalProperties": false,
    });
    let members = [
        ("kind", text.clone()),
        ("target", text.clone()),
        ("payload", text),
        ("signer", generator.subschema_for::<AddressText>()),
    ];
    object(&members, false)
}

/// Schema of a claim's anchor.
fn anchor(generator: &mut SchemaGenerator) -> Schema {
    let hash = generator.subschema_for::<HashText>();
    let path = json_schema!({ "type": "array", "items": hash.clone() });
    let transaction = json_schema!({ "anyOf": [hash, { "type": "null" }] });
    let members = [
        ("checkpoint", generator.subschema_for::<SignedCheckpoint>()),
        ("path", path),
        ("contract", generator.subschema_for::<AddressText>()),
        ("transaction_hash", transaction),
        (
            "block_number",
            json_schema!({ "type": ["integer", "null"], "minimum": 0 }),
        ),
    ];
    json_schema!({ "anyOf": [object(&members, true), { "type": "null" }] })
}

/// A claim file, as docs/PROTOCOL.md describes it.
struct ClaimBody;

impl JsonSchema for ClaimBody {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ClaimBody".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let number = || json_schema!({ "type": "integer", "minimum": 0 });
        let hash = generator.subschema_for::<HashText>();
        let address = generator.subschema_for::<AddressText>();
        let leaf = [
            ("sequence", number()),
            ("timestamp_ms", number()),
            ("content", hash.clone()),
            ("integrity", hash.clone()),
        ];
        let binding = [
            ("resolver", address.clone()),
            ("claimant", address.clone()),
            ("purpose", hash.clone()),
        ];
        let proof = [
            ("a", hashes(generator, 2)),
            ("b", hashes(generator, 4)),
            ("c", hashes(generator, 2)),
        ];
        let members = [
            ("format", json_schema!({ "const": CLAIM_FORMAT })),
            ("version", json_schema!({ "const": CLAIM_VERSION })),
            ("domain", generator.subschema_for::<Domain>()),
            ("sequencer", address),
            ("leaf", object(&leaf, true)),
            ("inclusion", generator.subschema_for::<BatchPath>()),
            ("batch", generator.subschema_for::<SignedBatch>()),
            ("anchor", anchor(generator)),
            ("binding", object(&binding, true)),
            ("disclosed", disclosed(generator)),
            ("key_hash", hash),
            ("public_inputs", hashes(generator, INPUTS)),
            ("proof", object(&proof, true)),
        ];
        let mut schema = object(&members, true);
        schema.insert("description".to_owned(), json!("A claim file."));
        schema
    }
}

/// The submitted file: `format` names its kind.
pub struct DisputeBody;

impl JsonSchema for DisputeBody {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "DisputeBody".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let kinds = [
            generator.subschema_for::<EvidenceBody>(),
            generator.subschema_for::<ClaimBody>(),
        ];
        json_schema!({ "oneOf": kinds })
    }
}
