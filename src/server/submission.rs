//! Common handling of signed requests after the signature check: idempotency key, preparation, engine, and the row's
//! answer to the outcome.

use std::sync::Arc;

use hyper::header::HeaderName;
use kedge_actors::api::{Submission, SubmissionOutcome};
use kedge_http::clock::now_s;
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::preconditions;
use kedge_http::reply::HttpReply;
use kedge_http::signing::names;
use kedge_protocol::Code;

use crate::api::call::HandlerCall;
use crate::api::endpoint::CommittedAnswer;
use crate::api::files::handlers as files;
use crate::api::idempotency;
use crate::api::idempotency::{REPLAYED, secrets};

/// Carries out a request and answers it. If its key was used for the same request before, only the answer is made
/// again, even if the request is `overdue`.
pub(super) async fn change(
    mut call: HandlerCall,
    path: &str,
    mut submission: Submission,
    overdue: Option<ApiError>,
    answer: CommittedAnswer,
) -> ApiResult<HttpReply> {
    let key = idempotency::key_of(&call.headers)?.map(str::to_owned);
    if let Some(key) = &key
        && let Some(committed) = idempotency::begin(&mut call, path, key, &mut submission)?
    {
        let reply = answer(&call, &committed).await?;
        return Ok(reply.with(HeaderName::from_static(REPLAYED), "true"));
    }
    if let Some(late) = overdue {
        return Err(late);
    }
    names::check(&submission)?;
    submission.expected = preconditions::expected(&call.headers)?;
    if let Some(prepare) = call.endpoint.prepare {
        prepare(&mut call, &mut submission).await?;
    }
    if let Some(key) = &key {
        secrets::keep(&call, &submission, path, key)?;
    }
    let submission = Arc::new(submission);
    call.submission = Some(Arc::clone(&submission));
    let reply = match submit(&mut call, submission).await {
        Ok(committed) => answer(&call, &committed).await,
        Err(error) => Err(error),
    };
    let refused = reply.as_ref().err();
    if let Some(naming) = &call.naming
        && refused.is_some_and(|error| error.code == Code::EmailTaken)
    {
        naming.met_taken(now_s());
    }
    reply
}

async fn submit(
    call: &mut HandlerCall,
    submission: Arc<Submission>,
) -> ApiResult<SubmissionOutcome> {
    match call.body.upload.take() {
        Some(upload) => files::submit(Arc::clone(&call.services), *upload, submission).await,
        None => call.services.changes.submit(submission).await,
    }
}
