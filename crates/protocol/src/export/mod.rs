//! The export of a log: lines of JSON for an independent replay. `docs/PROTOCOL.md` describes them; [`ExportChecker`] checks
//! them.

mod check;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::action::{Kind, RequestHead};
use crate::batch::SignedBatch;
use crate::checkpoint::SignedCheckpoint;
use crate::eip712::Domain;
use crate::proof::decimal;
use crate::record::{ActionRecord, FailedAction, RequestRecord};
use crate::signature::Signature;
use crate::{Address, Hash, Id, SequencerKeys};

pub use check::{ExportChecker, ExportError, ExportLineKind, ExportSummary};

/// Version of the export format.
pub const EXPORT_VERSION: u32 = 1;

/// A line of an export.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ExportLine {
    /// The first line: the log's identity, and the start of the export.
    Log(LogLine),
    /// A batch with all its leaves.
    Batch(BatchLine),
    /// A request of the caller's organization, after its batch.
    Request(Box<RequestLine>),
    /// The last line: the signed head.
    Checkpoint(SignedCheckpoint),
}

/// The log of an export, and the start of the export.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogLine {
    /// [`EXPORT_VERSION`].
    pub version: u32,
    /// The log's domain.
    pub domain: Domain,
    /// The signer of the first header. The reader must decide whether to trust it.
    pub sequencer: Address,
    /// Number of the first batch of the export.
    pub from: u64,
    /// Last sequence of the log before that batch.
    pub sequence: u64,
    /// Head of the log before that batch.
    pub head: Hash,
    /// Roots of the complete subtrees of the log tree over the batches before that one, largest first: they give its
    /// `history`.
    pub peaks: Vec<Hash>,
    /// The organization whose requests follow, if any do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization_id: Option<Id>,
    /// All keys of the log, if there was more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequencer_keys: Option<SequencerKeys>,
    /// Addresses that sign for the operator: a replay of the requests needs them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operators: Vec<Address>,
}

/// A batch with all its leaves, as a line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchLine {
    /// The signed header.
    pub batch: SignedBatch,
    /// The hashes of the leaves, in order.
    pub leaves: Vec<Hash>,
}

/// A request, with the preimages of its leaves and its signature.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestLine {
    /// The batch that holds it.
    pub batch_number: u64,
    /// Sequence of the first action that was done; the others follow without a gap.
    pub first_sequence: u64,
    /// Index of that action among the batch's leaves.
    pub first_leaf_index: u32,
    /// When the request was placed, Unix milliseconds.
    pub timestamp_ms: u64,
    /// The organization of the requesting wallet.
    pub organization_id: Id,
    /// The requesting wallet.
    pub wallet_id: Id,
    /// The signer.
    pub signer: Address,
    /// The signer's nonce.
    #[serde(with = "decimal")]
    pub nonce: u64,
    /// The deadline, Unix seconds.
    pub deadline: u64,
    /// Whether the request was all or none.
    pub atomic: bool,
    /// The signature over the request.
    pub signature: Signature,
    /// The seed of the actions' salts.
    pub salt_seed: Hash,
    /// The actions that were done, in order.
    pub actions: Vec<ActionLine>,
    /// The actions that were refused, in order.
    pub failed: Vec<FailedLine>,
}

/// An action that was done.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionLine {
    /// Its index in the request; failed actions count too.
    pub index: u16,
    /// The kind's text.
    pub kind: String,
    /// The target, as signed.
    pub target: String,
    /// The payload's exact text, as signed.
    pub payload: String,
    /// The disclosable members of a body whose digest is the payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disclosed: Option<String>,
    /// The resource that the action changed, or the first one that it made.
    pub resource: Id,
    /// That resource's version after this action.
    pub version: u64,
    /// That resource's integrity before it.
    pub previous_integrity: Hash,
    /// The sequence of the resource's action before it; 0 if there was none.
    pub previous_sequence: u64,
}

/// An action that was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailedLine {
    /// Its index in the request.
    pub index: u16,
    /// Its action hash.
    pub action_hash: Hash,
}

impl From<RequestRecord<'_>> for RequestLine {
    fn from(record: RequestRecord<'_>) -> Self {
        let action = |action: ActionRecord<'_>| ActionLine {
            index: action.index,
            kind: action.kind.text().to_owned(),
            target: action.target.into_owned(),
            payload: action.payload.into_owned(),
            disclosed: action.disclosed.map(Cow::into_owned),
            resource: action.resource,
            version: action.version,
            previous_integrity: action.previous_integrity,
            previous_sequence: action.previous_sequence,
        };
        let failed = |failed: FailedAction| FailedLine {
            index: failed.index,
            action_hash: failed.action_hash,
        };
        Self {
            batch_number: record.batch_number,
            first_sequence: record.first_sequence,
            first_leaf_index: record.first_leaf_index,
            timestamp_ms: record.timestamp_ms,
            organization_id: record.organization_id,
            wallet_id: record.wallet_id,
            signer: record.head.signer,
            nonce: record.head.nonce,
            deadline: record.head.deadline_s,
            atomic: record.head.atomic,
            signature: record.signature,
            salt_seed: record.salt_seed,
            actions: record.actions.into_iter().map(action).collect(),
            failed: record.failed.into_iter().map(failed).collect(),
        }
    }
}

impl RequestLine {
    /// The record; `None` if an action's kind is invalid.
    pub fn into_record(self) -> Option<RequestRecord<'static>> {
        let action = |action: ActionLine| {
            Some(ActionRecord {
                index: action.index,
                kind: Kind::of_text(&action.kind)?,
                target: action.target.into(),
                payload: action.payload.into(),
                disclosed: action.disclosed.map(Cow::Owned),
                resource: action.resource,
                version: action.version,
                previous_integrity: action.previous_integrity,
                previous_sequence: action.previous_sequence,
            })
        };
        let failed = |failed: FailedLine| FailedAction {
            index: failed.index,
            action_hash: failed.action_hash,
        };
        Some(RequestRecord {
            batch_number: self.batch_number,
            first_sequence: self.first_sequence,
            first_leaf_index: self.first_leaf_index,
            timestamp_ms: self.timestamp_ms,
            organization_id: self.organization_id,
            wallet_id: self.wallet_id,
            head: RequestHead {
                signer: self.signer,
                nonce: self.nonce,
                deadline_s: self.deadline,
                atomic: self.atomic,
            },
            signature: self.signature,
            salt_seed: self.salt_seed,
            actions: self
                .actions
                .into_iter()
                .map(action)
                .collect::<Option<_>>()?,
            failed: self.failed.into_iter().map(failed).collect(),
        })
    }
}
