//! Memory limit of checks and rebuilds, and the directory for spilled data. Memory use does not grow with the log.

use std::io;
use std::path::{Path, PathBuf};

use kedge_storage::StoreOptions;
use tempfile::TempDir;

const MIB: usize = 1024 * 1024;
/// Default memory of a check or a rebuild.
pub const MEMORY_BYTES: usize = 1024 * MIB;
/// Minimum memory of a check or a rebuild.
pub const MEMORY_BYTES_MIN: usize = 128 * MIB;
/// Directory of large temporary files: it is on disk, unlike many systems' temporary directory.
const LARGE_FILES: &str = "/var/tmp";

/// Limits of a check or a rebuild.
#[derive(Clone, Debug)]
pub struct MemoryBounds {
    memory_bytes: usize,
    scratch: PathBuf,
}

impl Default for MemoryBounds {
    fn default() -> Self {
        Self::new(MEMORY_BYTES, None)
    }
}

impl MemoryBounds {
    /// Uses about `memory_bytes`, and spills the rest to a temporary folder in `scratch`. The default of `scratch` is
    /// TMPDIR, or `/var/tmp` if that is not set.
    pub fn new(memory_bytes: usize, scratch: Option<&Path>) -> Self {
        let large = || Some(PathBuf::from(LARGE_FILES)).filter(|path| path.is_dir());
        let named = || std::env::var_os("TMPDIR").map(PathBuf::from);
        let scratch = scratch.map(Path::to_owned).or_else(named).or_else(large);
        Self {
            memory_bytes: memory_bytes.max(MEMORY_BYTES_MIN),
            scratch: scratch.unwrap_or_else(std::env::temp_dir),
        }
    }

    /// The same memory with another directory.
    #[must_use]
    pub fn in_directory(&self, scratch: &Path) -> Self {
        Self {
            scratch: scratch.to_owned(),
            ..*self
        }
    }

    /// A temporary folder for spilled data.
    ///
    /// # Errors
    /// The I/O error, which names the directory.
    pub fn folder(&self) -> io::Result<TempDir> {
        let made = tempfile::Builder::new()
            .prefix("kedge-scratch-")
            .tempdir_in(&self.scratch);
        made.map_err(|error| {
            let path = self.scratch.display();
            io::Error::new(error.kind(), format!("{path}: {error}"))
        })
    }

    /// Share of resources and unwritten rows.
    pub(crate) fn rows_bytes(&self) -> usize {
        self.memory_bytes / 8
    }

    /// Share of data compared with the log.
    pub(crate) fn compared_bytes(&self) -> usize {
        self.memory_bytes / 4
    }

    /// Options of a store with its share of the memory.
    pub(crate) fn of_store(&self, options: StoreOptions) -> StoreOptions {
        let part = (self.memory_bytes / 16).clamp(8 * MIB, 64 * MIB);
        StoreOptions {
            block_cache_bytes: part,
            memtable_bytes: part,
            segments: kedge_log::LogOptions {
                cache_bytes: (part / 2) as u64,
                ..options.segments
            },
            ..options
        }
    }
}
