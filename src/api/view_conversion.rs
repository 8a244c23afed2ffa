//! Conversion of engine and store values into the API's views (`views` of each heading).

use kedge_actors::api::{BatchPlacement, CommittedAction, Submission, SubmittedAction};
use kedge_http::scalars::{
    AddressText, DecimalText, HashText, ResourceIdText, SignatureText, TimeText,
};
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::eip712::Domain;
use kedge_protocol::receipt::{RECEIPT_VERSION, Receipt, ReceiptAction, ReceiptLeaf};
use kedge_protocol::{Hash, Id, Prefix};
use kedge_storage::{AnchorProgress, AnchorRow, DeliveryRow, DeliveryStatus, PlacedAction};

use crate::api::bus::views::{ActionView, PayloadView};
use crate::api::log::views::{AnchorStatusView, AnchorView, BatchStatusView, BatchView};
use crate::api::webhooks::views::DeliveryView;

/// Status of every action in the log.
const COMMITTED: &str = "committed";

fn object_id(resource: Id) -> Option<ResourceIdText> {
    (resource.prefix == Prefix::Object).then_some(ResourceIdText(resource))
}

/// A done action with its place in the log.
#[derive(Clone, Copy)]
pub struct ActionPosition<'a> {
    pub action: &'a SubmittedAction,
    pub done: &'a CommittedAction,
    /// Batch, and position in it.
    pub placement: &'a BatchPlacement,
}

impl ActionPosition<'_> {
    /// Index among the batch's leaves.
    pub fn leaf_index(&self) -> u32 {
        self.placement.first_leaf_index
            + (self.done.sequence - self.placement.first_sequence) as u32
    }

    pub fn id(&self) -> Id {
        Id::of_hash(Prefix::Action, &self.action.content)
    }

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

    pub fn view<'a>(&self, submission: &'a Submission) -> ActionView<'a>
    where
        Self: 'a,
    {
        let kind = &self.action.kind;
        ActionView {
            id: ResourceIdText(self.id()),
            sequence: self.done.sequence,
            action_type: kind.text().to_owned().into(),
            object_id: object_id(self.done.resource),
            target: submission.text(&self.action.target).into(),
            resource_id: ResourceIdText(self.done.resource),
            payload: PayloadView::of(submission.text(&self.action.payload).into()),
            signer: AddressText(submission.head.signer),
            nonce: DecimalText(submission.head.nonce),
            status: COMMITTED,
            timestamp: TimeText(self.placement.timestamp_ms),
            leaf: HashText(self.done.leaf),
            head: HashText(self.done.head),
            batch_id: ResourceIdText(self.placement.batch.id),
            batch_number: self.placement.batch.signed.header.number,
            leaf_index: self.leaf_index(),
            object_version: self.done.version,
            content: HashText(self.action.content),
            previous_integrity: HashText(self.done.previous_integrity),
            receipt: None,
        }
    }
}

/// An action from the log; `head` is the log's head after it.
pub fn logged(placed: PlacedAction, batch_id: Id, head: Hash) -> ActionView<'static> {
    let leaf = placed.leaf();
    let action = placed.action;
    ActionView {
        id: ResourceIdText(Id::of_hash(Prefix::Action, &leaf.content)),
        sequence: placed.sequence,
        action_type: action.kind.text().to_owned().into(),
        object_id: object_id(action.resource),
        target: action.target.into_owned().into(),
        resource_id: ResourceIdText(action.resource),
        payload: PayloadView::of(action.payload.into_owned().into()),
        signer: AddressText(placed.head.signer),
        nonce: DecimalText(placed.head.nonce),
        status: COMMITTED,
        timestamp: TimeText(placed.timestamp_ms),
        leaf: HashText(leaf.hash()),
        head: HashText(head),
        batch_id: ResourceIdText(batch_id),
        batch_number: placed.batch_number,
        leaf_index: placed.leaf_index,
        object_version: action.version,
        content: HashText(leaf.content),
        previous_integrity: HashText(action.previous_integrity),
        receipt: None,
    }
}

