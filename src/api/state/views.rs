//! State proofs, as answers show them.

use std::borrow::Cow;
use std::collections::HashMap;

use kedge_http::scalars::{AddressText, DecimalText, HashText, ResourceIdText};
use kedge_protocol::Id;
use kedge_protocol::checkpoint::SignedCheckpoint;
use kedge_protocol::hash::to_hex;
use kedge_protocol::proof::AnchorProof;
use kedge_protocol::resource::{Object, ObjectStatus, Role, Template, Variation, Who};
use kedge_protocol::state::{StateEntry, StateProof};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::api::listing::ListPage;

/// Bytes in hexadecimal, `0x` for none.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct BytesText(pub String);

impl JsonSchema for BytesText {
    fn schema_name() -> Cow<'static, str> {
        "HexBytes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": "^0x([0-9a-f]{2})*$", "description": "Bytes in hexadecimal, `0x` for none."})
    }
}

impl From<&[u8]> for BytesText {
    fn from(bytes: &[u8]) -> Self {
        Self(to_hex(bytes))
    }
}

/// The members of an entry.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct EntryFieldsView(StateEntry);

impl JsonSchema for EntryFieldsView {
    fn schema_name() -> Cow<'static, str> {
        "StateEntry".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let common = json!({
            "version": {"type": "integer", "minimum": 1, "description": "How many actions have made and changed it."},
            "sequence": {"type": "integer", "minimum": 1, "description": "The last one's sequence."},
            "integrity": {"type": "string", "pattern": "^0x[0-9a-f]{64}$", "description": "The hash over those actions."}
        });
        let mut members = Map::new();
        for part in [
            common,
            references(generator),
            numbers(generator),
            hashes(generator),
        ] {
            members.extend(part.as_object().cloned().unwrap_or_default());
        }
        json_schema!({
            "type": "object",
            "required": ["version", "sequence", "integrity"],
            "properties": members,
            "description": "The entry, read for people: the first three members, and those of the resource's type."
        })
    }
}

/// Members of entries that name something, or say who may do what.
fn references(generator: &mut SchemaGenerator) -> Value {
    let id = generator.subschema_for::<ResourceIdText>();
    let variation = generator.subschema_for::<Option<ResourceIdText>>();
    let address = generator.subschema_for::<AddressText>();
    let keys = generator.subschema_for::<Vec<AddressText>>();
    let status = generator.subschema_for::<ObjectStatus>();
    let role = generator.subschema_for::<Role>();
    json!({
        "organization_id": id,
        "template_id": id,
        "variation_id": variation,
        "owner_id": id,
        "owner_address": address,
        "wallet_id": id,
        "subject_id": id,
        "address": address,
        "keys": keys,
        "status": status,
        "role": role
    })
}

/// Members of entries that count something, or are true or false.
fn numbers(generator: &mut SchemaGenerator) -> Value {
    let number = json!({"type": "integer", "minimum": 0});
    let flag = json!({"type": "boolean"});
    let supply = generator.subschema_for::<Option<DecimalText>>();
    json!({
        "serial": number,
        "index": number,
        "public_access": flag,
        "max_supply": supply,
        "minted_count": number,
        "burned_count": number,
        "variation_count": number,
        "active": flag,
        "deleted": flag,
        "size_bytes": number,
        "from_batch": number
    })
}

/// Members of entries that are hashes of texts and bytes.
fn hashes(generator: &mut SchemaGenerator) -> Value {
    let hash = generator.subschema_for::<HashText>();
    let who = generator.subschema_for::<Who>();
    let rule = json!({
        "type": "object",
        "required": ["kind", "who", "schema_hash"],
        "properties": {"kind": {"type": "string"}, "who": who, "schema_hash": hash}
    });
    json!({
        "properties_hash": hash,
        "schema_hash": hash,
        "name_hash": hash,
        "sha256": hash,
        "rules": {"type": "array", "items": rule}
    })
}

/// Texts whose hashes are in the entry; empty where the resource has none.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "StateTexts")]
pub struct StateTextsView {
    /// The name of a variation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The properties, as JSON text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub properties: Option<String>,
    /// The JSON Schema of a template's objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The JSON Schemas of a template's rules, in their order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<Vec<String>>,
}

/// What a state proof says about one id.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "StateProof")]
pub struct StateProofView {
    /// The id.
    pub key: ResourceIdText,
    /// Whether the log had made it at the checkpoint.
    pub present: bool,
    /// The entry in RLP; its hash is the value in the trie.
    pub entry: BytesText,
    /// The entry, read for people.
    pub fields: Option<EntryFieldsView>,
    /// Texts whose hashes are in the entry.
    pub texts: StateTextsView,
    /// The trie's nodes from the root to where the id's path ends.
    pub nodes: Vec<BytesText>,
    /// The signed checkpoint, whose `state` is the root.
    pub checkpoint: SignedCheckpoint,
    /// The anchor of this very checkpoint; null until the chain has finalized one.
    pub anchor: Option<AnchorProof>,
}

