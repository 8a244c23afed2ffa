//! Copies of the log of a store that is open.

use std::path::Path;

use crate::snapshot::ReadError;
use crate::store::Store;
use crate::tables::meta::LogHead;

/// Why a copy was not made.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The log's files could not be copied.
    #[error("the log could not be copied: {0}")]
    Log(#[from] kedge_log::CopyError),
    /// The store cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// There is no log.
    #[error("the store has no log")]
    NoLog,
}

impl Store {
    /// Copies the log to the directory `to` while commits continue, up to some frame that was durable at the call;
    /// gives where the copy ends. The rows follow from it.
    pub fn copy_log_to(&self, to: &Path) -> Result<LogHead, CopyError> {
        let log = self.database.log().ok_or(CopyError::NoLog)?;
        let position = log.copy_to(to)?;
        let Some(last) = position.next_batch.checked_sub(1) else {
            return Ok(LogHead {
                sequence: 0,
                batches: 0,
                last_sealed_at_ms: 0,
                ..self.snapshot().head()?
            });
        };
        let batch = log
            .batch(last)
            .map_err(|error| ReadError::Log(error.to_string()))?;
        let batch = batch.ok_or_else(|| ReadError::Log(format!("batch {last} is missing")))?;
        Ok(LogHead {
            batches: position.next_batch,
            sequence: batch.header.last_sequence(),
            head: batch.header.head,
            last_sealed_at_ms: batch.header.sealed_at_ms,
        })
    }
}