/// Status of a batch, from the anchor that covers it.
fn batch_status(anchor: Option<&AnchorRow>) -> BatchStatusView {
    match anchor.map(|anchor| anchor.status) {
        None | Some(AnchorProgress::Failed) => BatchStatusView::Sealed,
        Some(AnchorProgress::Pending | AnchorProgress::Submitted) => BatchStatusView::Anchoring,
        Some(AnchorProgress::Confirmed) => BatchStatusView::Anchored,
        Some(AnchorProgress::Finalized) => BatchStatusView::Finalized,
    }
}

/// A batch with the anchor that covers it.
pub fn batch(batch: &SignedBatch, anchor: Option<&AnchorRow>) -> BatchView {
    let header = &batch.header;
    BatchView {
        id: ResourceIdText(batch.id()),
        number: header.number,
        first_sequence: header.first_sequence,
        last_sequence: header.last_sequence(),
        action_count: header.count,
        previous_head: HashText(header.previous_head),
        head: HashText(header.head),
        merkle_root: HashText(header.root),
        history: HashText(header.history),
        state: HashText(header.state),
        sealed_at: TimeText(header.sealed_at_ms),
        sealed_at_ms: header.sealed_at_ms,
        signature: SignatureText(batch.signature),
        status: batch_status(anchor),
        anchor_id: anchor.map(|anchor| ResourceIdText(anchor.id)),
    }
}

pub fn anchor_state(status: AnchorProgress) -> AnchorStatusView {
    match status {
        AnchorProgress::Pending => AnchorStatusView::Pending,
        AnchorProgress::Submitted => AnchorStatusView::Submitted,
        AnchorProgress::Confirmed => AnchorStatusView::Confirmed,
        AnchorProgress::Finalized => AnchorStatusView::Finalized,
        AnchorProgress::Failed => AnchorStatusView::Failed,
    }
}

pub fn anchor(anchor: &AnchorRow) -> AnchorView {
    let checkpoint = &anchor.checkpoint.checkpoint;
    AnchorView {
        id: ResourceIdText(anchor.id),
        number: anchor.number,
        root: HashText(checkpoint.history),
        batches: checkpoint.batches,
        first_batch: anchor.first_batch,
        last_batch: anchor.last_batch(),
        head: HashText(checkpoint.head),
        sequence: checkpoint.sequence,
        state: HashText(checkpoint.state),
        issued_at: TimeText(checkpoint.issued_at_ms),
        issued_at_ms: checkpoint.issued_at_ms,
        signature: SignatureText(anchor.checkpoint.signature),
        status: anchor_state(anchor.status),
        contract: AddressText(anchor.contract),
        proof: anchor.proof.iter().copied().map(HashText).collect(),
        tx_hash: anchor.tx_hashes.last().copied().map(HashText),
        block_number: anchor.block_number,
        attempts: anchor.attempts,
    }
}

pub fn delivery_status(status: DeliveryStatus) -> &'static str {
    match status {
        DeliveryStatus::Pending => "pending",
        DeliveryStatus::Delivered => "delivered",
        DeliveryStatus::Failed => "failed",
    }
}

pub fn delivery(row: DeliveryRow) -> DeliveryView {
    DeliveryView {
        id: ResourceIdText(row.id),
        webhook_id: ResourceIdText(row.webhook_id),
        event_id: ResourceIdText(row.event_id),
        event_type: row.event_type.text().to_owned(),
        object_id: row.object_id.map(ResourceIdText),
        status: delivery_status(row.status),
        attempts: row.attempts,
        response_status: row.response_status,
        error: row.error,
        created_at: TimeText(row.created_at_ms),
        last_attempt_at: row.last_attempt_at_ms.map(TimeText),
        next_attempt_at: row.next_attempt_at_ms.map(TimeText),
    }
}
