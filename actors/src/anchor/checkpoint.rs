//! Signed checkpoints of the log.

use kedge_protocol::checkpoint::{Checkpoint, SignedCheckpoint};
use kedge_protocol::{Hash, log_tree};
use kedge_storage::StoreReadError;

use crate::commit::signing::SigningError;
use crate::engine::Engine;

/// Reason why there is no signed checkpoint.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    #[error(transparent)]
    Read(#[from] StoreReadError),
    /// This server does not hold the key of the last batch.
    #[error("no checkpoint can be signed until the next batch: {0}")]
    Key(#[from] SigningError),
}

impl Engine {
    /// The signed checkpoint of the newest head.
    ///
    /// # Errors
    /// The store cannot be read, or this server does not hold the key of the last batch.
    pub fn checkpoint(&self) -> Result<SignedCheckpoint, CheckpointError> {
        let published = self.published();
        let mut cached = self.inner.checkpoint.lock();
        if let Some(signed) = *cached
            && signed.checkpoint.batches == published.head.batches
        {
            return Ok(signed);
        }
        let history = log_tree::root(&published.snapshot, published.head.batches)?;
        let checkpoint = Checkpoint {
            batches: published.head.batches,
            sequence: published.head.sequence,
            head: published.head.head,
            history,
            state: Hash::ZERO,
            issued_at_ms: self.now_ms().max(published.head.last_sealed_at_ms),
        };
        let signed = self.inner.signing.sign(&checkpoint)?;
        *cached = Some(signed);
        Ok(signed)
    }
}
