//! One-time secrets of answers, for replays of the request (adr/0020): the `Idempotency-Key` itself opens them, for the
//! first request's signer only.

use kedge_actors::api::Submission;
use kedge_http::error::{ApiError, ApiResult};

use crate::api::call::HandlerCall;

/// Inputs of the sealing key besides this server's key.
fn scope<'a>(
    call: &'a HandlerCall,
    submission: &'a Submission,
    path: &'a str,
    key: &'a str,
) -> [&'a [u8]; 4] {
    let method = call.endpoint.method.as_str();
    let signer = &submission.head.signer.0;
    [signer, method.as_bytes(), path.as_bytes(), key.as_bytes()]
}

/// Seals the secret of a new request, if there is one.
pub fn keep(call: &HandlerCall, submission: &Submission, path: &str, key: &str) -> ApiResult<()> {
    let (Some(keep), Some(secret)) = (&submission.keep, &call.shown_once) else {
        return Ok(());
    };
    let secrets = &call.services.access.one_time_secrets;
    let sealed = secrets.seal(&scope(call, submission, path, key), secret);
    let sealed = sealed.map_err(|error| ApiError::internal(&error))?;
    // It is set once: the request has just begun.
    let _first = keep.sealed_secret.set(sealed);
    Ok(())
}

/// The secret of an earlier request, for the same request as received `again`.
pub(super) fn opened(
    call: &HandlerCall,
    again: &Submission,
    path: &str,
    key: &str,
    sealed: &[u8],
) -> Option<String> {
    let secrets = &call.services.access.one_time_secrets;
    secrets.open(&scope(call, again, path, key), sealed)
}
