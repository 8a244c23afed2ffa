//! Copies of a log while it is written to. Whatever was durable when a copy began is in it, and nothing that was not:
//! a frame that the original could still lose must not live on in a copy.

use std::path::Path;

use crate::env::{Env, File, Mode, write_all};
use crate::error::{IoError, ReadError};
use crate::reader::LogReader;
use crate::recovery::Position;
use crate::segment::raw::RawSegment;
use crate::segment::{Key, Kind, PAGE_BYTES, Segment, path_of};

/// Bytes that are copied at one go.
const PIECE_BYTES: usize = 1024 * 1024;

/// Why a log was not copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// A file operation failed.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl LogReader {
    /// Copies the log to the directory `to`, which is made if it is not there, and makes the copy durable. Gives how
    /// far the copy reaches.
    ///
    /// # Errors
    /// [`CopyError`] where a file cannot be read or written.
    pub fn copy_to(&self, to: &Path) -> Result<Position, CopyError> {
        let env = self.env();
        // In this order: a segment that is begun meanwhile holds nothing that was durable by then.
        let position = self.position();
        let segments = self.segments();
        env.create_dir(to).map_err(IoError::at(to))?;
        for segment in segments {
            if segment.header().first_frame > position.frame {
                break;
            }
            let (kind, bytes) = match &*segment {
                Segment::Raw(raw) => (Kind::Raw, self.raw_end(&segment, raw, &position)?),
                Segment::Sealed(sealed) => {
                    let bytes = sealed.file().len().map_err(IoError::at(sealed.path()))?;
                    (Kind::Sealed, bytes)
                }
            };
            let path = path_of(to, segment.header().name(), kind);
            copy(env, segment.file(), segment.path(), &path, bytes)?;
        }
        env.sync_dir(to).map_err(IoError::at(to))?;
        Ok(position)
    }

    /// Where the last durable frame of a raw segment ends.
    fn raw_end(
        &self,
        segment: &Segment,
        raw: &RawSegment,
        position: &Position,
    ) -> Result<u64, ReadError> {
        match raw.place_from(Key::Frame(position.frame)) {
            Some(offset) => {
                let header = segment.frame_header(self.cache(), offset)?;
                Ok(segment.after(offset, &header))
            }
            None => Ok(PAGE_BYTES),
        }
    }
}

fn copy(
    env: &dyn Env,
    from: &dyn File,
    from_path: &Path,
    to: &Path,
    bytes: u64,
) -> Result<(), IoError> {
    let target = env.open(to, Mode::Create).map_err(IoError::at(to))?;
    let mut at = 0;
    while at < bytes {
        let length = (bytes - at).min(PIECE_BYTES as u64) as usize;
        let piece = crate::env::read_exact(from, at, length).map_err(IoError::at(from_path))?;
        write_all(&*target, &piece, at).map_err(IoError::at(to))?;
        at += length as u64;
    }
    target.sync().map_err(IoError::at(to))
}
