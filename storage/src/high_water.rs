//! The high-water mark: how far signed headers were let out, kept outside the data directory, so
//! that a store restored from before it is recognised. Signing those numbers again would be
//! equivocation.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use kedge_protocol::Hash;
use kedge_protocol::hash::keccak;

const MAGIC: [u8; 8] = *b"kedgehw1";
const BODY_BYTES: usize = 48;
const SLOT_BYTES: usize = BODY_BYTES + 8;
/// Slots lie in different disk sectors: a torn write spoils one of them at most.
const SLOT_DISTANCE: u64 = 4096;

/// How far headers were released.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Released {
    /// How many batches.
    pub batches: u64,
    /// The head after the last of them.
    pub head: Hash,
}

impl Released {
    fn to_slot(self) -> [u8; SLOT_BYTES] {
        let mut slot = [0; SLOT_BYTES];
        slot[..8].copy_from_slice(&MAGIC);
        slot[8..16].copy_from_slice(&self.batches.to_be_bytes());
        slot[16..BODY_BYTES].copy_from_slice(&self.head.0);
        let check = keccak(&slot[..BODY_BYTES]);
        slot[BODY_BYTES..].copy_from_slice(&check.0[..8]);
        slot
    }

    fn of_slot(slot: &[u8; SLOT_BYTES]) -> Option<Self> {
        let (number, rest) = slot[8..].split_first_chunk()?;
        let (head, _) = rest.split_first_chunk()?;
        let released = Self {
            batches: u64::from_be_bytes(*number),
            head: Hash(*head),
        };
        (released.to_slot() == *slot).then_some(released)
    }
}

/// Why the mark cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HighWaterError {
    /// The file cannot be read or made.
    #[error("the high-water mark {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file holds no mark.
    #[error(
        "the high-water mark {0} is damaged: no slot of it checks. Put back a copy of it, or, if you are sure that this store is the newest, remove the file"
    )]
    Damaged(PathBuf),
}

/// The mark's file, held open.
#[derive(Debug)]
pub struct HighWater {
    file: File,
    path: PathBuf,
}

impl HighWater {
    /// What the mark at `path` says; `None` if there is no file.
    pub fn read(path: &Path) -> Result<Option<Released>, HighWaterError> {
        let told = |source| HighWaterError::Io {
            path: path.to_owned(),
            source,
        };
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(told(error)),
        };
        if file.metadata().map_err(told)?.len() == 0 {
            return Ok(None);
        }
        [0, SLOT_DISTANCE]
            .into_iter()
            .filter_map(|offset| {
                let mut slot = [0; SLOT_BYTES];
                file.read_exact_at(&mut slot, offset).ok()?;
                Released::of_slot(&slot)
            })
            .max_by_key(|released| released.batches)
            .map(Some)
            .ok_or_else(|| HighWaterError::Damaged(path.to_owned()))
    }

    /// Opens the mark for moving it on; makes the file if there is none.
    pub fn open(path: &Path) -> Result<Self, HighWaterError> {
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map(|file| Self {
                file,
                path: path.to_owned(),
            })
            .map_err(|source| HighWaterError::Io {
                path: path.to_owned(),
                source,
            })
    }

    /// Notes that headers up to `released` leave. Call it after their commit and before they go.
    /// The page cache outlives the process; only a crash of the machine can lose the last of it.
    pub fn advance(&self, released: Released) -> io::Result<()> {
        let offset = released.batches % 2 * SLOT_DISTANCE;
        let written = self.file.write_all_at(&released.to_slot(), offset);
        written.map_err(|error| self.named("writing", &error))
    }

    /// An error of the file, with what was being done and the file's name.
    fn named(&self, doing: &str, error: &io::Error) -> io::Error {
        let text = format!("{doing} {}: {error}", self.path.display());
        io::Error::new(error.kind(), text)
    }

    /// Brings the mark to the disk: at a clean close.
    pub fn sync(&self) -> io::Result<()> {
        let synced = self.file.sync_data();
        synced.map_err(|error| self.named("syncing", &error))
    }
}
