//! Secrets that an answer shows once, for the replays of its request (adr/0020): sealed so that the `Idempotency-Key`
//! itself opens them, for the signer of the first request alone.

use kedge_actors::api::Submission;
use kedge_http::error::ApiError;

use crate::api::call::Call;

/// What opens a secret, besides this server's key.
struct Scope<'a> {
    signer: [u8; 20],
    method: &'a str,
    path: &'a str,
    key: &'a str,
}

impl<'a> Scope<'a> {
    fn of(call: &'a Call, submission: &Submission, path: &'a str, key: &'a str) -> Self {
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

/// Keeps the secret that was made for a new request, if there is one.
pub fn keep(call: &Call, submission: &Submission, path: &str, key: &str) -> Result<(), ApiError> {
    let (Some(keep), Some(secret)) = (&submission.keep, &call.shown_once) else {
        return Ok(());
    };
    let scope = Scope::of(call, submission, path, key);
    let sealed = call.app.shown_once.seal(&scope.parts(), secret);
    let sealed = sealed.map_err(|error| ApiError::internal(&error))?;
    // It is set once: the request was begun a moment ago.
    let _first = keep.sealed_secret.set(sealed);
    Ok(())
}

/// The secret of an earlier request, for the same request as received `again`.
pub(super) fn opened(
    call: &Call,
    again: &Submission,
    path: &str,
    key: &str,
    sealed: &[u8],
) -> Option<String> {
    let scope = Scope::of(call, again, path, key);
    call.app.shown_once.open(&scope.parts(), sealed)
}
