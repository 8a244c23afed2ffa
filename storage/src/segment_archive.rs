//! Archiving of log segments while the server runs: segments in the log's directory, and their removal.

use kedge_log::{LogUsage, SealedFile};

use crate::read::RowPage;
use crate::snapshot::StoreReadError;
use crate::store::{CommitError, Store, no_log};
use crate::tables::anchors::AnchorProgress;

/// Batches at the log's end that a start reads, including the one before the tail.
const STARTED_BATCHES: u64 = 3;
/// Number of newest anchors that are searched for the last finalized one: only the newest few can have another status.
const ANCHORS_LOOKED_AT: usize = 64;

impl Store {
    /// Extent of the log in its directory, without reading a file; `None` if the store was opened without a log.
    pub fn held_segments(&self) -> Option<LogUsage> {
        self.database.log().map(kedge_log::LogReader::held)
    }

    /// Writes all applied rows and the action index to the disk while commits continue. Returns the sealed segments,
    /// from the log's beginning on, that a start does not need and a finalized anchor covers.
    ///
    /// # Errors
    /// [`CommitError`] if the log accepts nothing, or rows could not be written.
    pub fn settled_segments(&self) -> Result<Vec<SealedFile>, CommitError> {
        let log = self.database.log().ok_or_else(no_log)?;
        if self.writing.is_none() {
            return Err(no_log());
        }
        self.database.actions().write(0);
        let unreadable = |error: StoreReadError| CommitError::Failed(error.to_string());
        let snapshot = self.snapshot();
        let head = snapshot.head().map_err(unreadable)?;
        let applied = snapshot.applied().map_err(unreadable)?;
        let indexed = self.database.actions().in_files();
        self.flush()?;
        let newest = RowPage {
            after: None,
            descending: true,
            limit: ANCHORS_LOOKED_AT,
        };
        let anchors = snapshot.anchors(newest).map_err(unreadable)?;
        let mut finalized = anchors.iter();
        let finalized = finalized.find(|anchor| anchor.status == AnchorProgress::Finalized);
        let anchored = finalized.map_or(0, |anchor| anchor.checkpoint.checkpoint.batches);
        let last = indexed.min(head.sequence);
        let files = log.sealed_files().into_iter();
        let is_settled = |file: &SealedFile| {
            file.next_frame <= applied.frame + 1
                && file.next_sequence <= last + 1
                && file.next_batch <= anchored
                && file.next_batch + STARTED_BATCHES <= head.batches
        };
        Ok(files.take_while(is_settled).collect())
    }

    /// Removes the sealed segments that end before this frame. The caller must have copies elsewhere.
    ///
    /// # Errors
    /// [`CommitError`] if the log accepts nothing, or a file could not be removed: it can be retried.
    pub fn remove_segments_before(&self, frame: u64) -> Result<(), CommitError> {
        let writing = self.writing.as_ref().ok_or_else(no_log)?;
        let removed = writing.maintenance.remove_before(frame);
        removed.map_err(|error| CommitError::Failed(error.to_string()))
    }

    /// Notes where the removed segments are, for error texts.
    pub fn set_archive(&self, place: String) {
        if let Some(log) = self.database.log() {
            log.set_archive(place);
        }
    }
}
