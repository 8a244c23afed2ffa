//! Errors that end committing.

use kedge_protocol::Address;
use kedge_storage::verify::StoreDifference;
use kedge_storage::{CommitError, StoreReadError};

use kedge_replay::apply::ApplyError;

/// Reason why the committer stopped: nothing is acknowledged after it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommitterError {
    #[error("the commit failed: {0}")]
    Commit(#[from] CommitError),
    #[error("the store could not be read: {0}")]
    Read(#[from] StoreReadError),
    #[error("the high-water mark of released headers could not be written: {0}")]
    HighWater(#[from] std::io::Error),
    #[error("batch {number} was sealed without a key, or names a key that should have signed it")]
    Key { number: u64 },
    #[error("the writer has ended")]
    Writer,
    #[error(
        "the server ends while its store accepts no commits, so what was placed is given up; nothing of it was answered: {0}"
    )]
    GivenUp(String),
    #[error("sequence {first} and the rest of its commit group were not written: {why}")]
    Disagreement { first: u64, why: GroupDisagreement },
    #[error("two requests of signer {signer} were placed with nonce {nonce}")]
    Nonce { signer: Address, nonce: u64 },
}

/// Reason why a group must not be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GroupDisagreement {
    #[error("the log's records cannot be applied: {0}")]
    Apply(#[from] ApplyError),
    #[error("the rows differ from those that the log's records make: {0}")]
    Rows(#[from] StoreDifference),
}
