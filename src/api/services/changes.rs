//! What changes share: the way to the engine, idempotency keys, and the operator's signature.

use std::sync::Arc;

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
    /// The way to the engine.
    pub submitter: RequestSubmitter,
}
