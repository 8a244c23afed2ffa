//! Actions, and the answers of the bus.

use std::borrow::Cow;

use kedge_http::scalars::{AddressText, DecimalText, HashText, RawJson, ResourceIdText, TimeText};
use kedge_protocol::receipt::{BatchReceipt, Receipt};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::api::document::error_schema as schema;

/// A payload: JSON as it was sent, or the text of a digest.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Payload")]
pub enum PayloadView<'a> {
    /// The JSON value as it was sent.
    Json(RawJson<'a>),
    /// `sha-256=:…:` for a body that holds a secret or for a file; empty if there was no body.
    Digest(Cow<'a, str>),
}

impl<'a> PayloadView<'a> {
    /// The payload with this text. No JSON value begins like a digest, and a request without a body has no payload at
    /// all.
    pub fn of(text: Cow<'a, str>) -> Self {
        if text.is_empty() || text.starts_with("sha-256=:") {
            Self::Digest(text)
        } else {
            Self::Json(RawJson(text))
        }
    }
}

/// An action.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ActionView<'a> {
    /// Its id.
    pub id: ResourceIdText,
    /// Its position in the log.
    pub sequence: u64,
    /// Its kind.
    pub action_type: Cow<'a, str>,
    /// The object that it acted on or made.
    pub object_id: Option<ResourceIdText>,
    /// The target, as signed.
    pub target: Cow<'a, str>,
    /// The resource that it acted on, or made first.
    pub resource_id: ResourceIdText,
    /// The payload, as signed.
    pub payload: PayloadView<'a>,
    /// The signing address.
    pub signer: AddressText,
    /// The request's nonce.
    pub nonce: DecimalText,
    /// Always `committed`: the log contains nothing else.
    pub status: &'static str,
    /// When it was placed.
    pub timestamp: TimeText,
    /// Its leaf.
    pub leaf: HashText,
    /// The log's head after it.
    pub head: HashText,
    /// Its batch.
    pub batch_id: ResourceIdText,
    /// That batch's number.
    pub batch_number: u64,
    /// Its index among the batch's leaves.
    pub leaf_index: u32,
    /// The resource's version after it.
    pub object_version: u64,
    /// Its content.
    pub content: HashText,
    /// The resource's integrity before it.
    pub previous_integrity: HashText,
    /// Proof that the log holds it; not in lists and answers to batches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
}

/// What `Prefer: return=minimal` keeps of a done action: what its sender cannot compute.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MinimalAction {
    /// Its position in the log.
    pub sequence: u64,
    /// Its index among the batch's leaves.
    pub leaf_index: u32,
    /// The resource's version after it.
    pub object_version: u64,
}

/// A refused action of a batch.
#[derive(Serialize, JsonSchema)]
pub struct RefusedAction<'a> {
    /// The reason.
    #[schemars(with = "schema::ErrorView")]
    pub error: Cow<'a, RawValue>,
}

/// The outcome of one action of a batch.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum BatchResult<'a> {
    /// Done.
    Done(Box<ActionView<'a>>),
    /// Done; the sender asked for a minimal answer.
    Minimal(MinimalAction),
    /// Refused.
    Refused(RefusedAction<'a>),
}

/// The answer to a batch.
#[derive(Serialize, JsonSchema)]
pub struct BatchAnswer<'a> {
    /// One result for each action, in request order.
    pub results: Vec<BatchResult<'a>>,
    /// Proof for all actions that were done; null if none was.
    pub receipt: Option<BatchReceipt>,
}

/// The actions of an object.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HistoryPage {
    /// The actions, newest first.
    pub items: Vec<ActionView<'static>>,
    /// Pass it to get the next page; null on the last one.
    pub cursor: Option<String>,
    /// True when more records follow.
    pub has_more: bool,
    /// Actions with a lower version are no longer in this list; the log keeps them. Null if there
    /// are none.
    pub pruned_before: Option<u64>,
}

/// An action of a batch, for a caller that may not see it in full.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ForeignAction {
    /// Its position in the log.
    pub sequence: u64,
    /// Its index among the batch's leaves.
    pub leaf_index: u32,
    /// Its leaf.
    pub leaf: HashText,
}

/// An action of a batch.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum BatchAction {
    /// The caller's organization's.
    Own(Box<ActionView<'static>>),
    /// Another's.
    Foreign(ForeignAction),
}
