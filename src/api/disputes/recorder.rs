//! Disputes: evidence is checked against this server's knowledge of its log (`kedge_http::trust`). Proven faults and
//! valid claims become the action `system.verdict`, signed by the operator, with the evidence or claim in its payload.
//! The rules (`crates/rules/src/resources/dispute.rs`) make a dispute of it. Verdicts are recorded one at a time.

use std::sync::Arc;

use hyper::StatusCode;
use kedge_actors::{Engine, PublishedState};
use kedge_http::claims::VerifiedClaim;
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::idempotency::answer::{IdempotentAnswer, IdempotentKey};
use kedge_http::operator::OperatorKey;
use kedge_http::trust;
use kedge_protocol::Code;
use kedge_protocol::Id;
use kedge_protocol::action::Kind;
use kedge_protocol::claim::ClaimFile;
use kedge_protocol::evidence::{EvidenceFile, EvidenceVerdict};
use kedge_protocol::resource::Dispute;
use kedge_rules::dispute::{ClaimFinding, ClaimVerdict, FaultVerdict, VerdictKind};
use kedge_storage::{RowPage, StoreSnapshot};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::Mutex;

use crate::api::disputes::views::DisputeView;

/// `Retry-After` if this server has no key to record a verdict with.
const NO_KEY_RETRY_S: u64 = 3_600;

/// Records verdicts one at a time, so that the same evidence or context is recorded once.
pub struct DisputeRecorder {
    engine: Engine,
    operator: Option<Arc<OperatorKey>>,
    turn: Mutex<()>,
}

pub struct DisputeRecord {
    pub dispute: Dispute,
    /// It was recorded just now.
    pub is_new: bool,
}

impl DisputeRecord {
    /// The answer to the caller that submitted it.
    pub fn answer(&self) -> ApiResult<IdempotentAnswer> {
        let view = DisputeView::whole(&self.dispute).map_err(|error| ApiError::internal(&error))?;
        let status = if self.is_new {
            StatusCode::CREATED
        } else {
            StatusCode::OK
        };
        let location = format!("/disputes/{}", self.dispute.id);
        IdempotentAnswer::new(status, Some(location), &view)
            .map_err(|error| ApiError::internal(&error))
    }

    /// A dispute that is in the log already. Stores the answer, because nothing else is written.
    pub async fn known(
        dispute: Dispute,
        engine: &Engine,
        kept: Option<IdempotentKey>,
    ) -> ApiResult<Self> {
        let recorded = Self {
            dispute,
            is_new: false,
        };
        if let Some(kept) = kept {
            engine.side_write(kept.write(&recorded.answer()?)).await?;
        }
        Ok(recorded)
    }
}

/// The answer for an organization that recorded a verdict at this sequence. It uses the dispute's row alone: the
/// verdict's action may be archived.
pub fn answer_at(
    snapshot: &StoreSnapshot,
    organization_id: Id,
    sequence: u64,
) -> ApiResult<IdempotentAnswer> {
    let page = RowPage {
        after: sequence.checked_sub(1),
        descending: false,
        limit: 1,
    };
    let mut disputes = snapshot.listed(organization_id, page)?.into_iter();
    let dispute = disputes.find(|dispute: &Dispute| dispute.trace.created_sequence == sequence);
    let missing = || ApiError::internal(&"a verdict that was committed is missing");
    let recorded = DisputeRecord {
        dispute: dispute.ok_or_else(missing)?,
        is_new: true,
    };
    recorded.answer()
}

/// The verdict on evidence; 422 if it proves nothing.
pub fn check(
    engine: &Engine,
    published: &PublishedState,
    file: &EvidenceFile,
) -> ApiResult<EvidenceVerdict> {
    let trust = trust::of(engine, published, &file.evidence)?;
    file.check(&trust).map_err(|refusal| {
        let remark = trust::remark(engine, &refusal);
        let message = format!("the evidence shows no fault: {refusal}{remark}");
        ApiError::new(Code::StateViolation, message)
    })
}

/// The dispute of a claim submitted before; 409 if another claim has its context.
pub fn of_claim(
    snapshot: &StoreSnapshot,
    organization_id: Id,
    file: &ClaimFile,
) -> ApiResult<Option<Dispute>> {
    let context = file.statement().context;
    let Some(dispute) = snapshot.dispute_of_claim(&context)? else {
        return Ok(None);
    };
    let recorded: ClaimVerdict = read(&dispute.verdict)?;
    let is_same = dispute.organization_id == organization_id
        && recorded.claim.get() == normal_form(file.normal_form())?;
    if is_same {
        return Ok(Some(dispute));
    }
    let message = "the log already holds a verdict on another claim with this context, and accepts \
                   each context once: prove the claim for another purpose";
    Err(ApiError::new(Code::Conflict, message))
}

