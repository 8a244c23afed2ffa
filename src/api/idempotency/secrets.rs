//! One-time secrets of answers, for replays of the request (adr/0020): the `Idempotency-Key` itself opens them, for the
//! first request's signer only.

use kedge_actors::api::Submission;
use kedge_http::error::ApiError;

use crate::api::call::HandlerCall;

/// Inputs of the sealing key besides this server's key.
struct SecretScope<'a> {
    signer: [u8; 20],
    method: &'a str,
    path: &'a str,
    key: &'a str,
}

impl<'a> SecretScope<'a> {
    fn of(call: &'a HandlerCall, submission: &Submission, path: &'a str, key: &'a str) -> Self {
        Self {
            signer: submission.head.signer.0,
            method: call.endpoint.method.as_str(),
            path,
            key,
        }
    }

    fn parts(&self) -> [&[u8]; 4] {
        let (method, path) = (self.method.as_bytes(), self.path.as_bytes());
        [&self.signer, method, path, self.key.as_bytes()]
    }
}

/// Seals the secret of a new request, if there is one.
pub fn keep(
    call: &HandlerCall,
    submission: &Submission,
    path: &str,
    key: &str,
) -> Result<(), ApiError> {
    let (Some(keep), Some(secret)) = (&submission.keep, &call.shown_once) else {
        return Ok(());
    };
    let scope = SecretScope::of(call, submission, path, key);
    let sealed = call
        .services
        .access
        .one_time_secrets
        .seal(&scope.parts(), secret);
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
    let scope = SecretScope::of(call, again, path, key);
    call.services
        .access
        .one_time_secrets
        .open(&scope.parts(), sealed)
}
