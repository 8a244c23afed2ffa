//! Data that a process leaves on the disk, and its faults between processes. The rows are in a RocksDB directory on the
//! real disk: they may be kept, lost or replaced by an earlier process's, because the log restores them. The log is on
//! the simulated disk, where an older copy may replace it for a while.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kedge_runtime::env::Env;
use kedge_storage::{LogOptions, SideKeys, StoreOptions};
use tempfile::TempDir;

use crate::client::{self, DOMAIN};
use crate::machine::SimulatedMachine;
use crate::plan::Violation;

/// Key of the sequencer.
pub(crate) const SEQUENCER: u8 = 0x5e;

/// Files of a simulated directory.
type DirectoryImage = Vec<(PathBuf, Vec<u8>)>;

pub(crate) struct EarlierLog {
    files: DirectoryImage,
    /// Number of batches; known after the next start.
    pub(crate) batches: Option<u64>,
}

/// Data directory of a run.
pub(crate) struct RunDirectory {
    dir: TempDir,
    machine: SimulatedMachine,
    has_old_rows: bool,
}

fn failed(error: io::Error) -> Violation {
    Violation::new("the simulator's own files", error)
}

/// A folder in memory, if possible: RocksDB syncs its files, which is unnecessary here.
pub(crate) fn temporary() -> io::Result<TempDir> {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory)
    } else {
        tempfile::tempdir()
    }
}

impl RunDirectory {
    pub(crate) fn new(machine: SimulatedMachine) -> Result<Self, Violation> {
        Ok(Self {
            dir: temporary().map_err(failed)?,
            machine,
            has_old_rows: false,
        })
    }

    fn store(&self) -> PathBuf {
        self.dir.path().join("store")
    }

    fn log(&self) -> PathBuf {
        self.dir.path().join("log")
    }

    fn old(&self) -> PathBuf {
        self.dir.path().join("old")
    }

    /// An empty folder for rows rebuilt from the log.
    pub(crate) fn made(&self) -> Result<PathBuf, Violation> {
        let made = self.dir.path().join("made");
        if made.is_dir() {
            fs::remove_dir_all(&made).map_err(failed)?;
        }
        Ok(made.join("store"))
    }

    /// The whole folder.
    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Store options: small segments, and few rows in memory.
    pub(crate) fn options(&self) -> Result<StoreOptions, Violation> {
        let sequencer = client::key(SEQUENCER)?.address();
        let mut segments = LogOptions {
            first_segment_bytes: 16 << 10,
            segment_bytes: 96 << 10,
            cache_bytes: 64 << 10,
            ..LogOptions::default()
        };
        segments.compression.level = 1;
        segments.compression.block_bytes = 16 << 10;
        Ok(StoreOptions {
            env: std::sync::Arc::new(self.machine.clone()),
            high_water_path: Some(self.dir.path().join("high-water")),
            side_keys: SideKeys::one(1, [1; 32]),
            block_cache_bytes: 4 << 20,
            memtable_bytes: 4 << 20,
            replay_bytes_max: 256 << 10,
            segments,
            ..StoreOptions::of_store(&self.store(), DOMAIN, sequencer)
        })
    }

    /// Deletes the rows, with everything else in their folder.
    pub(crate) fn lose_rows(&self) -> Result<(), Violation> {
        if self.store().is_dir() {
            fs::remove_dir_all(self.store()).map_err(failed)?;
        }
        self.remove(&self.store().join("action-ids"))
    }

    /// Backs up the rows, or restores the backup.
    pub(crate) fn old_rows(&mut self) -> Result<(), Violation> {
        let (store, old) = (self.store(), self.old());
        if self.has_old_rows {
            if store.is_dir() {
                fs::remove_dir_all(&store).map_err(failed)?;
            }
            fs::rename(&old, &store).map_err(failed)?;
            self.has_old_rows = false;
        } else if store.is_dir() {
            copy(&store, &old).map_err(failed)?;
            self.has_old_rows = true;
        }
        Ok(())
    }

    pub(crate) fn copy_log(&self) -> Result<EarlierLog, Violation> {
        let files = self.image(&self.log())?;
        let batches = None;
        Ok(EarlierLog { files, batches })
    }

    /// Replaces the log by a copy, and deletes the rows.
    pub(crate) fn put_log(&self, copy: &EarlierLog) -> Result<(), Violation> {
        self.lose_rows()?;
        self.remove(&self.log())?;
        for (path, bytes) in &copy.files {
            self.machine.disk.put(path, bytes.clone());
        }
        Ok(())
    }

    /// Deletes the log and the rows.
    pub(crate) fn lose_log(&self) -> Result<(), Violation> {
        self.put_log(&EarlierLog {
            files: Vec::new(),
            batches: None,
        })
    }

    fn image(&self, dir: &Path) -> Result<DirectoryImage, Violation> {
        let names = self.machine.list(dir).map_err(failed)?;
        let of = |name: String| {
            let path = dir.join(name);
            let bytes = self.machine.disk.contents(&path)?;
            Some((path, bytes))
        };
        Ok(names.into_iter().filter_map(of).collect())
    }

    fn remove(&self, dir: &Path) -> Result<(), Violation> {
        for name in self.machine.list(dir).map_err(failed)? {
            self.machine.remove(&dir.join(name)).map_err(failed)?;
        }
        self.machine.sync_dir(dir).map_err(failed)
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
