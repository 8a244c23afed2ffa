//! Interface to the system: time, randomness and files. It lies below all other crates. Code that builds a log, a store
//! or an engine hands it an [`Env`]; the server (`src/start`) hands all of them the same [`RealEnv`]. Everything else
//! in these crates is computation, so tests can run it with a simulated clock and on a disk that loses data, fills up
//! or fails at a chosen operation ([`simulated`]).
//!
//! Three things stay outside:
//! - tokio's timers (`sleep`, `interval`, `timeout`). A runtime with a paused clock controls them. An [`Env`] for such
//!   a runtime takes [`Env::now`] from the same clock.
//! - The pauses of the threads that drive the core's steps. A step returns how long to wait and never waits itself.
//! - RocksDB's own directory, whose content must be read where RocksDB reads it.
//!
//! `tests/tidy.rs` refuses every other call to the system in `actors`, `storage`, `log`, `rules` and `protocol`, and
//! lists the exceptions (adr/0017).

mod real;
pub mod simulated;

use std::fmt::Debug;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

pub use self::real::{RealEnv, lacks_descriptors, open_files_max};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenMode {
    /// To read; it must exist.
    Read,
    /// To read and write; it must exist.
    Write,
    /// To read and write; it is created, or emptied.
    Create,
}

/// Time, randomness and files.
pub trait Env: Debug + Send + Sync {
    /// The monotonic clock: for measuring how long something takes, and for deadlines.
    fn now(&self) -> Instant;
    /// The wall clock: milliseconds since the Unix epoch. It may jump forwards or backwards.
    fn unix_ms(&self) -> u64;
    /// Milliseconds of elapsed time, independent of the wall clock, including time in which the machine sleeps.
    fn passed_ms(&self) -> u64;
    /// Creates a directory and its parents, and makes their entries durable.
    fn create_dir(&self, dir: &Path) -> io::Result<()>;
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn FileHandle>>;
    /// Renames a file, replacing any file of that name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Gives a file a second name, which must not exist yet.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// File names in a directory.
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;
    /// Makes a directory's entries durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// Free bytes on the disk of a directory.
    fn free_bytes(&self, dir: &Path) -> io::Result<u64>;
    fn random(&self, out: &mut [u8]) -> io::Result<()>;
}

pub trait FileHandle: Send + Sync {
    /// Reads at an offset; returns the number of bytes, 0 at the end of the file.
    fn read_at(&self, out: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes at an offset; returns the number of bytes written, which may be fewer than given.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;
    /// Makes the contents, and a length that grew, durable (`fdatasync`).
    fn sync(&self) -> io::Result<()>;
    fn len(&self) -> io::Result<u64>;
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
}

/// Writes all bytes, continuing after short writes.
pub fn write_all(file: &dyn FileHandle, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write_at(bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                bytes = &bytes[written..];
                offset += written as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads until `out` is full or the file ends; returns the number of bytes.
pub fn read_up_to(file: &dyn FileHandle, out: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut read = 0;
    while read < out.len() {
        match file.read_at(&mut out[read..], offset + read as u64) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

/// Reads exactly `length` bytes.
pub fn read_exact(file: &dyn FileHandle, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    read_exact_into(file, offset, length, &mut bytes)?;
    Ok(bytes)
}

/// Reads exactly `length` bytes into a buffer, replacing its contents.
pub fn read_exact_into(
    file: &dyn FileHandle,
    offset: u64,
    length: usize,
    out: &mut Vec<u8>,
) -> io::Result<()> {
    // The old contents are overwritten and need not be cleared.
    out.resize(length, 0);
    if read_up_to(file, out, offset)? == length {
        Ok(())
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

/// Source for zeros, written in pieces of this size.
static ZEROS: [u8; 256 * 1024] = [0; 256 * 1024];

/// Fills a part of a file with written, not just reserved, zeros: a later write there changes no metadata.
pub fn write_zeros(file: &dyn FileHandle, from: u64, to: u64) -> io::Result<()> {
    let mut at = from;
    while at < to {
        let piece = (to - at).min(ZEROS.len() as u64);
        write_all(file, &ZEROS[..piece as usize], at)?;
        at += piece;
    }
    Ok(())
}

/// Whether the system lacks a resource for the moment: space on a disk or in a quota, file descriptors or memory. The
/// file is fine, and the same call can succeed later. Never use it for a failed sync: the disk's contents are unknown
/// after that.
pub fn is_scarce(error: &io::Error) -> bool {
    let is_kind = matches!(
        error.kind(),
        io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::OutOfMemory
            | io::ErrorKind::WouldBlock
            | io::ErrorKind::Interrupted
    );
    is_kind || lacks_descriptors(error)
}
