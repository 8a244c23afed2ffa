//! How much memory a check or a rebuild takes, and where it puts what does not fit into it. The memory does not grow
//! with the log.

use std::io;
use std::path::{Path, PathBuf};

use kedge_storage::StoreOptions;
use tempfile::TempDir;

const MIB: usize = 1024 * 1024;
/// The memory of a check or a rebuild, unless the caller says otherwise.
pub const MEMORY_BYTES: usize = 1024 * MIB;
/// The least memory that a check or a rebuild can do with.
pub const MEMORY_BYTES_MIN: usize = 128 * MIB;
/// Where large temporary files belong: it is on a disk, while the directory of temporary files is often in memory.
const LARGE_FILES: &str = "/var/tmp";

/// The bounds of a check or a rebuild.
#[derive(Clone, Debug)]
pub struct Bounds {
    memory_bytes: usize,
    scratch: PathBuf,
}

impl Default for Bounds {
    fn default() -> Self {
        Self::new(MEMORY_BYTES, None)
    }
}

impl Bounds {
    /// About this much memory. What does not fit into it goes to a folder in `scratch`, which is removed afterwards.
    /// Without `scratch` it is TMPDIR, or `/var/tmp` if that is not set.
    pub fn new(memory_bytes: usize, scratch: Option<&Path>) -> Self {
        let large = || Some(PathBuf::from(LARGE_FILES)).filter(|path| path.is_dir());
        let named = || std::env::var_os("TMPDIR").map(PathBuf::from);
        let scratch = scratch.map(Path::to_owned).or_else(named).or_else(large);
        Self {
            memory_bytes: memory_bytes.max(MEMORY_BYTES_MIN),
            scratch: scratch.unwrap_or_else(std::env::temp_dir),
        }
    }

    /// The same memory, and another directory.
    #[must_use]
    pub fn in_directory(&self, scratch: &Path) -> Self {
        Self {
            scratch: scratch.to_owned(),
            ..*self
        }
    }

    /// A folder for what does not fit into memory.
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

    /// The memory for resources and rows that are not written yet.
    pub(crate) fn rows_bytes(&self) -> usize {
        self.memory_bytes / 8
    }

    /// The memory for what is compared with the log.
    pub(crate) fn compared_bytes(&self) -> usize {
        self.memory_bytes / 4
    }

    /// The options of a store with its part of the memory.
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