/// What a shared proof says about one id.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SharedStateProof")]
pub struct SharedProofView {
    /// The id.
    pub key: ResourceIdText,
    /// Whether the log had made it at the checkpoint.
    pub present: bool,
    /// The entry in RLP.
    pub entry: BytesText,
    /// The entry, read for people.
    pub fields: Option<EntryFieldsView>,
    /// Texts whose hashes are in the entry.
    pub texts: StateTextsView,
    /// Places of its nodes among the common ones, from 0.
    pub nodes: Vec<u32>,
}

/// The state proofs of a list's items, in their order.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "StateProofs")]
pub struct StateProofsView {
    /// The signed checkpoint, whose `state` is the root.
    pub checkpoint: SignedCheckpoint,
    /// The anchor of this very checkpoint.
    pub anchor: Option<AnchorProof>,
    /// The nodes of all proofs, each once.
    pub nodes: Vec<BytesText>,
    /// One proof an item.
    pub proofs: Vec<SharedProofView>,
}

/// An entry that was proven, with its texts.
#[derive(Debug)]
pub struct AnsweredEntry {
    pub proof: StateProof,
    /// The entry; `None` for absence.
    pub entry: Option<StateEntry>,
    pub texts: StateTextsView,
}

/// A checkpoint, and its anchor once the chain has it.
#[derive(Clone, Debug)]
pub struct ProvenCheckpoint {
    pub signed: SignedCheckpoint,
    pub anchor: Option<AnchorProof>,
}

impl StateProofView {
    pub fn of(proven: AnsweredEntry, checkpoint: ProvenCheckpoint) -> Self {
        let AnsweredEntry {
            proof,
            entry,
            texts,
        } = proven;
        Self {
            key: ResourceIdText(proof.key),
            present: entry.is_some(),
            entry: proof.entry.as_slice().into(),
            fields: entry.map(EntryFieldsView),
            texts,
            nodes: proof
                .nodes
                .iter()
                .map(|node| node.as_slice().into())
                .collect(),
            checkpoint: checkpoint.signed,
            anchor: checkpoint.anchor,
        }
    }
}

impl StateProofsView {
    pub fn of(proven: Vec<AnsweredEntry>, checkpoint: ProvenCheckpoint) -> Self {
        let mut places: HashMap<Vec<u8>, u32> = HashMap::new();
        let mut nodes = Vec::new();
        let proofs = proven.into_iter().map(|proven| {
            let proof = proven.proof;
            let own = proof.nodes.into_iter().map(|node| {
                *places.entry(node).or_insert_with_key(|node| {
                    nodes.push(BytesText::from(node.as_slice()));
                    nodes.len() as u32 - 1
                })
            });
            SharedProofView {
                nodes: own.collect(),
                key: ResourceIdText(proof.key),
                present: proven.entry.is_some(),
                entry: proof.entry.as_slice().into(),
                fields: proven.entry.map(EntryFieldsView),
                texts: proven.texts,
            }
        });
        Self {
            proofs: proofs.collect(),
            nodes,
            checkpoint: checkpoint.signed,
            anchor: checkpoint.anchor,
        }
    }
}

impl StateTextsView {
    /// Whether there are any.
    pub fn are_known(&self) -> bool {
        self.name.is_some() || self.properties.is_some()
    }

    pub fn of_object(object: &Object) -> Self {
        Self {
            properties: Some(object.properties.clone()),
            ..Self::default()
        }
    }

    pub fn of_template(template: &Template) -> Self {
        let rules = template.actions.iter();
        let schemas = rules.map(|rule| rule.schema.clone().unwrap_or_default());
        Self {
            properties: Some(template.properties.clone()),
            schema: Some(template.schema.clone().unwrap_or_default()),
            rules: Some(schemas.collect()),
            name: None,
        }
    }

    pub fn of_variation(variation: &Variation) -> Self {
        Self {
            name: Some(variation.name.clone()),
            properties: Some(variation.properties.clone()),
            ..Self::default()
        }
    }
}

impl AnsweredEntry {
    pub fn key(&self) -> Id {
        self.proof.key
    }
}

/// A page of a list whose items can come with their proofs.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ProvablePageOf{T}")]
pub struct ProvablePage<T> {
    /// The records.
    pub items: Vec<T>,
    /// Pass it to get the next page; null on the last one.
    pub cursor: Option<String>,
    /// True when more records follow.
    pub has_more: bool,
    /// The items' proofs, if they were asked for: one an item, in their order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_proofs: Option<StateProofsView>,
}

impl<T> From<ListPage<T>> for ProvablePage<T> {
    fn from(page: ListPage<T>) -> Self {
        Self {
            items: page.items,
            cursor: page.cursor,
            has_more: page.has_more,
            state_proofs: None,
        }
    }
}
