//! Simulated machine: the disk of `kedge_runtime::env::simulated`, and clocks that follow the runtime's paused time, so that
//! timers and clocks agree. The wall clock can deviate from them.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kedge_runtime::env::simulated::SimulatedEnv;
use kedge_runtime::env::{Env, FileHandle, OpenMode};
use parking_lot::Mutex;

/// Wall clock at the start of a run, milliseconds.
pub(crate) const START_MS: u64 = 1_800_000_000_000;

#[derive(Debug, Default)]
struct SimulatedClock {
    /// Start of the process, in the runtime's time.
    begun: Option<tokio::time::Instant>,
    /// Length of the earlier processes.
    before: Duration,
    /// Offset of the wall clock.
    ahead_ms: i64,
    /// Time at which the wall clock stands still.
    stands_at_ms: Option<u64>,
}

impl SimulatedClock {
    fn passed(&self) -> Duration {
        let since = self.begun.map(|begun| begun.elapsed());
        self.before + since.unwrap_or_default()
    }

    fn unix_ms(&self) -> u64 {
        let true_ms = START_MS + self.passed().as_millis() as u64;
        let shown_ms = true_ms.saturating_add_signed(self.ahead_ms);
        self.stands_at_ms.unwrap_or(shown_ms)
    }
}

/// The machine; clones share it.
#[derive(Clone, Debug)]
pub(crate) struct SimulatedMachine {
    pub(crate) disk: SimulatedEnv,
    clock: Arc<Mutex<SimulatedClock>>,
}

impl SimulatedMachine {
    pub(crate) fn new() -> Self {
        Self {
            disk: SimulatedEnv::new(),
            clock: Arc::default(),
        }
    }

    /// Starts a process with a new runtime.
    pub(crate) fn begin(&self) {
        self.clock.lock().begun = Some(tokio::time::Instant::now());
    }

    /// Like [`Self::begin`], with so much time passed since the run began; used for several machines in parallel.
    pub(crate) fn begin_at(&self, passed: Duration) {
        let mut clock = self.clock.lock();
        clock.before = passed;
        clock.begun = Some(tokio::time::Instant::now());
    }

    /// Ends the process. The time stands still until the next one begins.
    pub(crate) fn end(&self) {
        let mut clock = self.clock.lock();
        clock.before = clock.passed();
        clock.begun = None;
    }

    /// Sets the wall clock's offset from the true time.
    pub(crate) fn set_ahead(&self, ahead_ms: i64) {
        let mut clock = self.clock.lock();
        clock.ahead_ms = ahead_ms;
        clock.stands_at_ms = None;
    }

    pub(crate) fn stop_clock(&self) {
        let mut clock = self.clock.lock();
        clock.stands_at_ms = Some(clock.unix_ms());
    }
}

impl Env for SimulatedMachine {
    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn unix_ms(&self) -> u64 {
        self.clock.lock().unix_ms()
    }

    fn passed_ms(&self) -> u64 {
        self.clock.lock().passed().as_millis() as u64
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.disk.create_dir(dir)
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn FileHandle>> {
        self.disk.open(path, mode)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.disk.list(dir)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.disk.sync_dir(dir)
    }

    fn free_bytes(&self, dir: &Path) -> io::Result<u64> {
        self.disk.free_bytes(dir)
    }

    fn random(&self, out: &mut [u8]) -> io::Result<()> {
        self.disk.random(out)
    }
}
