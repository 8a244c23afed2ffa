//! Choice of the key that seals the log's side entries.

use kedge_log::{IoError, KeyId, SideKeys};

use crate::snapshot::StoreReadError;
use crate::store::Store;

/// Frames at the log's end that are searched for the newest one with side entries.
const FRAMES_LOOKED_AT: u64 = 1_000;

/// Reason why the sealing key stays unchanged.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    #[error("the store is read-only: its log accepts nothing")]
    ReadOnly,
    #[error("the key cannot begin to seal: {0}")]
    Log(#[from] IoError),
}

impl Store {
    /// Seals the side entries of later commits under the newest of these keys, unless they are already sealed under
    /// that one or a newer one. Returns the number of the sealing key. The key must be durable.
    ///
    /// # Errors
    /// [`SealError`] if the log accepts nothing, or no randomness is available.
    pub fn seal_with(&self, keys: &SideKeys) -> Result<Option<KeyId>, SealError> {
        let writing = self.writing.as_ref().ok_or(SealError::ReadOnly)?;
        let sealing = writing.log.lock().seal_with(keys)?;
        *writing.side_keys.lock() = keys.clone();
        Ok(sealing)
    }

    /// Number of the key that sealed the newest side entries; `None` if there are none near the log's end.
    ///
    /// # Errors
    /// [`StoreReadError`] if the log's end cannot be read.
    pub fn newest_side_key(&self) -> Result<Option<KeyId>, StoreReadError> {
        let Some(log) = self.database.log() else {
            return Ok(None);
        };
        let frame = log.newest_with_side(FRAMES_LOOKED_AT);
        let Some(frame) = frame.map_err(|error| StoreReadError::Log(error.to_string()))? else {
            return Ok(None);
        };
        let keys = frame.side_keys();
        let keys = keys.map_err(|error| {
            let number = frame.header().number;
            StoreReadError::Log(format!("frame {number}: {error}"))
        })?;
        Ok(keys.into_iter().max())
    }
}
