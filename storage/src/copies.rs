//! Copies of the log of an open store.

use std::path::Path;

use crate::snapshot::StoreReadError;
use crate::store::Store;
use crate::tables::meta::LogHead;

/// Reason why a copy was not made.
#[derive(Debug, thiserror::Error)]
pub enum StoreCopyError {
    /// The log's files could not be copied.
    #[error("the log could not be copied: {0}")]
    Log(#[from] kedge_log::LogCopyError),
    #[error(transparent)]
    Read(#[from] StoreReadError),
    #[error("the store has no log")]
    NoLog,
}

/// Result of copying the log.
#[derive(Debug)]
pub struct LogCopy {
    /// The copy's head.
    pub head: LogHead,
    /// Names of the sealed segments reused from an older copy.
    pub taken: Vec<String>,
}

impl Store {
    /// Copies the log to the directory `to` while commits continue, up to a frame that was durable at the call. Sealed
    /// segments that `older`, the directory of an older copy, also holds are linked from there. The rows follow from
    /// the log.
    ///
    /// # Errors
    /// [`StoreCopyError`] if a file cannot be read or written.
    pub fn copy_log_to(&self, to: &Path, older: Option<&Path>) -> Result<LogCopy, StoreCopyError> {
        let log = self.database.log().ok_or(StoreCopyError::NoLog)?;
        let copied = log.copy_to(to, older)?;
        let head = match copied.position.next_batch.checked_sub(1) {
            None => LogHead::empty_of(log.identity()),
            Some(last) => {
                let batch = self.snapshot().in_log(|log| log.batch(last))?;
                let missing = || StoreReadError::Log(format!("batch {last} is missing"));
                LogHead::after(&batch.ok_or_else(missing)?.header)
            }
        };
        Ok(LogCopy {
            head,
            taken: copied.taken,
        })
    }
}
