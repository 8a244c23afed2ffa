//! A disk that reports to a test the reads and syncs of its files.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use crate::env::simulated::SimulatedEnv;
use crate::env::{Env, FileHandle, OpenMode};

/// An event on a file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Happened {
    /// This many bytes were read.
    Read(u64),
    /// It was synced.
    Synced,
}

/// Called after each event.
type Watcher = dyn Fn(&Path, Happened) + Send + Sync;

/// Wraps a disk and forwards all calls.
#[derive(Clone)]
pub(crate) struct Watched {
    env: SimulatedEnv,
    watcher: Arc<Watcher>,
}

struct WatchedFile {
    file: Arc<dyn FileHandle>,
    path: PathBuf,
    watcher: Arc<Watcher>,
}

impl Watched {
    pub(crate) fn new(
        env: &SimulatedEnv,
        watcher: impl Fn(&Path, Happened) + Send + Sync + 'static,
    ) -> Self {
        Self {
            env: env.clone(),
            watcher: Arc::new(watcher),
        }
    }
}

impl std::fmt::Debug for Watched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watched").finish_non_exhaustive()
    }
}

impl Env for Watched {
    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.env.create_dir(dir)
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn FileHandle>> {
        Ok(Arc::new(WatchedFile {
            file: self.env.open(path, mode)?,
            path: path.to_owned(),
            watcher: Arc::clone(&self.watcher),
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.env.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.env.link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.env.remove(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.env.list(dir)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.env.sync_dir(dir)
    }

    fn now(&self) -> Instant {
        self.env.now()
    }

    fn unix_ms(&self) -> u64 {
        self.env.unix_ms()
    }

    fn passed_ms(&self) -> u64 {
        self.env.passed_ms()
    }

    fn free_bytes(&self, dir: &Path) -> io::Result<u64> {
        self.env.free_bytes(dir)
    }

    fn random(&self, out: &mut [u8]) -> io::Result<()> {
        self.env.random(out)
    }
}

impl FileHandle for WatchedFile {
    fn read_at(&self, out: &mut [u8], offset: u64) -> io::Result<usize> {
        let read = self.file.read_at(out, offset)?;
        (self.watcher)(&self.path, Happened::Read(read as u64));
        Ok(read)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.file.write_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()?;
        (self.watcher)(&self.path, Happened::Synced);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
}
