//! The end of a log.

use kedge_protocol::Hash;

use crate::frame::header::{FrameHeader, first_previous};

/// How far a log reaches: the end of its last frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogPosition {
    /// The number of the last frame; 0 before the first.
    pub frame: u64,
    /// The sequence of the next action.
    pub next_sequence: u64,
    /// The number of the next batch.
    pub next_batch: u64,
    /// Hash of the last frame; before the first, the hash that the first frame names.
    pub hash: Hash,
}

impl LogPosition {
    /// The position before the first frame of the log with this identity.
    pub fn start(identity: &Hash) -> Self {
        Self {
            frame: 0,
            next_sequence: 1,
            next_batch: 0,
            hash: first_previous(identity),
        }
    }

    /// The position after a frame.
    pub fn after(header: &FrameHeader) -> Self {
        Self {
            frame: header.number,
            next_sequence: header.next_sequence(),
            next_batch: header.next_batch(),
            hash: header.hash(),
        }
    }
}
