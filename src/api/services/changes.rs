//! What changes share: the way to the engine, idempotency keys, and the operator's signature.

use std::sync::Arc;

use kedge_actors::api::{Submission, SubmissionOutcome};
use kedge_http::error::ApiResult;
use kedge_http::idempotency::in_flight::KeysInFlight;
use kedge_http::operator::OperatorKey;
use kedge_http::submitter::RequestSubmitter;

pub struct ChangeServices {
    /// Idempotency keys of requests in flight.
    pub in_progress: KeysInFlight,
    /// Lifetime of idempotency keys, in seconds.
    pub key_lifetime_s: u64,
    /// Signs the operator's actions, if there is a key for it.
    pub operator: Option<Arc<OperatorKey>>,
    pub(super) submitter: RequestSubmitter,
}

impl ChangeServices {
    /// See [`RequestSubmitter::submit`].
    pub async fn submit(&self, submission: Arc<Submission>) -> ApiResult<SubmissionOutcome> {
        self.submitter.submit(submission).await
    }
}
