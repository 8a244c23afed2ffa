//! The log, in its own files. A commit group is a *frame*; *segments* hold the frames. Every answer rests on a frame
//! that was synced, and everything else can be rebuilt from the frames. `docs/STORAGE.md` gives the format to the byte
//! and the rules of recovery.
//!
//! The log is a trait: a [`Log`] appends a frame, its [`Durability`] syncs what was appended. The log in files is the
//! embedded default.
//!
//! - [`Frame`]: what one group makes durable, on its way in; [`StoredFrame`]: the same, read back.
//! - [`FileLog`]: appends, as a [`Log`]; [`Durability`] syncs; [`Maintenance`] compresses closed segments.
//! - [`LogReader`]: reads by sequence, by batch and frame by frame, while one writer appends; [`StoredAction`] is one action.
//! - [`LogReader::copy_to`] and [`cut`]: copies of a log, and shorter ones.
//! - [`verify`]: checks a directory of segments without anything else.
//! - [`packed`]: the packed form of a request.
//! - [`env`]: the door to the system (`kedge-runtime`); this crate reaches files, randomness and time only through it.

mod archived;
mod bytes;
pub mod codec;
mod copy;
mod cut;
mod error;
mod file_log;
pub mod frame;
mod held;
mod maintenance;
mod newest;
mod open_log;
pub mod packed;
mod position;
mod reader;
mod recovery;
mod segment;
mod single;
#[cfg(test)]
mod tests;
pub mod verify;

use std::sync::Arc;

pub use archived::SealedFile;
pub use codec::CodecError;
pub use copy::{Copied, CopyError};
pub use cut::{Cut, CutAt, CutError, cut};
pub use error::{
    AppendError, Damage, Failed, IoError, MaintenanceError, NotNext, OpenError, ReadError,
    SyncError,
};
pub use file_log::{FileLog, LogOptions, Reached, encode_empty};
pub use frame::{
    Frame, FrameError, FrameHeader, FrameRefused, KeyId, SideEntry, SideError, SideKeys,
    StoredFrame,
};
pub use held::{Held, HeldSegments};
pub use kedge_runtime::env;
pub use maintenance::Maintenance;
pub use position::Position;
pub use reader::{Frames, LogReader, StoredRequest};
pub use recovery::{Recovery, Released, Torn};
pub use segment::seal::{Compression, Sealed};
pub use segment::{Kind as SegmentKind, SegmentHeader, SegmentName};
pub use single::StoredAction;

/// Where commit groups become durable. [`FileLog`] is the implementation that the server uses.
pub trait Log: Send {
    /// Adds a frame after the last one and returns the log's new position. The frame is not durable yet:
    /// [`Durability::sync`] does that. More frames may be appended in between. If the frame needs a higher format than
    /// those before it, an empty one that raises the format is added first.
    ///
    /// # Errors
    /// [`AppendError`]. After [`AppendError::NoSpace`] the log is unchanged, but for its format, and the same frame can be
    /// appended later; after [`AppendError::Failed`] it accepts nothing any more.
    fn append(&mut self, frame: &Frame) -> Result<Position, AppendError>;

    /// Appends a frame that another node encoded, byte for byte. It must be whole, continue this log, and name no frame
    /// as durable: that describes another node's disk. Like [`Log::append`], it does not make the frame durable.
    ///
    /// # Errors
    /// As [`Log::append`]. [`AppendError::Stored`] if the frame is damaged, [`AppendError::NotNext`] if it does not
    /// continue this log; it names what both sides hold. After both the log is unchanged.
    fn append_stored(&mut self, frame: &[u8]) -> Result<Position, AppendError>;

    /// The position after the last append.
    fn position(&self) -> Position;

    /// Seals the side entries of later frames under the newest of these keys, unless they are already sealed
    /// under one with the same or a higher id. Returns the id of the key that seals from now on.
    ///
    /// # Errors
    /// [`IoError`] if no salt can be drawn; then nothing has changed.
    fn seal_with(&mut self, keys: &SideKeys) -> Result<Option<KeyId>, IoError>;

    /// What makes frames durable, for another thread.
    fn durability(&self) -> Arc<dyn Durability>;
}

/// Makes durable what was appended.
pub trait Durability: Send + Sync {
    /// Makes every frame that was appended before the call durable, and shows it to readers; returns the durable position.
    /// A log that several nodes share gives up the frames of a leadership that ends. The durable position is then before
    /// what the caller appended: compare the two before you answer anybody.
    ///
    /// # Errors
    /// [`SyncError::Failed`], for this and all later calls: what a failed sync left on the disk is unknown.
    /// [`SyncError::Fenced`] if this node does not lead a log that several nodes share.
    fn sync(&self) -> Result<Position, SyncError>;

    /// The durable position.
    fn durable(&self) -> Position;
}
