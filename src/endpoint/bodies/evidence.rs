//! Evidence files.

use kedge_protocol::evidence::{EVIDENCE_FORMAT, EVIDENCE_VERSION, Fault};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::views::schema::Domain;

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
                    "properties": { "fault": generator.subschema_for::<Fault>() },
                    "required": ["fault"],
                },
            },
            "required": ["format", "version", "domain", "evidence"],
            "additionalProperties": false,
        })
    }
}
