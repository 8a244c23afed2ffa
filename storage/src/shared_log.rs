//! A log shared by several nodes: frames of other nodes, and frames that a leader left unapplied.

use std::sync::atomic::Ordering;

use kedge_log::{LogPosition, LogReader, SideEntry, StoredFrame};
use kedge_protocol::Address;

use crate::group::WriteGroup;
use crate::snapshot::{StoreReadError, StoreSnapshot};
use crate::store::{CommitError, Store, no_log};

impl Store {
    /// Appends a frame that another node encoded, unchanged, and returns the position after it. It is durable after
    /// [`Store::sync_through`].
    ///
    /// # Errors
    /// [`CommitError::Failed`] if the frame is damaged or does not continue this log.
    pub fn append_stored(&self, frame: &[u8]) -> Result<LogPosition, CommitError> {
        let writing = self.writing.as_ref().ok_or_else(no_log)?;
        let position = writing.log.lock().append_stored(frame)?;
        self.unflushed_bytes
            .fetch_add(frame.len() as u64, Ordering::Relaxed);
        Ok(position)
    }

    /// The position after the last frame in the log; `None` if the log accepts nothing.
    pub fn log_position(&self) -> Option<LogPosition> {
        let writing = self.writing.as_ref()?;
        Some(writing.durability.durable())
    }

    /// The durable frames of the log whose rows were never written: in flight when a leader ended.
    ///
    /// # Errors
    /// [`StoreReadError`] if the log or the rows cannot be read.
    pub fn unapplied(&self) -> Result<Vec<StoredFrame>, StoreReadError> {
        let applied = self.snapshot().applied()?.frame;
        let Some(log) = self.database.log() else {
            return Ok(Vec::new());
        };
        let frames = log.frames(applied + 1);
        let frames: Result<_, _> = frames.collect();
        frames.map_err(|error| StoreReadError::Log(error.to_string()))
    }

    /// The side entries of a frame.
    ///
    /// # Errors
    /// [`CommitError::Failed`] if no key at hand opens them.
    pub fn side(&self, frame: &StoredFrame) -> Result<Vec<SideEntry>, CommitError> {
        let writing = self.writing.as_ref().ok_or_else(no_log)?;
        let identity = self.database.log().map(LogReader::identity);
        let keys = writing.side_keys.lock();
        let entries = frame.side(&identity.unwrap_or_default(), &keys);
        entries.map_err(|error| {
            let number = frame.header().number;
            CommitError::Failed(format!(
                "frame {number}: {error}. Copy the keys that seal side entries from another node"
            ))
        })
    }

    /// Names the key that signs from batch 0 on, in a shared log that has no batch yet.
    pub fn name_first_key(&self, key: Address) -> Result<StoreSnapshot, CommitError> {
        let mut group = WriteGroup::new();
        group.put_beginning(key);
        self.commit(group)
    }
}
