//! Actions, and the answers of the bus.

use std::borrow::Cow;

use kedge_actors::api::{Done, Placement, Submission, SubmittedAction};
use kedge_protocol::eip712::Domain;
use kedge_protocol::receipt::{BatchReceipt, RECEIPT_VERSION, Receipt, ReceiptAction, ReceiptLeaf};
use kedge_protocol::{Hash, Id, Prefix};
use kedge_storage::PlacedAction;
use schemars::JsonSchema;
use serde::Serialize;

use super::scalars::{AddressText, Decimal, HashText, IdText, Raw, Time};
use super::schema;
use crate::envelope::Envelope;

/// A payload: JSON as it was sent, or the text of a digest.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Payload<'a> {
    /// The JSON value as it was sent.
    Json(Raw<'a>),
    /// `sha-256=:…:` for a body that holds a secret or for a file; empty if there was no body.
    Digest(Cow<'a, str>),
}

impl<'a> Payload<'a> {
    /// No JSON value begins like a digest, and a request without a body has no payload at all.
    fn of(text: Cow<'a, str>) -> Self {
        if text.is_empty() || text.starts_with("sha-256=:") {
            Self::Digest(text)
        } else {
            Self::Json(Raw(text))
        }
    }
}

/// An action.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ActionView<'a> {
    /// Its id.
    pub id: IdText,
    /// Its position in the log.
    pub sequence: u64,
    /// Its kind.
    pub action_type: Cow<'a, str>,
    /// The object that it acted on or made.
    pub object_id: Option<IdText>,
    /// The target, as signed.
    pub target: Cow<'a, str>,
    /// The resource that it acted on, or made first.
    pub resource_id: IdText,
    /// The payload, as signed.
    pub payload: Payload<'a>,
    /// The signing address.
    pub signer: AddressText,
    /// The request's nonce.
    pub nonce: Decimal,
    /// Always `committed`: the log contains nothing else.
    pub status: &'static str,
    /// When it was placed.
    pub timestamp: Time,
    /// Its leaf.
    pub leaf: HashText,
    /// The log's head after it.
    pub head: HashText,
    /// Its batch.
    pub batch_id: IdText,
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
    #[schemars(with = "Option<schema::Receipt>")]
    pub receipt: Option<Receipt>,
}

/// A done action together with its place in the log.
#[derive(Clone, Copy)]
pub struct Position<'a> {
    /// The action as it was submitted.
    pub action: &'a SubmittedAction,
    /// Its outcome.
    pub done: &'a Done,
    /// The batch and the position in it.
    pub placement: &'a Placement,
}

impl Position<'_> {
    /// Its index among the batch's leaves.
    pub fn leaf_index(&self) -> u32 {
        self.placement.first_leaf_index
            + (self.done.sequence - self.placement.first_sequence) as u32
    }

    /// The action's id.
    pub fn id(&self) -> Id {
        Id::of_hash(Prefix::Action, &self.action.content)
    }

    /// Its receipt.
    pub fn receipt(&self, domain: &Domain) -> Receipt {
        let leaf_index = self.leaf_index();
        Receipt {
            version: RECEIPT_VERSION,
            domain: *domain,
            leaf: ReceiptLeaf {
                sequence: self.done.sequence,
                timestamp_ms: self.placement.timestamp_ms,
                content: self.action.content,
                previous_integrity: self.done.previous_integrity,
                integrity: self.done.integrity,
            },
            leaf_index,
            path: self.placement.path(leaf_index),
            batch: self.placement.batch.signed,
        }
    }

    /// Its line in the receipt of many actions.
    pub fn receipt_action(&self, index: usize) -> ReceiptAction {
        ReceiptAction {
            index: index as u32,
            sequence: self.done.sequence,
            timestamp_ms: self.placement.timestamp_ms,
            leaf_index: self.leaf_index(),
            previous_integrity: self.done.previous_integrity,
        }
    }

    /// The action in full.
    pub fn view<'a>(&self, submission: &'a Submission) -> ActionView<'a>
    where
        Self: 'a,
    {
        let kind = &self.action.kind;
        ActionView {
            id: IdText(self.id()),
            sequence: self.done.sequence,
            action_type: kind.text().to_owned().into(),
            object_id: object_id(self.done.resource),
            target: submission.text(&self.action.target).into(),
            resource_id: IdText(self.done.resource),
            payload: Payload::of(submission.text(&self.action.payload).into()),
            signer: AddressText(submission.head.signer),
            nonce: Decimal(submission.head.nonce),
            status: COMMITTED,
            timestamp: Time(self.placement.timestamp_ms),
            leaf: HashText(self.done.leaf),
            head: HashText(self.done.head),
            batch_id: IdText(self.placement.batch.id),
            batch_number: self.placement.batch.signed.header.number,
            leaf_index: self.leaf_index(),
            object_version: self.done.version,
            content: HashText(self.action.content),
            previous_integrity: HashText(self.done.previous_integrity),
            receipt: None,
        }
    }
}

const COMMITTED: &str = "committed";

fn object_id(resource: Id) -> Option<IdText> {
    (resource.prefix == Prefix::Object).then_some(IdText(resource))
}

impl ActionView<'static> {
    /// An action from the log; `head` is the log's head after it.
    pub fn of_log(placed: PlacedAction, batch_id: Id, head: Hash) -> Self {
        let leaf = placed.leaf();
        let action = placed.action;
        Self {
            id: IdText(Id::of_hash(Prefix::Action, &leaf.content)),
            sequence: placed.sequence,
            action_type: action.kind.text().to_owned().into(),
            object_id: object_id(action.resource),
            target: action.target.into_owned().into(),
            resource_id: IdText(action.resource),
            payload: Payload::of(action.payload.into_owned().into()),
            signer: AddressText(placed.head.signer),
            nonce: Decimal(placed.head.nonce),
            status: COMMITTED,
            timestamp: Time(placed.timestamp_ms),
            leaf: HashText(leaf.hash()),
            head: HashText(head),
            batch_id: IdText(batch_id),
            batch_number: placed.batch_number,
            leaf_index: placed.leaf_index,
            object_version: action.version,
            content: HashText(leaf.content),
            previous_integrity: HashText(action.previous_integrity),
            receipt: None,
        }
    }
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
    #[schemars(with = "schema::Error")]
    pub error: ErrorText<'a>,
}

/// An error in the envelope: new, or as stored.
#[derive(Serialize)]
#[serde(untagged)]
pub enum ErrorText<'a> {
    /// New.
    Now(Envelope<'a>),
    /// As it was first returned.
    Kept(&'a serde_json::value::RawValue),
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
    #[schemars(with = "Option<schema::BatchReceipt>")]
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
