//! The log, as files of its own. A commit group is a *frame*; frames stand in *segments*; a frame that was synced is
//! what an answer rests on, and everything else can be made again from it. `docs/STORAGE.md` gives the format to the
//! byte and the rules of recovery.
//!
//! - [`Frame`]: what one group makes durable, on its way in; [`StoredFrame`]: the same, read again.
//! - [`FileLog`]: appends, as a [`Log`]; [`Durability`] syncs; [`Maintenance`] compresses closed segments.
//! - [`LogReader`]: reads by sequence, by batch and frame by frame, while one writer appends.
//! - [`LogReader::copy_to`] and [`cut`]: copies of a log, and shorter ones.
//! - [`verify`]: checks a directory of segments without anything else.
//! - [`packed`]: the packed form of a request.
//! - [`env`]: the door to the system (`kedge-env`); nothing here touches files, randomness or time but through it.

mod archived;
mod bytes;
pub mod codec;
mod copy;
mod cut;
mod error;
mod file_log;
pub mod frame;
mod maintenance;
mod newest;
mod open_log;
pub mod packed;
mod reader;
mod recovery;
mod segment;
#[cfg(test)]
mod tests;
pub mod verify;

use std::sync::Arc;

pub use archived::SealedFile;
pub use codec::CodecError;
pub use copy::{Copied, CopyError};
pub use cut::{Cut, CutAt, CutError, cut};
pub use error::{AppendError, Damage, Failed, IoError, MaintenanceError, OpenError, ReadError};
pub use file_log::{FileLog, Options};
pub use frame::{Frame, FrameRefused, KeyId, SideEntry, SideError, SideKeys, StoredFrame};
pub use kedge_env as env;
pub use maintenance::Maintenance;
pub use reader::{Frames, LogReader, StoredRequest};
pub use recovery::{Position, Recovery, Released, Torn};
pub use segment::seal::{Compression, Sealed};
pub use segment::{Kind as SegmentKind, SegmentHeader, SegmentName};

/// Where commit groups become durable. [`FileLog`] is the one that comes with the server.
pub trait Log: Send {
    /// Adds a frame after the last one and gives how far the log reaches with it. The frame is not durable yet: that
    /// is for [`Durability::sync`]. More frames may be appended meanwhile.
    ///
    /// # Errors
    /// [`AppendError`]. After [`AppendError::NoSpace`] the log is as it was before and the same frame can be appended
    /// later; after [`AppendError::Failed`] it takes nothing any more.
    fn append(&mut self, frame: &Frame) -> Result<Position, AppendError>;

    /// How far frames were appended.
    fn position(&self) -> Position;

    /// Seals the side entries of later frames under the newest of these keys, unless they are sealed under one with
    /// the same id or a higher one already. Gives the id of the key that seals from now on.
    ///
    /// # Errors
    /// [`IoError`] where no salt can be drawn; then nothing has changed.
    fn seal_with(&mut self, keys: &SideKeys) -> Result<Option<KeyId>, IoError>;

    /// What makes frames durable, for another thread.
    fn durability(&self) -> Arc<dyn Durability>;
}

/// Makes durable what was appended.
pub trait Durability: Send + Sync {
    /// Makes durable every frame that was appended before the call, and shows it to readers; gives how far the log
    /// is durable.
    ///
    /// # Errors
    /// [`Failed`], now and ever after: what a failed sync left on the disk is not known.
    fn sync(&self) -> Result<Position, Failed>;

    /// How far the log is durable.
    fn durable(&self) -> Position;
}
