//! Disputes.

use kedge_machine::dispute::{DisputeKind, FaultVerdict};
use kedge_protocol::evidence::Fault;
use kedge_protocol::resource::Dispute;
use schemars::JsonSchema;
use serde::Serialize;

use super::scalars::{HashText, IdText, RawObject, Time};
use crate::error::ApiError;

/// What is disputed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DisputeKindText {
    /// A fault of the sequencer.
    Fault,
}

impl From<DisputeKind> for DisputeKindText {
    fn from(kind: DisputeKind) -> Self {
        match kind {
            DisputeKind::Fault => Self::Fault,
        }
    }
}

/// A dispute that was decided.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DisputeView {
    /// Its id.
    pub id: IdText,
    /// The organization that brought it.
    pub organization_id: IdText,
    /// What is disputed.
    pub kind: DisputeKindText,
    /// The fault that was proven.
    pub fault: Fault,
    /// What it is about: a batch by its header, or an anchor by its checkpoint. The log need not hold
    /// it: that may be the fault.
    pub subject_id: IdText,
    /// The number of that batch, or of the checkpoint's last one.
    pub batch: u64,
    /// SHA-256 of the evidence in its normal form.
    pub evidence_digest: HashText,
    /// The evidence file, in its normal form; not in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<RawObject<'static>>,
    /// When the verdict was recorded.
    pub created_at: Time,
    /// How many actions made it what it is.
    pub version: u64,
    /// The hash over those actions.
    pub integrity_hash: HashText,
    /// The sequence of the verdict's action.
    pub sequence: u64,
}

impl DisputeView {
    /// A dispute with its evidence.
    pub fn whole(dispute: &Dispute) -> Result<Self, ApiError> {
        let verdict: FaultVerdict =
            serde_json::from_str(&dispute.verdict).map_err(|error| ApiError::internal(&error))?;
        let trace = &dispute.trace;
        Ok(Self {
            id: IdText(dispute.id),
            organization_id: IdText(dispute.organization_id),
            kind: verdict.kind.into(),
            fault: verdict.fault,
            subject_id: IdText(dispute.subject_id),
            batch: verdict.batch,
            evidence_digest: HashText(dispute.evidence_digest),
            evidence: Some(verdict.evidence.get().to_owned().into()),
            created_at: Time(trace.created_at_ms),
            version: trace.version,
            integrity_hash: HashText(trace.integrity),
            sequence: trace.sequence,
        })
    }

    /// A dispute as it stands in a list.
    pub fn listed(dispute: &Dispute) -> Result<Self, ApiError> {
        Ok(Self {
            evidence: None,
            ..Self::whole(dispute)?
        })
    }
}
