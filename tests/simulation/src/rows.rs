//! What a process leaves on the disk, and what becomes of it before the next one starts. The rows are in RocksDB's own
//! directory on the real disk: they may stay, be lost, or be those of an earlier process, because the log makes them
//! again. The log is on the simulated disk, where an older copy may take its place for a while.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kedge_runtime::env::Env;
use kedge_storage::{LogOptions, SideKeys, StoreOptions};
use tempfile::TempDir;

use crate::client::{self, DOMAIN};
use crate::machine::Machine;
use crate::plan::Violation;

/// The sequencer's key.
pub(crate) const SEQUENCER: u8 = 0x5e;

/// The files of a directory of the simulated disk.
type Image = Vec<(PathBuf, Vec<u8>)>;

/// An older copy of the log.
pub(crate) struct Copy {
    files: Image,
    /// How many batches it holds; known after the next start.
    pub(crate) batches: Option<u64>,
}

/// Where a run keeps its data.
pub(crate) struct Place {
    dir: TempDir,
    machine: Machine,
    has_old_rows: bool,
}

fn failed(error: io::Error) -> Violation {
    Violation::new("the simulator's own files", error)
}

/// A folder in memory, if the system has one: RocksDB syncs its files, which nobody needs here.
pub(crate) fn temporary() -> io::Result<TempDir> {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory)
    } else {
        tempfile::tempdir()
    }
}

impl Place {
    pub(crate) fn new(machine: Machine) -> Result<Self, Violation> {
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

    /// An empty folder for rows that are made again from the log.
    pub(crate) fn made(&self) -> Result<PathBuf, Violation> {
        let made = self.dir.path().join("made");
        if made.is_dir() {
            fs::remove_dir_all(&made).map_err(failed)?;
        }
        Ok(made.join("store"))
    }

    /// The folder of everything.
    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// How the store is opened: with small segments, and few rows in memory.
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

    /// The rows are lost, with what else is in their folder.
    pub(crate) fn lose_rows(&self) -> Result<(), Violation> {
        if self.store().is_dir() {
            fs::remove_dir_all(self.store()).map_err(failed)?;
        }
        self.remove(&self.store().join("action-ids"))
    }

    /// Keeps the rows as they are, or puts back those that were kept.
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

    /// A copy of the log as it is.
    pub(crate) fn copy_log(&self) -> Result<Copy, Violation> {
        let files = self.image(&self.log())?;
        let batches = None;
        Ok(Copy { files, batches })
    }

    /// Puts a copy in the place of the log, and loses the rows.
    pub(crate) fn put_log(&self, copy: &Copy) -> Result<(), Violation> {
        self.lose_rows()?;
        self.remove(&self.log())?;
        for (path, bytes) in &copy.files {
            self.machine.disk.put(path, bytes.clone());
        }
        Ok(())
    }

    /// The log and the rows are lost.
    pub(crate) fn lose_log(&self) -> Result<(), Violation> {
        self.put_log(&Copy {
            files: Vec::new(),
            batches: None,
        })
    }

    fn image(&self, dir: &Path) -> Result<Image, Violation> {
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
