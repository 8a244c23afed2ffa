//! Bodies of the action bus.

#![expect(
    dead_code,
    reason = "the rules read bodies from the signed text; these types describe them"
)]

use std::borrow::Cow;

use kedge_http::scalars::{AddressInput, ObjectId, TemplateId, VariationId};
use kedge_protocol::action::Kind;
use kedge_protocol::limits::BATCH_ACTIONS_MAX;
use kedge_protocol::registry::{ActionSubject, ObjectChange};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::api::document::component::component;
use crate::api::objects::bodies::{ObjectPatch, PropertiesBody, RecipientInput, TransferBody};

/// Pattern of the bus's kinds: the built-in ones, and a template's own.
pub(in crate::api) struct BusKind;

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

/// `x.`, and at most 64 bytes in all.
const CUSTOM_KIND: &str = r"x\.[A-Za-z0-9._-]{1,62}";

/// What a mint makes.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "MintPayload")]
struct MintObjectPayload {
    /// One of the template's variations.
    variation_id: Option<VariationId>,
    /// Merged over the properties of template and variation.
    properties: Option<PropertiesBody>,
    /// The new object's owner; the signer's wallet if absent.
    to: Option<RecipientInput>,
}

/// Nothing.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct NoPayload {}

/// Attributes to set.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct SetAttributesPayload {
    /// Their names and values.
    attributes: PropertiesBody,
}

/// Attributes to delete.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct DeleteAttributesPayload {
    /// Their names.
    attributes: Vec<String>,
}

/// Form of a change of objects: the prefix of its component's name.
fn form_of(change: ObjectChange) -> &'static str {
    match change {
        ObjectChange::Update => "Update",
        ObjectChange::Transfer => "Transfer",
        ObjectChange::Lock | ObjectChange::Unlock | ObjectChange::Burn => "Status",
        ObjectChange::SetAttributes => "SetAttributes",
        ObjectChange::DeleteAttributes => "DeleteAttributes",
        ObjectChange::State => CUSTOM,
    }
}

/// Form of a template's own kinds, and of the built-in ones that change only the version.
const CUSTOM: &str = "Custom";

/// The built-in kinds of a form, in the order of their numbers.
fn kinds_of(form: &str) -> Vec<&'static str> {
    let kinds = Kind::BUILT_IN.iter().filter(|kind| kind.is_bus());
    let of_form = kinds.filter(|kind| match kind.spec().acts_on {
        ActionSubject::Object(change) => form_of(change) == form,
        ActionSubject::New(_) | ActionSubject::Resource(_) => form == MINT,
    });
    of_form.map(Kind::text).collect()
}

/// Form of mints.
const MINT: &str = "Mint";

/// Kinds of actions with the same schema.
struct BusActionForm {
    /// Prefix of the component's name.
    name: &'static str,
    kind: Value,
    /// Name and schema of the target's member.
    target: (&'static str, Schema),
    payload: Schema,
    optional: bool,
}

impl BusActionForm {
    /// All forms; each action of the bus has exactly one.
    fn all(generator: &mut SchemaGenerator) -> [Self; 7] {
        let object_id = generator.subschema_for::<ObjectId>();
        let template_id = generator.subschema_for::<TemplateId>();
        let kinds = |form| match (kinds_of(form), form) {
            (kinds, CUSTOM) => {
                let pattern = format!("^({}|{CUSTOM_KIND})$", kinds.join("|"));
                json!({ "type": "string", "pattern": pattern })
            }
            (kinds, _) => json!({ "type": "string", "enum": kinds }),
        };
        let on_object = |name, payload, optional| Self {
            name,
            kind: kinds(name),
            target: ("object_id", object_id.clone()),
            payload,
            optional,
        };
        let mint = Self {
            target: ("template_id", template_id),
            ..on_object(MINT, generator.subschema_for::<MintObjectPayload>(), true)
        };
        let update = generator.subschema_for::<ObjectPatch>();
        let transfer = generator.subschema_for::<TransferBody>();
        let nothing = generator.subschema_for::<NoPayload>();
        let set = generator.subschema_for::<SetAttributesPayload>();
        let delete = generator.subschema_for::<DeleteAttributesPayload>();
        let anything = json_schema!({ "description": "Any JSON value, kept as it is." });
        [
            mint,
            on_object("Update", update, true),
            on_object("Transfer", transfer, false),
            on_object("Status", nothing, true),
            on_object("SetAttributes", set, false),
            on_object("DeleteAttributes", delete, false),
            on_object(CUSTOM, anything, true),
        ]
    }

    /// The schema of an action, with further members.
    fn schema(&self, more: &[(&'static str, Value)]) -> Schema {
        let (target, id) = &self.target;
        let mut schema = json_schema!({
            "type": "object",
            "additionalProperties": false,
            "properties": { "action_type": self.kind, (*target): id, "payload": self.payload },
            "required": ["action_type", target],
        });
        let members = schema.ensure_object();
        for (name, member) in more {
            members["properties"][name] = member.clone();
        }
        if !self.optional
            && let Some(required) = members["required"].as_array_mut()
        {
            required.push(json!("payload"));
        }
        schema
    }
}

/// An action of the bus. Each kind has its own payload.
pub struct ActionBody;

impl JsonSchema for ActionBody {
    fn schema_name() -> Cow<'static, str> {
        "ActionBody".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let kinds = BusActionForm::all(generator);
        let kinds = kinds
            .map(|form| component(generator, &format!("{}Action", form.name), form.schema(&[])));
        json_schema!({ "oneOf": kinds })
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

/// An action as the bus accepts it, or several in `actions`; and the assumed signer.
pub struct PreviewRequest;

impl JsonSchema for PreviewRequest {
    fn schema_name() -> Cow<'static, str> {
        "PreviewRequest".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
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
        let actions = json_schema!({
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
                "signer": signer,
                "salt": salt,
            },
            "required": ["actions"],
        });
        let more = [("signer", signer), ("salt", salt)];
        let mut kinds: Vec<Schema> = Vec::new();
        for form in BusActionForm::all(generator) {
            let name = format!("Preview{}", form.name);
            kinds.push(component(generator, &name, form.schema(&more)));
        }
        kinds.push(component(generator, "PreviewActions", actions));
        json_schema!({ "oneOf": kinds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_the_bus_has_a_schema() {
        let forms = BusActionForm::all(&mut SchemaGenerator::default());
        let described: Vec<&str> = forms.iter().flat_map(|form| kinds_of(form.name)).collect();
        for kind in Kind::BUILT_IN.iter().filter(|kind| kind.is_bus()) {
            assert!(described.contains(&kind.text()), "{}", kind.text());
        }
        assert_eq!(kinds_of("Status"), ["lock", "unlock", "burn"]);
        assert_eq!(kinds_of(CUSTOM), ["emit"]);
    }
}
