//! A simulated clock, and a disk in memory that tracks synced data. The disk can fail, fill up or stop at a chosen
//! operation. A crash drops unsynced data: all of it, none, or some sectors of it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Env, FileHandle, OpenMode};
use parking_lot::{Mutex, MutexGuard};
use rustix::io::Errno;

/// Unit of atomic disk writes.
const SECTOR_BYTES: usize = 512;

/// Effect of an injected fault on an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DiskFault {
    /// The machine stops before the operation; nothing works until [`SimulatedEnv::crash`].
    Stop,
    /// The operation fails with this kind of error. A failed sync discards what it should have written, as the
    /// page cache does.
    Error(io::ErrorKind),
    /// A write stores half of its bytes, then fails with this kind of error; other operations fail without effect.
    Half(io::ErrorKind),
    /// A write stores half of its bytes and reports so; other operations succeed.
    Short,
    /// The operation fails without effect because the process has no file descriptor left.
    NoDescriptor,
}

/// Effect of a crash on unsynced data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CrashLoss {
    All,
    /// All of it happened to be written.
    None,
    /// Each sector, and each directory change up to some point, was written or not, depending on this seed.
    Some(u64),
}

#[derive(Default, Clone)]
struct SimulatedContents {
    now: Vec<u8>,
    durable: Vec<u8>,
    /// Writes since the last sync, in order.
    unsynced: Vec<(usize, Vec<u8>)>,
}

#[derive(Clone)]
enum DirChange {
    Link(PathBuf, usize),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
}

/// Simulated time, which passes only through [`SimulatedEnv::advance`].
struct SimulatedTime {
    begun: Instant,
    passed: Duration,
    unix_ms: u64,
}

impl Default for SimulatedTime {
    fn default() -> Self {
        Self {
            begun: Instant::now(),
            passed: Duration::ZERO,
            unix_ms: 0,
        }
    }
}

#[derive(Default)]
struct SimulatedDisk {
    time: SimulatedTime,
    files: Vec<SimulatedContents>,
    names: BTreeMap<PathBuf, usize>,
    durable_names: BTreeMap<PathBuf, usize>,
    dir_changes: Vec<DirChange>,
    operations: u64,
    syncs: u64,
    faults: BTreeMap<u64, DiskFault>,
    stopped: bool,
    /// Number of crashes and restarts: files opened before the last one no longer work.
    life: u64,
    random: u64,
    /// Limit of all files' bytes together.
    room: Option<usize>,
}

/// The simulated system; clones share it.
#[derive(Clone, Default)]
pub struct SimulatedEnv(Arc<Mutex<SimulatedDisk>>);

impl std::fmt::Debug for SimulatedEnv {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimulatedEnv").finish_non_exhaustive()
    }
}

struct SimulatedFile {
    env: SimulatedEnv,
    number: usize,
    life: u64,
}

enum OperationVerdict {
    Do,
    Half(Option<io::ErrorKind>),
}

impl SimulatedDisk {
    /// Counts an operation and applies its fault, if any.
    fn operation(&mut self) -> io::Result<OperationVerdict> {
        if self.stopped {
            return Err(io::Error::other("the machine stopped"));
        }
        self.operations += 1;
        match self.faults.get(&self.operations) {
            None => Ok(OperationVerdict::Do),
            Some(DiskFault::Stop) => {
                self.stopped = true;
                Err(io::Error::other("the machine stopped"))
            }
            Some(DiskFault::Error(kind)) => Err((*kind).into()),
            Some(DiskFault::NoDescriptor) => Err(Errno::MFILE.into()),
            Some(DiskFault::Half(kind)) => Ok(OperationVerdict::Half(Some(*kind))),
            Some(DiskFault::Short) => Ok(OperationVerdict::Half(None)),
        }
    }

    /// Counts an operation that cannot be half done.
    fn whole(&mut self) -> io::Result<()> {
        match self.operation()? {
            OperationVerdict::Half(Some(kind)) => Err(kind.into()),
            OperationVerdict::Do | OperationVerdict::Half(None) => Ok(()),
        }
    }

    fn used(&self) -> usize {
        let of = |number: &usize| self.files[*number].now.len();
        self.names.values().map(of).sum()
    }

    fn change(&mut self, change: DirChange) {
        apply(&mut self.names, &change);
        self.dir_changes.push(change);
    }

