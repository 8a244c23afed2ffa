//! The action bus.

use std::borrow::Cow;

use kedge_protocol::action::Kind;
use kedge_protocol::limits::BATCH_ACTIONS_MAX;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::Recipient;
use crate::scalars::{AddressInput, ObjectId, TemplateId, VariationId};

/// The kinds of the bus as a pattern: the built-in ones, and a template's own.
pub(super) struct BusKind;

impl JsonSchema for BusKind {
    fn schema_name() -> Cow<'static, str> {
        "BusKind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let kinds = Kind::BUILT_IN.iter().filter(|kind| kind.is_bus());
        let kinds: Vec<&str> = kinds.map(Kind::text).collect();
        let pattern = format!("^({}|{CUSTOM_KIND})$", kinds.join("|"));
        json_schema!({ "type": "string", "pattern": pattern })
    }
}

/// `x.` and at most 64 bytes in all.
const CUSTOM_KIND: &str = r"x\.[A-Za-z0-9._-]{1,62}";

/// One action of the bus. Each kind has its own payload.
pub struct ActionBody;

impl ActionBody {
    /// An action on an object; `payload` is optional if it may be empty.
    fn on_object(
        generator: &mut SchemaGenerator,
        title: &str,
        kind: &Value,
        payload: &Value,
        required: bool,
    ) -> Value {
        let object_id = generator.subschema_for::<ObjectId>();
        let mut members = vec!["action_type", "object_id"];
        if required {
            members.push("payload");
        }
        json!({
            "title": title,
            "type": "object",
            "additionalProperties": false,
            "properties": { "action_type": kind, "object_id": object_id, "payload": payload },
            "required": members,
        })
    }
}

impl ActionBody {
    /// The schema of an action of each kind.
    fn kinds(generator: &mut SchemaGenerator) -> [Value; 7] {
        let template_id = generator.subschema_for::<TemplateId>();
        let variation_id = generator.subschema_for::<Option<VariationId>>();
        let to = generator.subschema_for::<Recipient>();
        let maybe_to = generator.subschema_for::<Option<Recipient>>();
        let properties = json!({ "type": ["object", "null"] });
        let strict = |properties: Value, required: &[&str]| {
            json!({
                "type": "object",
                "additionalProperties": false,
                "properties": properties,
                "required": required,
            })
        };
        let mint = json!({
            "title": "mint",
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "action_type": { "const": "mint" },
                "template_id": template_id,
                "payload": strict(json!({
                    "variation_id": variation_id,
                    "properties": properties.clone(),
                    "to": maybe_to,
                }), &[]),
            },
            "required": ["action_type", "template_id"],
        });
        let update = strict(json!({ "properties": properties }), &[]);
        let transfer = strict(json!({ "to": to }), &["to"]);
        let set = strict(
            json!({ "attributes": { "type": "object" } }),
            &["attributes"],
        );
        let names = json!({ "type": "array", "items": { "type": "string" } });
        let delete = strict(json!({ "attributes": names }), &["attributes"]);
        let nothing = strict(json!({}), &[]);
        let anything = json!({ "description": "Any JSON value, kept as it is." });
        let word = |kind: &str| json!({ "const": kind });
        let words = json!({ "enum": ["lock", "unlock", "burn"] });
        let own = json!({ "type": "string", "pattern": format!("^(emit|{CUSTOM_KIND})$") });
        let mut of = |title: &str, kind: Value, payload: Value, required: bool| {
            Self::on_object(generator, title, &kind, &payload, required)
        };
        [
            mint,
            of("update", word("update"), update, false),
            of("transfer", word("transfer"), transfer, true),
            of("lock, unlock, burn", words, nothing, false),
            of("set_attributes", word("set_attributes"), set, true),
            of("delete_attributes", word("delete_attributes"), delete, true),
            of("emit, and a template's own kinds", own, anything, false),
        ]
    }
}

impl JsonSchema for ActionBody {
    fn schema_name() -> Cow<'static, str> {
        "ActionBody".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let kinds = Self::kinds(generator);
        json_schema!({ "type": "object", "oneOf": kinds })
    }
}

/// Actions under one signature.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct BatchBody {
    /// The actions, done in this order.
    #[schemars(length(min = 1, max = BATCH_ACTIONS_MAX))]
    actions: Vec<ActionBody>,
    /// All or none; part of what is signed.
    #[schemars(default)]
    atomic: bool,
}

/// One action as the bus accepts it, or several in `actions`; and the signer that is assumed.
pub struct PreviewRequest;

impl JsonSchema for PreviewRequest {
    fn schema_name() -> Cow<'static, str> {
        "PreviewRequest".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let many = json!({
            "title": "several actions",
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "actions": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": BATCH_ACTIONS_MAX,
                    "items": generator.subschema_for::<ActionBody>(),
                },
                "atomic": { "type": "boolean", "description": "All or none." },
            },
            "required": ["actions"],
        });
        let signer = json!({
            "description": "The key that will sign; the wallet's own address if absent. Required \
                with an API key alone.",
            "allOf": [generator.subschema_for::<AddressInput>()],
        });
        let salt = json!({
            "type": "string",
            "pattern": "^0x[0-9a-fA-F]{64}$",
            "description": "The seed of the salts, 32 random bytes; a fresh one if absent.",
        });
        let mut kinds = Vec::from(ActionBody::kinds(generator));
        kinds.push(many);
        for kind in &mut kinds {
            kind["properties"]["signer"] = signer.clone();
            kind["properties"]["salt"] = salt.clone();
        }
        json_schema!({ "type": "object", "oneOf": kinds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_the_bus_has_a_schema() {
        let schemas = ActionBody::kinds(&mut SchemaGenerator::default());
        let described = |kind: &str| {
            schemas.iter().any(|schema| {
                let action_type = &schema["properties"]["action_type"];
                let of_several = action_type["enum"].as_array();
                action_type["const"] == kind
                    || of_several.is_some_and(|kinds| kinds.iter().any(|one| one == kind))
                    || (kind == "emit" && action_type["pattern"].is_string())
            })
        };
        for kind in Kind::BUILT_IN.iter().filter(|kind| kind.is_bus()) {
            assert!(described(kind.text()), "{}", kind.text());
        }
    }
}
