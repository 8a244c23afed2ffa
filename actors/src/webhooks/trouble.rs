//! Errors that pause a webhook's worker.

use kedge_storage::ReadError;

use crate::api::SubmitError;

/// Reason why a worker pauses.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    #[error("the store could not be read: {0}")]
    Read(#[from] ReadError),
    #[error("deliveries could not be stored: {0}")]
    Write(#[from] SubmitError),
    #[error("an attempt was aborted: {0}")]
    Attempt(#[from] tokio::task::JoinError),
}