    fn next_random(&mut self) -> u64 {
        // SplitMix64.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

fn apply(names: &mut BTreeMap<PathBuf, usize>, change: &DirChange) {
    match change {
        DirChange::Link(path, number) => {
            names.insert(path.clone(), *number);
        }
        DirChange::Rename(from, to) => {
            if let Some(number) = names.remove(from) {
                names.insert(to.clone(), number);
            }
        }
        DirChange::Remove(path) => {
            names.remove(path);
        }
    }
}

fn put(contents: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    if contents.len() < at + bytes.len() {
        contents.resize(at + bytes.len(), 0);
    }
    contents[at..at + bytes.len()].copy_from_slice(bytes);
}

impl SimulatedEnv {
    /// An empty disk without faults. The wall clock is at the epoch.
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, SimulatedDisk> {
        self.0.lock()
    }

    /// Advances every clock.
    pub fn advance(&self, by: Duration) {
        let mut state = self.state();
        state.time.passed += by;
        state.time.unix_ms += by.as_millis() as u64;
    }

    /// Sets only the wall clock.
    pub fn set_unix_ms(&self, unix_ms: u64) {
        self.state().time.unix_ms = unix_ms;
    }

    /// Number of modifying operations requested so far.
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// Number of file syncs.
    pub fn syncs(&self) -> u64 {
        self.state().syncs
    }

    /// Gives the `number`-th operation from now on (1 is the next) a fault.
    pub fn fail(&self, number: u64, fault: DiskFault) {
        let mut state = self.state();
        let at = state.operations + number;
        state.faults.insert(at, fault);
    }

    /// Removes the faults that are still to come.
    pub fn mend(&self) {
        self.state().faults.clear();
    }

    /// Limits the bytes of all files together; `None` removes the limit.
    pub fn set_room(&self, bytes: Option<usize>) {
        self.state().room = bytes;
    }

    /// Bytes of all files together.
    pub fn used(&self) -> usize {
        self.state().used()
    }

    /// Whether a fault stopped the machine.
    pub fn stopped(&self) -> bool {
        self.state().stopped
    }

    /// The machine loses power and restarts: faults are cleared, and unsynced data is lost as `loss` states.
    pub fn crash(&self, loss: CrashLoss) {
        let mut state = self.state();
        if let CrashLoss::Some(seed) = loss {
            state.random = seed;
        }
        let changes = std::mem::take(&mut state.dir_changes);
        let kept = match loss {
            CrashLoss::All => 0,
            CrashLoss::None => changes.len(),
            CrashLoss::Some(_) => (state.next_random() % (changes.len() as u64 + 1)) as usize,
        };
        let mut names = std::mem::take(&mut state.durable_names);
        changes[..kept]
            .iter()
            .for_each(|change| apply(&mut names, change));
        for number in 0..state.files.len() {
            let mut file = std::mem::take(&mut state.files[number]);
            for (at, bytes) in std::mem::take(&mut file.unsynced) {
                let mut done = 0;
                while done < bytes.len() {
                    let sector_ends = SECTOR_BYTES - (at + done) % SECTOR_BYTES;
                    let end = (done + sector_ends).min(bytes.len());
                    let written = match loss {
                        CrashLoss::All => false,
                        CrashLoss::None => true,
                        CrashLoss::Some(_) => state.next_random() & 1 == 0,
                    };
                    if written {
                        put(&mut file.durable, at + done, &bytes[done..end]);
                    }
                    done = end;
                }
            }
            file.now.clone_from(&file.durable);
            state.files[number] = file;
        }
        state.names.clone_from(&names);
        state.durable_names = names;
        state.faults.clear();
        state.stopped = false;
        state.life += 1;
    }

    /// The process ends and another one starts, on a machine that keeps running: written data stays, and is as durable
    /// as before. Files that were open no longer work, and faults are cleared.
    pub fn restart(&self) {
        let mut state = self.state();
        state.faults.clear();
        state.stopped = false;
        state.life += 1;
    }

    /// Flips bits of a byte on the disk.
    pub fn damage(&self, path: &Path, offset: usize, bits: u8) {
        let mut state = self.state();
        if let Some(&number) = state.names.get(path) {
            let file = &mut state.files[number];
            file.now[offset] ^= bits;
            if let Some(byte) = file.durable.get_mut(offset) {
                *byte ^= bits;
            }
        }
    }

    pub fn contents(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.state();
        let number = state.names.get(path)?;
        Some(state.files[*number].now.clone())
    }

    /// Puts a file on the disk, immediately durable.
    pub fn put(&self, path: &Path, bytes: Vec<u8>) {
        let mut state = self.state();
        let number = state.files.len();
        state.files.push(SimulatedContents {
            durable: bytes.clone(),
            now: bytes,
            unsynced: Vec::new(),
        });
        state.names.insert(path.to_owned(), number);
        state.durable_names.insert(path.to_owned(), number);
    }

    /// A disk with the same files, all durable, and without faults.
    #[must_use]
    pub fn copy(&self) -> Self {
        let copy = Self::new();
        let state = self.state();
        for (path, number) in &state.names {
            copy.put(path, state.files[*number].now.clone());
        }
        copy
    }
}

impl Env for SimulatedEnv {
    fn now(&self) -> Instant {
        let state = self.state();
        state.time.begun + state.time.passed
    }

    fn unix_ms(&self) -> u64 {
        self.state().time.unix_ms
    }

    fn passed_ms(&self) -> u64 {
        self.state().time.passed.as_millis() as u64
    }

    fn create_dir(&self, _dir: &Path) -> io::Result<()> {
        Ok(())
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn FileHandle>> {
        let mut state = self.state();
        let number = if mode == OpenMode::Create {
            state.whole()?;
            let number = state.files.len();
            state.files.push(SimulatedContents::default());
            state.change(DirChange::Link(path.to_owned(), number));
            number
        } else if state.stopped {
            return Err(io::Error::other("the machine stopped"));
        } else {
            let found = state.names.get(path).copied();
            found.ok_or(io::ErrorKind::NotFound)?
        };
        Ok(Arc::new(SimulatedFile {
            env: self.clone(),
            number,
            life: state.life,
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.whole()?;
        if !state.names.contains_key(from) {
            return Err(io::ErrorKind::NotFound.into());
        }
        state.change(DirChange::Rename(from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.whole()?;
        if state.names.contains_key(to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let number = state.names.get(from).copied();
        let number = number.ok_or(io::ErrorKind::NotFound)?;
        state.change(DirChange::Link(to.to_owned(), number));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.whole()?;
        if !state.names.contains_key(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        state.change(DirChange::Remove(path.to_owned()));
        Ok(())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let state = self.state();
        let inside = |path: &&PathBuf| path.parent() == Some(dir);
        let name = |path: &PathBuf| Some(path.file_name()?.to_str()?.to_owned());
        Ok(state.names.keys().filter(inside).filter_map(name).collect())
    }

    fn sync_dir(&self, _dir: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.whole()?;
        state.dir_changes.clear();
        state.durable_names = state.names.clone();
        Ok(())
    }

    fn free_bytes(&self, _dir: &Path) -> io::Result<u64> {
        let state = self.state();
        let free = |room: usize| room.saturating_sub(state.used()) as u64;
        Ok(state.room.map_or(u64::MAX, free))
    }

    fn random(&self, out: &mut [u8]) -> io::Result<()> {
        let mut state = self.state();
        for byte in out {
            *byte = state.next_random() as u8;
        }
        Ok(())
    }
}

impl SimulatedFile {
    fn alive(&self) -> io::Result<MutexGuard<'_, SimulatedDisk>> {
        let state = self.env.state();
        if state.life == self.life && !state.stopped {
            Ok(state)
        } else {
            Err(io::Error::other("the machine stopped"))
        }
    }
}

impl FileHandle for SimulatedFile {
    fn read_at(&self, out: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = self.alive()?;
        let contents = &state.files[self.number].now;
        let from = (offset as usize).min(contents.len());
        let read = out.len().min(contents.len() - from);
        out[..read].copy_from_slice(&contents[from..from + read]);
        Ok(read)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut state = self.alive()?;
        let (taken, error) = match state.operation()? {
            OperationVerdict::Do => (bytes.len(), None),
            OperationVerdict::Half(error) => (bytes.len().div_ceil(2), error),
        };
        let bytes = &bytes[..taken];
        let at = offset as usize;
        let grows = (at + taken).saturating_sub(state.files[self.number].now.len());
        if grows > 0 && state.room.is_some_and(|room| state.used() + grows > room) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let file = &mut state.files[self.number];
        put(&mut file.now, at, bytes);
        file.unsynced.push((at, bytes.to_vec()));
        error.map_or(Ok(taken), |kind| Err(kind.into()))
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.alive()?;
        let verdict = state.whole();
        let stopped = state.stopped;
        state.syncs += 1;
        let file = &mut state.files[self.number];
        match verdict {
            Ok(()) => {
                file.unsynced.clear();
                file.durable.clone_from(&file.now);
                Ok(())
            }
            Err(error) => {
                if !stopped {
                    file.unsynced.clear();
                }
                Err(error)
            }
        }
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.alive()?.files[self.number].now.len() as u64)
    }
}

#[cfg(test)]
mod tests;
