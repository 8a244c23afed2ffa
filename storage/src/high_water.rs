//! The high-water mark of released headers. It is kept outside the data directory, so that a store restored from an
//! earlier copy is recognised: signing those batch numbers again would be equivocation.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kedge_protocol::Hash;
use kedge_protocol::hash::keccak;
use kedge_runtime::env::{Env, FileHandle, OpenMode, read_up_to, write_all};

const MAGIC: [u8; 8] = *b"kedgehw1";
const BODY_BYTES: usize = 48;
const SLOT_BYTES: usize = BODY_BYTES + 8;
/// Distance that puts slots in different disk sectors.
const SLOT_DISTANCE: u64 = 4096;
/// Slots that take turns as the mark advances, without a sync: a crash of the machine can damage both. The third slot
/// is durable before the first advance, and unchanged until the next start.
const TURNS: [u64; 2] = [0, SLOT_DISTANCE];
const AT_START: u64 = 2 * SLOT_DISTANCE;

/// Number of released batches and their head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReleasedHead {
    pub batches: u64,
    /// The head after the last released batch.
    pub head: Hash,
}

impl ReleasedHead {
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

/// Content of the mark's file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HighWaterMark {
    /// Headers were released up to this one.
    Released(ReleasedHead),
    /// There is no file: the released headers are unknown.
    Missing,
    /// The file has no valid mark; the text states why.
    Unreadable(String),
}

/// Error of writing the mark.
#[derive(Debug, thiserror::Error)]
#[error("the high-water mark {path}: {source}")]
pub struct HighWaterError {
    path: PathBuf,
    source: io::Error,
}

/// Open file of the mark.
pub struct HighWater {
    file: Arc<dyn FileHandle>,
    path: PathBuf,
    /// Released batches when it was opened: a node that reads an older part of its log again must not set the mark
    /// back.
    batches_before: u64,
}

impl std::fmt::Debug for HighWater {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HighWater")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl HighWater {
    /// Reads the mark at `path`.
    pub fn read(env: &dyn Env, path: &Path) -> HighWaterMark {
        let file = match env.open(path, OpenMode::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return HighWaterMark::Missing,
            Err(error) => return HighWaterMark::Unreadable(format!("it cannot be read: {error}")),
        };
        match file.len() {
            Ok(0) => return HighWaterMark::Unreadable("it is empty".into()),
            Ok(_) => {}
            Err(error) => return HighWaterMark::Unreadable(format!("it cannot be read: {error}")),
        }
        TURNS
            .into_iter()
            .chain([AT_START])
            .filter_map(|offset| {
                let mut slot = [0; SLOT_BYTES];
                let read = read_up_to(&*file, &mut slot, offset).ok()?;
                (read == SLOT_BYTES).then(|| ReleasedHead::of_slot(&slot))?
            })
            .max_by_key(|released| released.batches)
            .map_or_else(
                || HighWaterMark::Unreadable("none of its slots is valid".into()),
                HighWaterMark::Released,
            )
    }

    /// Opens an existing mark, which was read as `released`, for advances.
    pub fn open(
        env: &dyn Env,
        path: &Path,
        released: ReleasedHead,
    ) -> Result<Self, HighWaterError> {
        let open = || {
            let file = env.open(path, OpenMode::Write)?;
            // At any time at least one slot on the disk is whole.
            file.sync()?;
            write_all(&*file, &released.to_slot(), AT_START)?;
            file.sync()?;
            Ok(file)
        };
        Self::of_file(open(), path, released)
    }

    /// Writes a new mark at `path`, replacing any file there. It is written elsewhere, made durable and then renamed,
    /// so a crash leaves the old file or the whole new one.
    pub fn put(env: &dyn Env, path: &Path, released: ReleasedHead) -> Result<Self, HighWaterError> {
        let put = || {
            let mut fresh = path.as_os_str().to_owned();
            fresh.push(".new");
            let fresh = Path::new(&fresh);
            match env.remove(fresh) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let file = env.open(fresh, OpenMode::Create)?;
            // All slots, so that an advance never makes the file longer.
            for offset in TURNS.into_iter().chain([AT_START]) {
                write_all(&*file, &released.to_slot(), offset)?;
            }
            file.sync()?;
            env.rename(fresh, path)?;
            let parent = path
                .parent()
                .filter(|parent| !parent.as_os_str().is_empty());
            env.sync_dir(parent.unwrap_or(Path::new(".")))?;
            Ok(file)
        };
        Self::of_file(put(), path, released)
    }

    fn of_file(
        file: io::Result<Arc<dyn FileHandle>>,
        path: &Path,
        released: ReleasedHead,
    ) -> Result<Self, HighWaterError> {
        let path = path.to_owned();
        match file {
            Ok(file) => Ok(Self {
                file,
                path,
                batches_before: released.batches,
            }),
            Err(source) => Err(HighWaterError { path, source }),
        }
    }

    /// Advances the mark to `released`. Call it after the headers' commit and before they leave. The page cache
    /// outlives the process; only a crash of the machine can lose the last update.
    pub fn advance(&self, released: ReleasedHead) -> io::Result<()> {
        if released.batches < self.batches_before {
            return Ok(());
        }
        let offset = TURNS[usize::from(released.batches % 2 == 1)];
        let written = write_all(&*self.file, &released.to_slot(), offset);
        written.map_err(|error| self.named("writing", &error))
    }

    /// Number of released batches when the mark was opened.
    pub fn batches_before(&self) -> u64 {
        self.batches_before
    }

    /// Adds the operation and the file's name to an error.
    fn named(&self, doing: &str, error: &io::Error) -> io::Error {
        let text = format!("{doing} {}: {error}", self.path.display());
        io::Error::new(error.kind(), text)
    }

    /// Writes the mark to the disk, at a clean close.
    pub fn sync(&self) -> io::Result<()> {
        let synced = self.file.sync();
        synced.map_err(|error| self.named("syncing", &error))
    }
}
