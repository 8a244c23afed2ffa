//! A process's resources: memory, threads, open files. Read from `/proc`.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The interval between readings of memory for its peak.
const INTERVAL: Duration = Duration::from_millis(50);

/// One reading.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vitals {
    pub(crate) memory_kib: u64,
    pub(crate) threads: u64,
    pub(crate) sockets: u64,
    /// Open files other than sockets, including the store's.
    pub(crate) files: u64,
}

fn status(process: u32, field: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let value = line.unwrap().trim_start_matches(':').split_whitespace();
    value.take(1).collect::<String>().parse().unwrap()
}

/// Resident memory.
pub(crate) fn memory_kib(process: u32) -> u64 {
    status(process, "VmRSS")
}

impl Vitals {
    /// The process's present vitals.
    pub(crate) fn of(process: u32) -> Self {
        let (mut sockets, mut files) = (0, 0);
        for entry in fs::read_dir(format!("/proc/{process}/fd")).unwrap() {
            // A file may be closed while the folder is read.
            let Ok(target) = entry.and_then(|entry| fs::read_link(entry.path())) else {
                continue;
            };
            if target.to_string_lossy().starts_with("socket:") {
                sockets += 1;
            } else {
                files += 1;
            }
        }
        Self {
            memory_kib: memory_kib(process),
            threads: status(process, "Threads"),
            sockets,
            files,
        }
    }
}

/// Tracks the peak of a process's memory.
pub(crate) struct Peak {
    ends: Arc<AtomicBool>,
    most_kib: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl Peak {
    /// Tracks from now on.
    pub(crate) fn watch(process: u32) -> Self {
        let (ends, most_kib) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicU64::new(0)),
        );
        let (ended, most) = (Arc::clone(&ends), Arc::clone(&most_kib));
        let thread = std::thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                most.fetch_max(memory_kib(process), Ordering::Relaxed);
                std::thread::sleep(INTERVAL);
            }
        });
        Self {
            ends,
            most_kib,
            thread,
        }
    }

    pub(crate) fn kib(self) -> u64 {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.join().expect("the server runs");
        self.most_kib.load(Ordering::Relaxed)
    }
}
