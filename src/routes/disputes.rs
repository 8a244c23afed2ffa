//! Disputes: bringing evidence, and what was decided.

use std::sync::Arc;

use hyper::StatusCode;
use kedge_protocol::Prefix;
use kedge_protocol::evidence::{EvidenceFile, EvidenceFileError};
use kedge_protocol::resource::Dispute;

use super::{PRIVATE, page_reply};
use crate::body;
use crate::call::{Call, Reply};
use crate::disputes::{Recorded, check};
use crate::error::{ApiError, Code};
use crate::listing::{Listing, Source};
use crate::views::Page;
use crate::views::dispute::DisputeView;

fn refused(text: &str, error: &EvidenceFileError) -> ApiError {
    match error {
        EvidenceFileError::TooLong(_) => ApiError::new(Code::PayloadTooLarge, error.to_string()),
        EvidenceFileError::Json(json) => body::of_serde(text, json),
        EvidenceFileError::Format(_) => ApiError::field("/format", "range", error.to_string()),
        EvidenceFileError::Version(_) => ApiError::field("/version", "range", error.to_string()),
    }
}

/// `POST /disputes`
pub async fn create(call: Call) -> Result<Reply, ApiError> {
    let organization_id = call.session()?.organization_id;
    let text = call.body.text.as_str();
    body::check(text)?;
    let file = EvidenceFile::parse(text).map_err(|error| refused(text, &error))?;
    let app = Arc::clone(&call.app);
    let (file, verdict) = call
        .app
        .read_long(move || {
            let verdict = check(&app, &app.published(), &file)?;
            Ok((file, verdict))
        })
        .await?;
    let recorder = &call.app.disputes;
    let recorded = recorder.record(&call.app, organization_id, &file, verdict);
    let Recorded { dispute, is_new } = recorded.await?;
    let status = if is_new {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    let sequence = call.published().head.sequence;
    let reply = Reply::json(status, sequence, &DisputeView::whole(&dispute)?)?;
    let location = format!("/disputes/{}", dispute.id);
    Ok(reply.with(hyper::header::LOCATION, &location))
}

/// `GET /disputes`
pub async fn list(call: Call) -> Result<Reply, ApiError> {
    let published = call.published();
    let snapshot = &published.snapshot;
    let organization_id = call.session()?.organization_id;
    let listing = Listing::of(&call, &[])?;
    let page = listing.page(
        &call,
        Source {
            fetch: |rows| Ok(snapshot.disputes(organization_id, rows)?),
            place: |dispute: &Dispute| dispute.trace.created_sequence,
            keep: |dispute: &Dispute| Ok(Some(dispute.verdict.len())),
        },
    )?;
    let items: Result<Vec<DisputeView>, ApiError> =
        page.items.iter().map(DisputeView::listed).collect();
    let page = Page {
        items: items?,
        cursor: page.cursor,
        has_more: page.has_more,
    };
    page_reply(&call, &listing, published.head.sequence, &page)
}

/// `GET /disputes/{id}`
pub async fn get(call: Call) -> Result<Reply, ApiError> {
    let published = call.published();
    let organization_id = call.session()?.organization_id;
    let dispute = published
        .snapshot
        .dispute(call.id_of(Prefix::Dispute, "dispute")?)?
        .filter(|dispute| dispute.organization_id == organization_id)
        .ok_or_else(|| ApiError::not_found("dispute", call.id.as_str()))?;
    let reply = Reply::ok(published.head.sequence, &DisputeView::whole(&dispute)?)?;
    Ok(reply.etagged(&call, PRIVATE))
}
