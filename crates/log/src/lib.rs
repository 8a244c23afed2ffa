//! The log, in its own files. A commit group is a *frame*; *segments* hold the frames. Every answer rests on a frame
//! that was synced, and everything else can be rebuilt from the frames. `docs/STORAGE.md` specifies the format and the
//! rules of recovery.
//!
//! [`Log`] and [`Durability`] are traits: the first appends a frame, the second syncs the appended ones. The log in
//! files is the embedded default.
//!
//! - [`Frame`]: the contents of one commit group, to be appended; [`StoredFrame`]: the same, read back.
//! - [`FileLog`]: appends, as a [`Log`]; [`Durability`] syncs; [`LogMaintenance`] compresses closed segments.
//! - [`LogReader`]: reads by sequence, by batch and frame by frame, also during writes; [`StoredAction`] is one action.
//! - [`LogReader::copy_to`] and [`cut`]: copies of a log, and shorter ones.
//! - [`verify`]: checks a directory of segments without anything else.
//! - [`packed`]: the packed form of a request.
//! - [`env`]: the door to the system (`kedge-runtime`); this crate reaches files, randomness and time only through it.

mod action_lookup;
mod archiving;
mod bytes;
pub mod codec;
mod copy;
mod cut;
mod error;
mod file_log;
pub mod frame;
mod maintenance;
mod newest_side;
mod open_log;
pub mod packed;
mod position;
mod reader;
mod recovery;
mod segment;
#[cfg(test)]
mod tests;
mod usage;
pub mod verify;

use std::sync::Arc;

pub use action_lookup::StoredAction;
pub use archiving::SealedFile;
pub use codec::CodecError;
pub use copy::{CopySummary, LogCopyError};
pub use cut::{CutError, CutPoint, LogCut, cut};
pub use error::{
    AppendError, FrameMismatch, IoError, LogDamage, LogFailure, LogOpenError, LogReadError,
    MaintenanceError, SyncError,
};
pub use file_log::{FileLog, LogFloor, LogOptions, encode_empty};
pub use frame::{
    Frame, FrameError, FrameHeader, FrameRejection, KeyId, SideEntry, SideError, SideKeys,
    StoredFrame,
};
pub use kedge_runtime::env;
pub use maintenance::LogMaintenance;
pub use position::LogPosition;
pub use reader::{FrameIterator, LogReader, StoredRequest};
pub use recovery::{LogRecovery, ReleaseMark, TornFrame};
pub use segment::seal::{SealReport, SegmentCompression};
pub use segment::{SegmentHeader, SegmentKind, SegmentName};
pub use usage::{LogUsage, SegmentUsage};

/// Where commit groups become durable. The server uses [`FileLog`].
pub trait Log: Send {
    /// Adds a frame after the last one and returns the log's new position. The frame becomes durable with
    /// [`Durability::sync`]; more frames may be appended before that. A frame that needs a higher format is preceded by
    /// an empty one that raises it.
    ///
    /// # Errors
    /// [`AppendError`]. After [`AppendError::NoSpace`] the log is unchanged, except for its format, and the same frame
    /// can be appended later; after [`AppendError::LogFailure`] it accepts no more frames.
    fn append(&mut self, frame: &Frame) -> Result<LogPosition, AppendError>;

    /// Appends a frame that another node encoded, byte for byte. It must be whole, continue this log, and name no
    /// durable frame, since that describes another node's disk. Like [`Log::append`], it does not make the frame
    /// durable.
    ///
    /// # Errors
    /// The errors of [`Log::append`]. [`AppendError::Stored`] if the frame is damaged, [`AppendError::FrameMismatch`] if it
    /// does not continue this log; it names the values of both sides. After both the log is unchanged.
    fn append_stored(&mut self, frame: &[u8]) -> Result<LogPosition, AppendError>;

    /// The position after the last append.
    fn position(&self) -> LogPosition;

    /// Seals the side entries of later frames under the newest of these keys, unless the current key has the same or a
    /// higher id. Returns the id of the key in use.
    ///
    /// # Errors
    /// [`IoError`] if no salt can be drawn; then nothing has changed.
    fn seal_with(&mut self, keys: &SideKeys) -> Result<Option<KeyId>, IoError>;

    /// The sync side of the log, for another thread.
    fn durability(&self) -> Arc<dyn Durability>;
}

/// Makes appended frames durable.
pub trait Durability: Send + Sync {
    /// Makes every frame that was appended before the call durable, and visible to readers; returns the durable
    /// position. A shared log drops the unsynced frames of a leadership that ends. The durable position is then before
    /// the caller's append, so compare the two before answering.
    ///
    /// # Errors
    /// [`SyncError::LogFailure`], for this and all later calls: the disk's contents are unknown after a failed sync.
    /// [`SyncError::Fenced`] if this node does not lead the shared log.
    fn sync(&self) -> Result<LogPosition, SyncError>;

    /// The durable position.
    fn durable(&self) -> LogPosition;
}
