//! Errors of the log, with the place where each occurred.

use std::fmt;
use std::io;
use std::path::PathBuf;

use kedge_protocol::Hash;

use crate::env::is_scarce;
use crate::frame::{EncodeError, FrameError, FrameRejection, SideError};

/// Bytes that differ from what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogDamage {
    pub segment: PathBuf,
    /// Offset in the file of a raw segment, or in the uncompressed frames of a sealed one.
    pub offset: u64,
    /// The damaged frame, if known.
    pub frame: Option<u64>,
    pub first_sequence: u64,
    /// The last affected sequence, if known.
    pub last_sequence: Option<u64>,
    pub what: String,
}

impl fmt::Display for LogDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is damaged at byte {}",
            self.segment.display(),
            self.offset
        )?;
        if let Some(frame) = self.frame {
            write!(f, ", frame {frame}")?;
        }
        let first = self.first_sequence;
        match self.last_sequence {
            Some(last) if last > first => write!(f, ", sequences {first} to {last}")?,
            Some(last) if last == first => write!(f, ", sequence {first}")?,
            Some(_) => write!(f, ", before sequence {first}")?,
            None => write!(f, ", sequences from {first} on")?,
        }
        write!(f, ": {}", self.what)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", .path.display())]
pub struct IoError {
    pub path: PathBuf,
    pub source: io::Error,
}

impl IoError {
    pub(crate) fn at(path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self { path, source }
    }
}

/// Why a frame cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LogReadError {
    /// The system did not return the bytes.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The bytes differ from what was written.
    #[error("{0}")]
    Damaged(LogDamage),
    /// The log begins later: older segments were removed.
    #[error("frame {frame} is not in the log, which begins with frame {first_frame}")]
    Missing { frame: u64, first_frame: u64 },
}

impl LogReadError {
    /// Whether the system lacks a resource for the moment, so the same read can succeed later.
    pub fn is_for_now(&self) -> bool {
        matches!(self, Self::Io(error) if is_scarce(&error.source))
    }
}

/// Why a log does not open. The directory is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum LogOpenError {
    /// A file operation failed.
    #[error(transparent)]
    Io(#[from] IoError),
    /// Damage elsewhere than in a last frame that was never released.
    #[error("{0}")]
    Damaged(LogDamage),
    /// A segment cannot be read.
    #[error(transparent)]
    Read(#[from] LogReadError),
    /// The segment belongs to another log.
    #[error("{} is a segment of the log {found}, not of {expected}", .segment.display())]
    Identity {
        segment: PathBuf,
        expected: Hash,
        /// The identity that the segment names.
        found: Hash,
    },
    /// The log ends before the position that was already released.
    #[error(
        "the log ends at frame {last_frame}, sequence {last_sequence}, but frame {released_frame} and sequence \
         {released_sequence} were released: frames are missing at its end. Restore a newer copy"
    )]
    Released {
        /// Number of the last whole frame.
        last_frame: u64,
        /// Last sequence of that frame.
        last_sequence: u64,
        /// Last released frame; 0 if none.
        released_frame: u64,
        /// Last released sequence; 0 if none.
        released_sequence: u64,
    },
}

/// Why a frame was not appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// This node does not lead the log, or no longer does. The log is unchanged.
    #[error("{0}")]
    Fenced(String),
    /// A frame encoded by another node is damaged. The log is unchanged.
    #[error("the frame is damaged: {0}")]
    Stored(#[from] FrameError),
    /// A frame encoded by another node does not continue this log. The log is unchanged.
    #[error(transparent)]
    NotNext(#[from] FrameMismatch),
    /// Disk space or another system resource is lacking for the moment. The log is unchanged, and the same frame can be
    /// appended later.
    #[error("no room for the log: {0}")]
    NoSpace(IoError),
    /// The frame contradicts itself or the log. The log is unchanged.
    #[error(transparent)]
    Refused(#[from] FrameRejection),
    /// The side entries cannot be sealed. The log is unchanged.
    #[error(transparent)]
    Side(#[from] SideError),
    /// No key seals side entries. The log is unchanged.
    #[error("the frame has side entries, but no key to seal them was given")]
    NoKey,
    /// An earlier operation failed, so the log refuses everything.
    #[error(transparent)]
    Failed(#[from] LogFailure),
}

impl From<EncodeError> for AppendError {
    fn from(error: EncodeError) -> Self {
        match error {
            EncodeError::Refused(error) => Self::Refused(error),
            EncodeError::NoKey => Self::NoKey,
            EncodeError::Side(error) => Self::Side(error),
        }
    }
}

/// The log has failed: the disk's contents are unknown, so nothing is written, synced or acknowledged until the log is
/// opened again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the log accepts nothing until it is opened again: {0}")]
pub struct LogFailure(pub String);

/// A frame encoded by another node does not continue this log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "frame {frame} does not continue this log, which ends at frame {last_frame}: its {what} is {found}, but the \
     log continues with {expected}. The frame or this log is of another history; compare both with `kedge verify log`"
)]
pub struct FrameMismatch {
    /// Number of the refused frame.
    pub frame: u64,
    /// The last frame of this log.
    pub last_frame: u64,
    /// The field that differs.
    pub what: &'static str,
    /// The log's value for it.
    pub expected: String,
    /// The frame's value for it.
    pub found: String,
}

/// Why frames did not become durable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SyncError {
    /// The log failed. It refuses everything until it is opened again.
    #[error(transparent)]
    Failed(#[from] LogFailure),
    /// Another node leads the log now, or this one was asked to stop leading. Unsynced appends are not in this node's
    /// files.
    #[error("{0}")]
    Fenced(String),
}

/// Why a maintenance step failed. The log itself is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum MaintenanceError {
    /// A file operation failed; the step can be retried.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The log is being closed.
    #[error("the log is being closed")]
    Ended,
    /// The segment cannot be read, or its sealed form does not read back correctly.
    #[error(transparent)]
    Read(#[from] LogReadError),
}
