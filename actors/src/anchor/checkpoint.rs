//! Signed checkpoints of the log.

use kedge_protocol::checkpoint::{Checkpoint, SignedCheckpoint};
use kedge_protocol::{Hash, log_tree};
use kedge_storage::{LogHead, StoreReadError};

use crate::commit::signing::SigningError;
use crate::engine::Engine;
use crate::pipeline::published_state::PublishedState;

/// Reason why there is no signed checkpoint.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    #[error(transparent)]
    Read(#[from] StoreReadError),
    /// No root of the state is made yet, and every checkpoint of this log has one.
    #[error("the first root of the state is not made yet")]
    NoRoot,
    /// This server does not hold the key of the last batch.
    #[error("no checkpoint can be signed until the next batch: {0}")]
    Key(#[from] SigningError),
}

impl Engine {
    /// The newest signed checkpoint with a root of the state. In a log of before, the newest without a root until there is
    /// one with it.
    ///
    /// # Errors
    /// The store cannot be read, there is no root yet, or this server does not hold the key of the last batch.
    pub fn checkpoint(&self) -> Result<SignedCheckpoint, CheckpointError> {
        let published = self.published();
        if let Some(signed) = published.snapshot.newest_checkpoint()? {
            return Ok(signed);
        }
        let head = self.unrooted_head(&published)?;
        let mut cached = self.inner.checkpoint.lock();
        if let Some(signed) = *cached
            && signed.checkpoint.batches == head.batches
        {
            return Ok(signed);
        }
        let history = log_tree::root(&published.snapshot, head.batches)?;
        let checkpoint = Checkpoint {
            batches: head.batches,
            sequence: head.sequence,
            head: head.head,
            history,
            state: Hash::ZERO,
            issued_at_ms: self.now_ms().max(head.last_sealed_at_ms),
        };
        let signed = self.inner.signing.sign(&checkpoint)?;
        *cached = Some(signed);
        Ok(signed)
    }

    /// The newest head whose checkpoint has no root, for good.
    fn unrooted_head(&self, published: &PublishedState) -> Result<LogHead, CheckpointError> {
        let last = match published.snapshot.roots_from()? {
            None => return Ok(published.head),
            Some(from) => from.checked_sub(1).ok_or(CheckpointError::NoRoot)?,
        };
        if published.head.batches <= last {
            return Ok(published.head);
        }
        let number = last.checked_sub(1);
        let batch = number.map(|number| published.snapshot.batch(number));
        Ok(match batch.transpose()?.flatten() {
            Some(batch) => LogHead::after(&batch.header),
            None => LogHead::empty(self.domain()),
        })
    }
}
