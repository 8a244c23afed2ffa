//! Maintenance of a store besides commits: flushes of rows, and care of the log's segments.

use std::sync::atomic::Ordering;

use kedge_log::{LogMaintenance, MaintenanceError};
use metrics::{counter, gauge};

use crate::action_index::FILE_ACTIONS;
use crate::metric_definitions as names;
use crate::store::{CommitError, Store};

/// Bytes that must be free besides those of the rows. Few are needed for indexes and filters; the rest is for other
/// writers that fill the disk during the flush.
const FLUSH_ROOM_BYTES: u64 = 64 * 1024 * 1024;

impl Store {
    /// Flushes the memory while commits continue: the action index, and the rows if a start would have too many frames
    /// to apply, or commits would have to wait for memory.
    pub fn flush_gathered(&self) -> Result<(), CommitError> {
        if self.writing.is_none() {
            return Ok(());
        }
        self.database.actions().write(FILE_ACTIONS);
        let unflushed = self.unflushed_bytes.load(Ordering::Relaxed);
        self.recent.drop_read();
        gauge!(names::RECENT_BYTES).set(self.recent.len_bytes() as f64);
        if unflushed >= self.replay_bytes_max || self.recent.active_bytes() >= self.recent_bytes_max
        {
            self.flush()?;
            self.unflushed_bytes.fetch_sub(unflushed, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Creates the file of the log's next segment, once the open one is half full. Otherwise a commit has to.
    pub fn prepare(&self) -> Result<(), CommitError> {
        let Some(writing) = &self.writing else {
            return Ok(());
        };
        let prepared = writing.maintenance.prepare();
        prepared.map_err(|error| upkeep_failed(error.into()))?;
        Ok(())
    }

    /// Maintains files while commits continue: compresses a closed segment, and merges files of action ids. Returns
    /// whether there may be more to do right away. `between` is called after each small part, with the number of closed
    /// segments that wait.
    pub fn maintain(&self, between: &mut dyn FnMut(usize)) -> Result<bool, CommitError> {
        let Some(writing) = &self.writing else {
            return Ok(false);
        };
        let sealed = writing.maintenance.seal_next_in_parts(between);
        let sealed = sealed.map_err(upkeep_failed)?;
        if let Some(sealed) = sealed {
            counter!(names::SEALED_RAW_BYTES).increment(sealed.raw_bytes);
            counter!(names::SEALED_BYTES).increment(sealed.sealed_bytes);
            return Ok(true);
        }
        Ok(self.database.actions().merge(between))
    }

    /// Makes a [`Self::maintain`] on another thread end soon, and stops further [`Self::prepare`]; the next start does
    /// the rest.
    pub fn end_maintenance(&self) {
        self.database.actions().end();
        if let Some(writing) = &self.writing {
            writing.maintenance.end();
        }
    }

    /// Flushes every row to the disk, so that the next start has nothing to apply.
    pub fn flush(&self) -> Result<(), CommitError> {
        if !self.rows_writable {
            return Ok(());
        }
        self.check_room()?;
        let flushed = self.recent.flush();
        let rows = flushed.map_err(CommitError::of_rocks)?;
        counter!(names::FLUSHED_ROWS).increment(rows as u64);
        Ok(())
    }

    /// Whether the disk has room for a flush. RocksDB needs seconds to continue after a flush without room, so it is
    /// not asked.
    fn check_room(&self) -> Result<(), CommitError> {
        // If the system does not report free space, the flush finds out.
        let Ok(free_bytes) = self.env.free_bytes(&self.path) else {
            return Ok(());
        };
        let needed_bytes = 2 * self.recent.len_bytes() as u64 + FLUSH_ROOM_BYTES;
        if free_bytes < needed_bytes {
            return Err(CommitError::NoSpace(format!(
                "a flush of the rows needs {needed_bytes} bytes, but only {free_bytes} are free"
            )));
        }
        Ok(())
    }
}

fn upkeep_failed(error: MaintenanceError) -> CommitError {
    match error {
        error if LogMaintenance::is_for_now(&error) => CommitError::NoSpace(error.to_string()),
        error => CommitError::Failed(error.to_string()),
    }
}
