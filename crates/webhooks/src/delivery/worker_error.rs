//! Errors that pause a webhook's worker.

use kedge_actors::SubmissionError;
use kedge_storage::StoreReadError;

/// Reason why a worker pauses.
#[derive(Debug, thiserror::Error)]
pub(super) enum WorkerError {
    #[error("the store could not be read: {0}")]
    Read(#[from] StoreReadError),
    #[error("deliveries could not be stored: {0}")]
    Write(#[from] SubmissionError),
    #[error("an attempt was aborted: {0}")]
    Attempt(#[from] tokio::task::JoinError),
}
