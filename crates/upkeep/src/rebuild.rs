//! Rebuild of a store from its log: all rows are written to a new folder and verified there. One system call then swaps
//! the two folders. The log is unchanged.

use std::io;
use std::path::{Path, PathBuf};

use kedge_config::secrets::SecretError;
use kedge_config::state_file;
use kedge_protocol::Address;
use kedge_protocol::eip712::Domain;
use kedge_replay::catch_up::catch_up;
use kedge_storage::verify::StoreVerifyProgress;
use kedge_storage::{CommitError, MissingMark, Store, StoreAccess, StoreOpenError, StoreOptions};
use rustix::fs::{CWD, FlockOperation, RenameFlags};

use crate::bounds::MemoryBounds;
use crate::side_keys;
use crate::verify::{StoreCheckLevel, StoreVerifier, StoreVerifySummary, VerifyError};

/// The store's folder, inside the data directory.
const STORE: &str = "store";
/// Folder of the new store during the build.
const MAKING: &str = "store.rebuild";
/// Folder of spilled data during the build.
const SCRATCH: &str = "rebuild.scratch";
/// Marker file of an incomplete new store.
const UNFINISHED: &str = "UNFINISHED";
/// Folder of the replaced store.
const DAMAGED: &str = "store.damaged";

/// Why a store was not rebuilt. The old one is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum RebuildError {
    /// The log does not open or cannot be applied, or the new store does not open.
    #[error(transparent)]
    Open(#[from] StoreOpenError),
    /// A server has the store open.
    #[error("a process uses the store {0}: stop the server first")]
    InUse(PathBuf),
    /// Keys of the log's side entries are not available.
    #[error(transparent)]
    Keys(#[from] SecretError),
    #[error("the new store could not be written: {0}")]
    Write(String),
    #[error("the store rebuilt from the log is not valid, so the old store stays: {0}")]
    Verify(#[from] VerifyError),
    #[error("{path}: {source}", path = .path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl From<CommitError> for RebuildError {
    fn from(error: CommitError) -> Self {
        Self::Write(error.to_string())
    }
}

fn at(path: &Path) -> impl Fn(io::Error) -> RebuildError {
    move |source| RebuildError::Io {
        path: path.to_owned(),
        source,
    }
}

/// Result of a rebuild.
#[derive(Debug)]
pub struct RebuildSummary {
    /// Contents of the new store, as counted by its verification.
    pub summary: StoreVerifySummary,
    /// New place of the damaged store.
    pub damaged: PathBuf,
}

/// Rebuilds the store in the data directory `data`. Calls `progress` after each batch of the build and the
/// verification.
pub fn rebuild(
    data: &Path,
    (domain, sequencer): (Domain, Address),
    bounds: &MemoryBounds,
    mut progress: impl FnMut(&'static str, StoreVerifyProgress),
) -> Result<RebuildSummary, RebuildError> {
    let (store, making) = (data.join(STORE), data.join(MAKING));
    let lock = locked(&store)?;
    let scratch = cleared(&data.join(SCRATCH))?;
    let bounds = bounds.in_directory(&scratch);
    let side_keys = side_keys::read(&data.join("keys"))?;
    let options = || {
        bounds.of_store(StoreOptions {
            side_keys: side_keys.clone(),
            access: StoreAccess::Derive,
            ..StoreOptions::of_store(&making, domain, sequencer)
        })
    };
    let is_begun = put_away(data, &making)?;
    let mut fill = || {
        make(&making, options(), bounds.rows_bytes(), |at| {
            progress("making", at);
        })
    };
    match fill() {
        // The leftovers of an earlier run, perhaps of another version, may be unusable.
        Err(error) if is_begun => {
            tracing::warn!(%error, "the store that an earlier rebuild left is not used");
            std::fs::remove_dir_all(&making).map_err(at(&making))?;
            put_away(data, &making)?;
            fill()?;
        }
        made => made?,
    }
    let verified =
        StoreVerifier::open(&making, domain, sequencer, bounds.clone()).and_then(|verifier| {
            verifier.check(StoreCheckLevel::State, |at| progress("verifying", at))
        });
    let summary = match verified {
        Ok(summary) => summary,
        Err(error) => {
            if is_begun {
                // The leftovers may cause the fault: the next run starts from scratch.
                std::fs::remove_dir_all(&making).map_err(at(&making))?;
            }
            return Err(error.into());
        }
    };
    std::fs::remove_dir_all(&scratch).map_err(at(&scratch))?;
    std::fs::remove_file(making.join(UNFINISHED)).map_err(at(&making))?;
    state_file::sync_directory(&making).map_err(at(&making))?;
    // An atomic swap, so that a whole store has this name at every moment.
    rustix::fs::renameat_with(CWD, &store, CWD, &making, RenameFlags::EXCHANGE)
        .map_err(|error| at(&store)(error.into()))?;
    state_file::sync_directory(data).map_err(at(data))?;
    drop(lock);
    let damaged = set_aside(data, &making)?;
    Ok(RebuildSummary { summary, damaged })
}

/// Takes the store's lock like RocksDB, so no server can have it open.
fn locked(store: &Path) -> Result<std::fs::File, RebuildError> {
    std::fs::create_dir_all(store).map_err(at(store))?;
    let path = store.join("LOCK");
    let file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(at(&path))?;
    rustix::fs::fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| RebuildError::InUse(store.to_owned()))?;
    Ok(file)
}

/// Replaces an earlier run's leftovers by an empty folder.
fn cleared(folder: &Path) -> Result<PathBuf, RebuildError> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(folder)(error)),
        _ => {}
    }
    std::fs::create_dir(folder).map_err(at(folder))?;
    Ok(folder.to_owned())
}

/// Checks an earlier run's leftovers. True for an incomplete store, which is continued, because its rows match some
/// frame of the log. A complete one is renamed.
fn put_away(data: &Path, making: &Path) -> Result<bool, RebuildError> {
    if making.join(UNFINISHED).exists() {
        return Ok(true);
    }
    if making.exists() {
        set_aside(data, making)?;
    }
    std::fs::create_dir(making).map_err(at(making))?;
    state_file::put(&making.join(UNFINISHED), b"").map_err(at(making))?;
    state_file::sync_directory(data).map_err(at(data))?;
    Ok(false)
}

/// Renames a store to an unused name.
fn set_aside(data: &Path, store: &Path) -> Result<PathBuf, RebuildError> {
    let mut aside = data.join(DAMAGED);
    let mut number = 1;
    while aside.exists() {
        number += 1;
        aside = data.join(format!("{DAMAGED}-{number}"));
    }
    std::fs::rename(store, &aside).map_err(at(store))?;
    state_file::sync_directory(data).map_err(at(data))?;
    Ok(aside)
}

/// Fills a new store from the log.
fn make(
    making: &Path,
    options: StoreOptions,
    memory_bytes: usize,
    mut progress: impl FnMut(StoreVerifyProgress),
) -> Result<(), RebuildError> {
    let opening = Store::begin(options, MissingMark::ReadOnly)?;
    // A run that was killed while it created the store left remains, which the opening has removed with the mark.
    state_file::put(&making.join(UNFINISHED), b"").map_err(at(making))?;
    let batches_total = opening.log_batches();
    catch_up(&opening, memory_bytes, |done| {
        progress(StoreVerifyProgress {
            batches: done.batches,
            batches_total,
            sequence: done.sequence,
        });
    })?;
    opening.finish()?.close()?;
    Ok(())
}
