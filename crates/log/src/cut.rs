//! Shortens a copy of a log to an earlier end. A log consists of whole frames, so a cut falls between two of them.

use std::path::Path;
use std::sync::Arc;

use kedge_protocol::batch::SignedBatch;

use crate::env::{Env, OpenMode, write_all};
use crate::error::{IoError, LogOpenError, LogReadError};
use crate::frame::FrameHeader;
use crate::position::LogPosition;
use crate::reader::LogReader;
use crate::segment::{
    FrameKey, NEW_ENDING, PAGE_BYTES, Segment, SegmentHeader, SegmentKind, path_of,
};

/// Cache of decompressed blocks during a cut.
const CACHE_BYTES: u64 = 1024 * 1024;

/// Where a log is cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CutPoint {
    /// Keep the frames whose actions all have this sequence or a lower one.
    Sequence(u64),
    /// Keep the frames whose batches were all sealed at this time or before it, Unix milliseconds.
    Time(u64),
}

/// Result of a cut.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogCut {
    /// The new end.
    pub position: LogPosition,
    /// Its last batch.
    pub last: SignedBatch,
    /// Number of removed frames.
    pub frames_left_out: u64,
    /// Number of removed actions.
    pub actions_left_out: u64,
}

/// Why a log was not cut.
#[derive(Debug, thiserror::Error)]
pub enum CutError {
    /// A file operation failed.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The log does not open.
    #[error(transparent)]
    Open(#[from] LogOpenError),
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] LogReadError),
    /// No frame with actions would remain.
    #[error(
        "the first commit group with actions ends at sequence {sequence}: nothing would be left"
    )]
    Before {
        /// The last sequence of the first frame with actions.
        sequence: u64,
        /// When its last batch was sealed, Unix milliseconds.
        sealed_at_ms: u64,
    },
    /// The log ends before the requested sequence.
    #[error("the log ends at sequence {sequence}")]
    Beyond {
        /// Last sequence of the log.
        sequence: u64,
    },
    #[error("the log holds no action")]
    Empty,
}

/// Cuts the log in a directory that is not otherwise in use, and makes the rest durable. Later segments are removed,
/// and the one with the cut becomes a raw segment with the frames before it. A crash in between leaves an invalid log,
/// so the directory must be a copy that can be repeated.
///
/// # Errors
/// [`CutError`]; after [`CutError::Before`], [`CutError::Beyond`] and [`CutError::Empty`] nothing was changed.
pub fn cut(env: &Arc<dyn Env>, dir: &Path, at: CutPoint) -> Result<LogCut, CutError> {
    let (reader, _) = LogReader::open(Arc::clone(env), dir, None, CACHE_BYTES)?;
    let end = reader.position();
    if let Some(beyond) = first_beyond(&reader, at)? {
        if beyond.first_batch == reader.first_batch() {
            let last = beyond.next_batch().saturating_sub(1);
            return Err(CutError::Before {
                sequence: beyond.next_sequence() - 1,
                sealed_at_ms: batch(&reader, last)?.header.sealed_at_ms,
            });
        }
        keep(&**env, dir, &reader, beyond.number - 1)?;
    }
    let (reader, _) = LogReader::open(Arc::clone(env), dir, None, CACHE_BYTES)?;
    let position = reader.position();
    let last = position.next_batch.checked_sub(1).ok_or(CutError::Empty)?;
    Ok(LogCut {
        position,
        last: batch(&reader, last)?,
        frames_left_out: end.frame - position.frame,
        actions_left_out: end.next_sequence - position.next_sequence,
    })
}

fn batch(reader: &LogReader, number: u64) -> Result<SignedBatch, CutError> {
    reader.batch(number)?.ok_or(CutError::Empty)
}

/// The first frame to remove, or `None` if all are kept.
fn first_beyond(reader: &LogReader, at: CutPoint) -> Result<Option<FrameHeader>, CutError> {
    let end = reader.position();
    let key = match at {
        CutPoint::Sequence(sequence) if sequence >= end.next_sequence => {
            return Err(CutError::Beyond {
                sequence: end.next_sequence - 1,
            });
        }
        // Archived actions come before the log's first one.
        CutPoint::Sequence(sequence) => {
            FrameKey::Sequence((sequence + 1).max(reader.first_sequence()))
        }
        CutPoint::Time(time_ms) => {
            let (mut low, mut high) = (reader.first_batch(), end.next_batch);
            while low < high {
                let middle = low.midpoint(high);
                if batch(reader, middle)?.header.sealed_at_ms <= time_ms {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            FrameKey::Batch(low)
        }
    };
    Ok(reader.header_of(key)?)
}

/// Removes every frame after `last`.
fn keep(env: &dyn Env, dir: &Path, reader: &LogReader, last: u64) -> Result<(), CutError> {
    let segments = reader.segments();
    let kept = segments.partition_point(|segment| segment.header().first_frame <= last);
    let (kept, later) = segments.split_at(kept);
    let ends_there = later
        .first()
        .is_some_and(|next| next.header().first_frame == last + 1);
    if let Some(segment) = kept.last().filter(|_| !ends_there) {
        let unfinished = dir.join(format!("cut.{NEW_ENDING}"));
        write(env, &unfinished, reader, segment, last)?;
        let path = path_of(dir, segment.header().name(), SegmentKind::Raw);
        env.rename(&unfinished, &path).map_err(IoError::at(&path))?;
        if segment.raw().is_none() {
            remove(env, segment)?;
        }
    }
    for segment in later {
        remove(env, segment)?;
    }
    Ok(env.sync_dir(dir).map_err(IoError::at(dir))?)
}

fn remove(env: &dyn Env, segment: &Segment) -> Result<(), IoError> {
    env.remove(segment.path())
        .map_err(IoError::at(segment.path()))
}

/// Writes a raw segment with the frames of another one up to `last`.
fn write(
    env: &dyn Env,
    path: &Path,
    reader: &LogReader,
    segment: &Segment,
    last: u64,
) -> Result<(), CutError> {
    let file = env
        .open(path, OpenMode::Create)
        .map_err(IoError::at(path))?;
    let header = SegmentHeader {
        kind: SegmentKind::Raw,
        ..segment.header().clone()
    };
    let mut at = 0;
    let mut put = |mut bytes: Vec<u8>| {
        bytes.resize(bytes.len().next_multiple_of(PAGE_BYTES as usize), 0);
        let written = write_all(&*file, &bytes, at).map_err(IoError::at(path));
        at += bytes.len() as u64;
        written
    };
    put(header.to_bytes().to_vec())?;
    let count = last + 1 - header.first_frame;
    for frame in reader.frames(header.first_frame).take(count as usize) {
        put(frame?.into_bytes())?;
    }
    Ok(file.sync().map_err(IoError::at(path))?)
}
