//! Evidence files.

use kedge_protocol::evidence::{EVIDENCE_FORMAT, EVIDENCE_VERSION, Fault};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::json;

use crate::views::schema::Domain;

/// Members of evidence that are signed or placed records.
const RECORDS: [&str; 11] = [
    "action", "batch", "before", "earlier", "first", "last", "later", "left", "next", "second",
    "signed",
];
/// Members that are lists of hashes.
const HASH_LISTS: [&str; 3] = ["leaves", "path", "proof"];
/// Members that are hashes.
const HASHES: [&str; 3] = ["beginning", "held", "previous"];

/// The members of all kinds of evidence; PROTOCOL.md says which kind has which.
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
pub(in crate::endpoint) struct EvidenceBody;

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
                    "description": "The fault, and the records that show it: other members for each fault.",
                    "properties": members(&generator.subschema_for::<Fault>()),
                    "required": ["fault"],
                },
            },
            "required": ["format", "version", "domain", "evidence"],
            "additionalProperties": false,
        })
    }
}