impl DisputeRecorder {
    /// Records in this engine's log, signed by the operator.
    pub fn new(engine: Engine, operator: Option<Arc<OperatorKey>>) -> Self {
        Self {
            engine,
            operator,
            turn: Mutex::new(()),
        }
    }

    /// Records a fault proven by an organization's evidence, or finds its record.
    pub async fn fault(
        &self,
        organization_id: Id,
        file: &EvidenceFile,
        verdict: EvidenceVerdict,
        kept: Option<IdempotentKey>,
    ) -> ApiResult<DisputeRecord> {
        let evidence = normal_form(file.normal_form())?;
        let digest = EvidenceFile::digest_of(&evidence);
        let find =
            |snapshot: &StoreSnapshot| Ok(snapshot.dispute_of_evidence(organization_id, &digest)?);
        let payload = FaultVerdict {
            kind: VerdictKind::Fault,
            fault: verdict.fault,
            batch: verdict.batch,
            evidence: raw(evidence)?,
        };
        let subject = file.evidence.subject();
        let recorded = self.once(organization_id, find, subject, &payload, kept);
        let recorded = recorded.await?;
        if recorded.is_new {
            tracing::error!(
                fault = verdict.fault.text(),
                batch = verdict.batch,
                "a fault of this log's sequencer was proven"
            );
        }
        Ok(recorded)
    }

    /// Records a valid claim submitted by its claimant's organization, or finds its record.
    pub async fn claim(
        &self,
        organization_id: Id,
        claim: &VerifiedClaim,
        kept: Option<IdempotentKey>,
    ) -> ApiResult<DisputeRecord> {
        let find = |snapshot: &StoreSnapshot| of_claim(snapshot, organization_id, &claim.file);
        let payload = ClaimVerdict {
            kind: VerdictKind::Claim,
            shown: ClaimFinding::Inclusion,
            claim: raw(normal_form(claim.file.normal_form())?)?,
        };
        let subject = claim.file.subject();
        let recorded = self.once(organization_id, find, subject, &payload, kept);
        let recorded = recorded.await?;
        if recorded.is_new {
            tracing::info!(action = %subject, context = %claim.shown.context, "a claim was accepted");
        }
        Ok(recorded)
    }

    async fn once<P: Serialize>(
        &self,
        organization_id: Id,
        find: impl Fn(&StoreSnapshot) -> ApiResult<Option<Dispute>>,
        subject: Id,
        payload: &P,
        kept: Option<IdempotentKey>,
    ) -> ApiResult<DisputeRecord> {
        let payload = serde_json::to_string(payload).map_err(|error| ApiError::internal(&error))?;
        let _turn = self.turn.lock().await;
        if let Some(dispute) = find(&self.engine.published().snapshot)? {
            return DisputeRecord::known(dispute, &self.engine, kept).await;
        }
        let Some(operator) = &self.operator else {
            let message = "the evidence or claim holds, but this server has no operator's key to record the verdict with";
            return Err(ApiError::unavailable(message, NO_KEY_RETRY_S));
        };
        let keep = kept.map(IdempotentKey::into_keep);
        let kind = Kind::SystemVerdict;
        operator
            .act(organization_id, kind, subject, &payload, keep)
            .await?;
        let missing = || ApiError::internal(&"a verdict that was committed is missing");
        Ok(DisputeRecord {
            dispute: find(&self.engine.published().snapshot)?.ok_or_else(missing)?,
            is_new: true,
        })
    }
}

fn normal_form(written: Result<String, serde_json::Error>) -> ApiResult<String> {
    written.map_err(|error| ApiError::internal(&error))
}

fn raw(text: String) -> ApiResult<Box<RawValue>> {
    RawValue::from_string(text).map_err(|error| ApiError::internal(&error))
}

/// Parses a verdict from the log.
fn read<'a, T: serde::Deserialize<'a>>(verdict: &'a str) -> ApiResult<T> {
    serde_json::from_str(verdict).map_err(|error| ApiError::internal(&error))
}
