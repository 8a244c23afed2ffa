//! Disputes: submission of evidence and claims, and reads of verdicts.

use std::sync::Arc;

use kedge_http::auth::rights::READS_ACTIONS;
use kedge_http::body;
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::idempotency::answer::IdempotentKey;
use kedge_http::reply::HttpReply;
use kedge_protocol::Code;
use kedge_protocol::claim::{CLAIM_FORMAT, ClaimFile, ClaimTextError};
use kedge_protocol::evidence::{EVIDENCE_FORMAT, EvidenceFile, EvidenceFileError};
use kedge_protocol::limits::{CLAIM_BYTES_MAX, EVIDENCE_BYTES_MAX};
use kedge_protocol::resource::Dispute;
use kedge_storage::StoreSnapshot;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::api::call::HandlerCall;
use crate::api::disputes::recorder::{DisputeRecord, answer_at, check, of_claim};
use crate::api::disputes::views::DisputeView;
use crate::api::idempotency::unsigned_requests;
use crate::api::idempotency::unsigned_requests::UnsignedStart;
use crate::api::listing::list_own;
use crate::api::row::PRIVATE;

/// Size limit of a submitted file.
const FILE_BYTES_MAX: usize = if CLAIM_BYTES_MAX > EVIDENCE_BYTES_MAX {
    CLAIM_BYTES_MAX
} else {
    EVIDENCE_BYTES_MAX
};

/// The member that names a file's format.
#[derive(Deserialize)]
struct FormatName {
    format: String,
}

/// `POST /disputes`
pub async fn create(call: HandlerCall) -> ApiResult<HttpReply> {
    let text = call.body.text.as_str();
    if text.len() > FILE_BYTES_MAX {
        let message = format!(
            "the file has {} bytes; at most {FILE_BYTES_MAX} are allowed",
            text.len()
        );
        return Err(ApiError::new(Code::PayloadTooLarge, message));
    }
    body::check(text)?;
    let organization_id = call.session()?.organization_id;
    let logged =
        |snapshot: &StoreSnapshot, sequence| answer_at(snapshot, organization_id, sequence);
    let kept = match unsigned_requests::begin_logged(&call, logged)? {
        UnsignedStart::New(kept) => kept,
        UnsignedStart::Before(reply) => return Ok(reply),
    };
    let named: Option<FormatName> = serde_json::from_str(text).ok();
    let recorded = match named {
        Some(FormatName { format }) if format == CLAIM_FORMAT => claim(&call, kept).await?,
        Some(FormatName { format }) if format != EVIDENCE_FORMAT => return Err(other_format()),
        _ => fault(&call, kept).await?,
    };
    recorded.answer()?.reply(call.published().head.sequence)
}

async fn fault(call: &HandlerCall, kept: Option<IdempotentKey>) -> ApiResult<DisputeRecord> {
    let organization_id = call.session()?.organization_id;
    let text = call.body.text.as_str();
    let file = EvidenceFile::parse(text).map_err(|error| no_evidence(text, &error))?;
    let services = Arc::clone(&call.services);
    let (file, verdict) = call
        .services
        .reads
        .read_long(call.holder, move || {
            let verdict = check(&services.engine, &services.published(), &file)?;
            Ok((file, verdict))
        })
        .await?;
    let recorder = &call.services.disputes;
    let recorded = recorder.fault(organization_id, &file, verdict, kept);
    recorded.await
}

/// Only its claimant may submit a claim, so that a copy cannot use up its context.
async fn claim(call: &HandlerCall, kept: Option<IdempotentKey>) -> ApiResult<DisputeRecord> {
    let session = call.session()?;
    let wallet_id = session.wallet()?;
    let text = call.body.text.as_str();
    let file = ClaimFile::parse(text).map_err(|error| no_claim(text, &error))?;
    call.services.claims.key()?;
    let published = call.published();
    let wallet = published.snapshot.wallet(wallet_id)?;
    let claimant = file.binding.claimant;
    if wallet.is_none_or(|wallet| !wallet.keys.contains(&claimant)) {
        let message = format!(
            "the claim is bound to {claimant}, which is not a key of your wallet: log in as its \
             claimant, or prove a claim for a key of your wallet"
        );
        return Err(ApiError::new(Code::Forbidden, message));
    }
    let organization_id = session.organization_id;
    if let Some(dispute) = of_claim(&published.snapshot, organization_id, &file)? {
        return DisputeRecord::known(dispute, &call.services.engine, kept).await;
    }
    let checking = call
        .services
        .claims
        .check(&call.services.engine, organization_id, file);
    let claim = checking.await?;
    let recorder = &call.services.disputes;
    let recorded = recorder.claim(organization_id, &claim, kept);
    recorded.await
}

fn other_format() -> ApiError {
    let message = format!("must be {EVIDENCE_FORMAT:?} or {CLAIM_FORMAT:?}");
    ApiError::field("/format", "range", message)
}

/// Locates a file's fault, which its own error does not state.
fn unread<T: DeserializeOwned>(text: &str, error: &serde_json::Error) -> ApiError {
    let read: ApiResult<T> = body::parse(text);
    read.err().unwrap_or_else(|| ApiError::internal(error))
}

fn no_evidence(text: &str, error: &EvidenceFileError) -> ApiError {
    match error {
        EvidenceFileError::TooLong { .. } => {
            ApiError::new(Code::PayloadTooLarge, error.to_string())
        }
        EvidenceFileError::Json(error) => unread::<EvidenceFile>(text, error),
        EvidenceFileError::Format(_) => other_format(),
        EvidenceFileError::Version(_) => ApiError::field("/version", "range", error.to_string()),
    }
}

fn no_claim(text: &str, error: &ClaimTextError) -> ApiError {
    match error {
        ClaimTextError::TooLong(_) => ApiError::new(Code::PayloadTooLarge, error.to_string()),
        ClaimTextError::Json(error) => unread::<ClaimFile>(text, error),
    }
}

/// The part of a dispute that the caller may see: evidence and claims repeat content of actions.
fn seen(
    call: &HandlerCall,
    view: Result<DisputeView, serde_json::Error>,
) -> ApiResult<DisputeView> {
    let view = view.map_err(|error| ApiError::internal(&error))?;
    Ok(match call.session()?.check(Some(READS_ACTIONS)) {
        Ok(()) => view,
        Err(_) => view.without_content(),
    })
}

/// `GET /disputes`
pub async fn list(call: HandlerCall) -> ApiResult<HttpReply> {
    list_own(
        &call,
        |dispute: &Dispute| Ok(Some(dispute.verdict.len())),
        |_, dispute| seen(&call, DisputeView::listed(&dispute)),
    )
}

/// `GET /disputes/{id}`
pub async fn get(call: HandlerCall) -> ApiResult<HttpReply> {
    let published = call.published();
    let dispute = call.own(&published.snapshot, |_: &Dispute| true)?;
    let view = seen(&call, DisputeView::whole(&dispute))?;
    let reply = HttpReply::ok(published.head.sequence, &view)?;
    Ok(reply.etagged(&call.headers, PRIVATE))
}
