//! Schemas of events, which `rules` writes. The API's tests parse every event they see into these types.

#![expect(dead_code, reason = "read by tests alone, described by its schema")]

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

/// An event.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventView {
    /// Its id: the same at every reading, so that duplicates can be recognised.
    id: String,
    /// What happened: `object.created`, `object.updated`, `object.transferred`, `object.locked`,
    /// `object.unlocked`, `object.burned`, `template.created`, `variation.created`,
    /// `wallet.registered`, `file.created`, `action.executed` (any other action), `action.failed`
    /// (refused, not in the log), `batch.sealed`, `batch.anchored` (a block holds the anchor),
    /// `anchor.confirmed` (that block is final: proof files hold the anchor).
    r#type: String,
    /// The log's sequence: the action's own; for a batch its last; for an event outside the log,
    /// the log's last sequence at that time.
    sequence: u64,
    /// Its position among all events; pass it to the stream as `last_event_id`.
    position: String,
    /// When it happened.
    timestamp: String,
    /// The organization that acted; null for batches and anchors.
    organization_id: Option<String>,
    /// The object that it acted on or made.
    object_id: Option<String>,
    /// The action in the log; null if there is none.
    action_id: Option<String>,
    /// Details, by type.
    data: EventData,
}

/// Details of an event.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum EventData {
    /// `action.failed`.
    Failed(FailureEventDetails),
    /// Every event of an action in the log.
    Action(ActionEventDetails),
    /// `batch.sealed`.
    Batch(BatchEventDetails),
    /// `batch.anchored` and `anchor.confirmed`.
    Anchor(AnchorData),
}

/// Details of every event of an action in the log.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ActionData")]
pub struct ActionEventDetails {
    /// The action's kind.
    action_type: String,
    /// The resource that it acted on, or made first.
    resource_id: String,
    /// That resource's version after it.
    version: u64,
    /// The wallet that made the request.
    wallet_id: String,
    /// The signing address.
    signer: String,
    /// The batch that holds it.
    batch_number: u64,
    /// The template of the object, or the template that was made or changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    template_id: Option<String>,
    /// The variation that was made, or that an object was minted from.
    #[serde(skip_serializing_if = "Option::is_none")]
    variation_id: Option<String>,
    /// The object's owner after it: for minted and transferred objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner_id: Option<String>,
    /// The name of a template, variation or file that was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The digest of a file's bytes: `sha-256=:…:`.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    /// The payload as signed, for actions on objects and for new templates, up to 4,096 bytes.
    #[schemars(with = "Option<serde_json::Value>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<serde_json::Value>,
    /// The payload's size if it is larger; the action itself contains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_bytes: Option<u64>,
}

/// Details of a refused action.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "FailedData")]
pub struct FailureEventDetails {
    /// The action's kind.
    action_type: String,
    /// The target, as signed.
    target: String,
    /// Its index in the request.
    index: u32,
    /// How many actions the request held.
    request_actions: u64,
    /// True if the whole request was refused because of it.
    atomic: bool,
    /// hashStruct of the action, which the signature covers.
    action_hash: String,
    /// The error's code, as in the answer.
    code: String,
    /// The error's message, shortened to 300 characters.
    message: String,
    /// The first invalid place of the payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pointer: Option<String>,
}

/// Details of a sealed batch.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "BatchData")]
pub struct BatchEventDetails {
    /// The batch.
    batch_id: String,
    /// Its number.
    number: u64,
    /// The sequence of its first action.
    first_sequence: u64,
    /// The sequence of its last action.
    last_sequence: u64,
    /// How many actions it holds, of all organizations.
    action_count: u32,
    /// The log's head after it.
    head: String,
    /// The root of the tree over its leaves.
    merkle_root: String,
}

/// Details of an anchor.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnchorData {
    /// The anchor.
    anchor_id: String,
    /// Its number.
    number: u64,
    /// The first batch that no earlier anchor covers.
    first_batch: u64,
    /// The last batch that it covers.
    last_batch: Option<u64>,
    /// The last action that it covers.
    last_sequence: u64,
    /// The log's head at that point.
    head: String,
    /// The root of the log tree at that point.
    root: String,
    /// The contract.
    contract: String,
    /// The transaction.
    tx_hash: Option<String>,
    /// The block that holds it.
    block_number: Option<u64>,
    /// The state of the batches: `anchored` or `finalized`.
    status: String,
}

/// A stream of server-sent events.
pub struct EventText;

impl JsonSchema for EventText {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "EventStream".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let event = generator.subschema_for::<EventView>();
        json_schema!({
            "type": "string",
            "description": "Server-sent events. In each, `id` is its position, `event` its type, \
                            `data` an Event. Lines that begin with a colon are heartbeats.",
            "contentMediaType": "text/event-stream",
            "contentSchema": event,
        })
    }
}
