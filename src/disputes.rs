//! Disputes: evidence is checked against what this server knows of its log, and a fault that it shows
//! is recorded in the log, by the operator.

mod trust;

use kedge_actors::Published;
use kedge_machine::dispute::{DisputeKind, FaultVerdict};
use kedge_protocol::Id;
use kedge_protocol::action::Kind;
use kedge_protocol::evidence::{EvidenceFile, Verdict};
use kedge_protocol::resource::Dispute;
use serde_json::value::RawValue;
use tokio::sync::Mutex;

use crate::app::App;
use crate::error::{ApiError, Code};

/// How long a caller waits where this server has no key to record a verdict with, seconds.
const NO_KEY_RETRY_S: u64 = 3_600;

/// Records verdicts, one at a time: the same evidence is recorded once.
#[derive(Default)]
pub struct Recorder {
    turn: Mutex<()>,
}

/// A dispute, and whether it was recorded just now.
pub struct Recorded {
    /// The dispute.
    pub dispute: Dispute,
    /// It was not there before.
    pub is_new: bool,
}

/// What the evidence shows; 422 where it shows nothing.
pub fn check(app: &App, published: &Published, file: &EvidenceFile) -> Result<Verdict, ApiError> {
    let trust = trust::of(app, published, &file.evidence)?;
    file.check(&trust).map_err(|refusal| {
        let beside = trust::beside(app, &refusal);
        let message = format!("the evidence shows no fault: {refusal}{beside}");
        ApiError::new(Code::StateViolation, message)
    })
}

impl Recorder {
    /// Records what evidence shows, brought by an organization; or finds what was recorded of it.
    pub async fn record(
        &self,
        app: &App,
        organization_id: Id,
        file: &EvidenceFile,
        verdict: Verdict,
    ) -> Result<Recorded, ApiError> {
        let evidence = file.normal_form();
        let evidence = evidence.map_err(|error| ApiError::internal(&error))?;
        let digest = EvidenceFile::digest_of(&evidence);
        let find = || {
            let published = app.published();
            published
                .snapshot
                .dispute_of_evidence(organization_id, &digest)
        };
        let _turn = self.turn.lock().await;
        if let Some(dispute) = find()? {
            return Ok(Recorded {
                dispute,
                is_new: false,
            });
        }
        let Some(operator) = &app.operator else {
            let message = "the evidence shows the fault, but this server has no operator's key to record that with";
            return Err(ApiError::unavailable(message, NO_KEY_RETRY_S));
        };
        let payload = FaultVerdict {
            kind: DisputeKind::Fault,
            fault: verdict.fault,
            batch: verdict.batch,
            evidence: RawValue::from_string(evidence)
                .map_err(|error| ApiError::internal(&error))?,
        };
        let payload =
            serde_json::to_string(&payload).map_err(|error| ApiError::internal(&error))?;
        let (kind, subject) = (Kind::SystemVerdict, file.evidence.subject());
        operator
            .act(app, organization_id, kind, subject, &payload)
            .await?;
        tracing::error!(
            fault = verdict.fault.text(),
            batch = verdict.batch,
            "a fault of this log's sequencer was proven"
        );
        let missing = || ApiError::internal(&"a verdict that was committed is missing");
        Ok(Recorded {
            dispute: find()?.ok_or_else(missing)?,
            is_new: true,
        })
    }
}
