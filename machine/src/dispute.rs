//! Disputes: verdicts on evidence, as the log holds them. The evidence is part of the verdict, so
//! that everybody can come to it again.

use kedge_protocol::evidence::{EvidenceFile, Fault};
use kedge_protocol::resource::{Dispute, Trace};
use kedge_protocol::{Id, Prefix};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::refusal::Refusal;
use crate::text;
use crate::world::{Caller, Input};

/// What is disputed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DisputeKind {
    /// A fault of the sequencer.
    Fault,
}

/// The payload of a verdict: that evidence shows a fault.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultVerdict {
    /// What is disputed.
    pub kind: DisputeKind,
    /// The fault.
    pub fault: Fault,
    /// The number of the batch that it is about.
    pub batch: u64,
    /// The evidence file, in its normal form.
    pub evidence: Box<RawValue>,
}

/// A verdict in the log. Whether the evidence shows the fault depends on what the contracts tell, so
/// that is the operator's word; what is checked here is that the verdict is about this evidence.
pub fn decided(caller: &Caller, input: &Input<'_>) -> Result<Dispute, Refusal> {
    let verdict: FaultVerdict = text::read(input.payload)?;
    let evidence = verdict.evidence.get();
    let refused = |message: String| Refusal::field("/evidence", "format", message);
    let file = EvidenceFile::parse(evidence).map_err(|error| refused(error.to_string()))?;
    let normal = file.normal_form();
    if normal.map_err(|error| refused(error.to_string()))? != evidence {
        return Err(refused(
            "must be in the normal form of evidence files".into(),
        ));
    }
    if file.evidence.fault() != verdict.fault {
        let message = "must be the fault that the evidence names";
        return Err(Refusal::field("/fault", "range", message));
    }
    let subject_id = file.evidence.subject();
    if subject_id.to_string() != input.target {
        return Err(Refusal::not_found("subject", input.target));
    }
    Ok(Dispute {
        id: Id::made_by(Prefix::Dispute, input.content, 0),
        organization_id: caller.organization_id,
        subject_id,
        evidence_digest: EvidenceFile::digest_of(evidence),
        verdict: input.payload.to_owned(),
        trace: Trace::NEW.next(input.content),
    })
}
