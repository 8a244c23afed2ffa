//! Copies a log while it is being written. A copy holds exactly what was durable when it began: a frame that the
//! original could still lose must not live on in a copy.

use std::path::Path;

use crate::env::{Env, FileHandle, OpenMode, write_all};
use crate::error::{IoError, LogReadError};
use crate::position::LogPosition;
use crate::reader::LogReader;
use crate::segment::raw_segment::RawSegment;
use crate::segment::sealed_segment::SealedSegment;
use crate::segment::{FrameKey, PAGE_BYTES, Segment, SegmentKind, path_of};

/// Size of one read and write while copying.
const PIECE_BYTES: usize = 1024 * 1024;

/// Why a log was not copied.
#[derive(Debug, thiserror::Error)]
pub enum LogCopyError {
    /// A file operation failed.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] LogReadError),
}

/// A finished copy of a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CopySummary {
    /// How far it reaches.
    pub position: LogPosition,
    /// File names of the sealed segments that were reused from an older copy.
    pub taken: Vec<String>,
}

impl LogReader {
    /// Copies the log to the directory `to`, which is created if needed, and makes the copy durable. Sealed segments
    /// that an older copy in `older` also holds are linked from there, or copied if linking fails. Header and footer,
    /// which names the hash of the last frame, identify such a segment. The blocks of the older copy are not checked
    /// here: check the new copy.
    ///
    /// # Errors
    /// [`LogCopyError`] if a file cannot be read or written.
    pub fn copy_to(&self, to: &Path, older: Option<&Path>) -> Result<CopySummary, LogCopyError> {
        let env = self.env();
        // The position comes first: a segment that begins in between holds nothing that was durable at `position`.
        let position = self.position();
        let segments = self.segments();
        let mut taken = Vec::new();
        env.create_dir(to).map_err(IoError::at(to))?;
        for segment in segments {
            if segment.header().first_frame > position.frame {
                break;
            }
            let name = segment.header().name();
            let (kind, bytes) = match &*segment {
                Segment::Raw(raw) => (SegmentKind::Raw, self.raw_end(&segment, raw, &position)?),
                Segment::Sealed(sealed) => {
                    if let Some(same) = older.and_then(|older| same_in(env, older, sealed)) {
                        take(env, &same, &path_of(to, name, SegmentKind::Sealed))?;
                        taken.push(name.file_name(SegmentKind::Sealed));
                        continue;
                    }
                    let bytes = sealed.file().len().map_err(IoError::at(sealed.path()))?;
                    (SegmentKind::Sealed, bytes)
                }
            };
            let path = path_of(to, name, kind);
            copy(env, segment.file(), segment.path(), &path, bytes)?;
        }
        env.sync_dir(to).map_err(IoError::at(to))?;
        Ok(CopySummary { position, taken })
    }

    /// End of the last durable frame of a raw segment.
    fn raw_end(
        &self,
        segment: &Segment,
        raw: &RawSegment,
        position: &LogPosition,
    ) -> Result<u64, LogReadError> {
        match raw.place_from(FrameKey::Frame(position.frame)) {
            Some(offset) => {
                let header = segment.frame_header(self.cache(), offset)?;
                Ok(segment.after(offset, &header))
            }
            None => Ok(PAGE_BYTES),
        }
    }
}

/// The same sealed segment in an older copy, if it can be read there.
fn same_in(env: &dyn Env, older: &Path, sealed: &SealedSegment) -> Option<SealedSegment> {
    let path = path_of(older, sealed.header().name(), SegmentKind::Sealed);
    let found = SealedSegment::open(env, &path).ok()?;
    let is_same = found.header() == sealed.header() && found.footer() == sealed.footer();
    is_same.then_some(found)
}

/// Links a sealed segment of an older copy, or copies it (for example across file systems).
fn take(env: &dyn Env, older: &SealedSegment, to: &Path) -> Result<(), IoError> {
    if env.link(older.path(), to).is_ok() {
        return Ok(());
    }
    let bytes = older.file().len().map_err(IoError::at(older.path()))?;
    copy(env, older.file(), older.path(), to, bytes)
}

fn copy(
    env: &dyn Env,
    from: &dyn FileHandle,
    from_path: &Path,
    to: &Path,
    bytes: u64,
) -> Result<(), IoError> {
    let target = env.open(to, OpenMode::Create).map_err(IoError::at(to))?;
    let mut at = 0;
    while at < bytes {
        let length = (bytes - at).min(PIECE_BYTES as u64) as usize;
        let piece = crate::env::read_exact(from, at, length).map_err(IoError::at(from_path))?;
        write_all(&*target, &piece, at).map_err(IoError::at(to))?;
        at += length as u64;
    }
    target.sync().map_err(IoError::at(to))
}
