//! Free space of the store's disk. Writes are refused while the store still has room to finish its work.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use kedge_runtime::env::Env;
use kedge_storage::CommitError;

use crate::metric_definitions as metric;

/// How long the store may report a full disk that is not full. RocksDB usually recovers from a full disk within
/// seconds, but sometimes never.
const STUCK_AFTER: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub(crate) struct StoreDisk {
    env: Arc<dyn Env>,
    path: PathBuf,
    reserve_bytes: u64,
    /// Free bytes at the last look.
    last_free_bytes: Arc<AtomicU64>,
}

impl StoreDisk {
    /// The disk of a folder. Writes are accepted while it has this many bytes free.
    pub(crate) fn new(env: Arc<dyn Env>, folder: &Path, reserve_bytes: u64) -> Self {
        Self {
            env,
            path: folder.to_owned(),
            reserve_bytes,
            last_free_bytes: Arc::new(AtomicU64::new(u64::MAX)),
        }
    }

    /// Free bytes at the last look, a fraction of a second ago.
    pub(crate) fn last_free_bytes(&self) -> u64 {
        self.last_free_bytes.load(Ordering::Relaxed)
    }

    fn free_bytes(&self) -> std::io::Result<u64> {
        self.env.free_bytes(&self.path)
    }

    /// Whether there is enough room to accept writes.
    fn has_room(&self) -> bool {
        self.free_bytes()
            .is_ok_and(|free_bytes| free_bytes >= self.reserve_bytes)
    }
}

/// Start of the period in which the store reports a full disk that is not full.
#[derive(Default)]
pub(crate) struct DiskStall(Option<Instant>);

impl DiskStall {
    /// Notes that a step found no room. Fails once that has been wrong for too long. A restart then applies from the
    /// log what the store refused.
    pub(crate) fn note(
        &mut self,
        disk: &StoreDisk,
        why: &str,
        now: Instant,
    ) -> Result<(), CommitError> {
        if !disk.has_room() {
            self.0 = None;
            return Ok(());
        }
        let since = *self.0.get_or_insert(now);
        if now.saturating_duration_since(since) < STUCK_AFTER {
            return Ok(());
        }
        Err(CommitError::Failed(format!(
            "the disk has room again, but the store does not continue ({why}); restart the server"
        )))
    }

    /// Ends the period: a step succeeded.
    pub(crate) fn over(&mut self) {
        self.0 = None;
    }
}

/// Time between looks: the reserve must outlast the writes in between.
const INTERVAL: Duration = Duration::from_millis(200);

/// Starts watching. `full` is true while less than the reserve is free.
pub(crate) fn watch(disk: StoreDisk, full: &Arc<AtomicBool>) {
    let reserve_bytes = disk.reserve_bytes;
    let full = Arc::downgrade(full);
    tokio::spawn(async move {
        while let Some(full) = full.upgrade() {
            match disk.free_bytes() {
                Ok(free_bytes) => {
                    disk.last_free_bytes.store(free_bytes, Ordering::Relaxed);
                    metrics::gauge!(metric::DISK_FREE_BYTES).set(free_bytes as f64);
                    let now_full = free_bytes < reserve_bytes;
                    if full.swap(now_full, Ordering::Relaxed) != now_full {
                        tracing::warn!(now_full, free_bytes, reserve_bytes, "disk space");
                    }
                    metrics::gauge!(metric::DISK_FULL).set(f64::from(u8::from(now_full)));
                }
                Err(error) => tracing::warn!(%error, "the free disk space could not be read"),
            }
            drop(full);
            tokio::time::sleep(INTERVAL).await;
        }
    });
}

#[cfg(test)]
mod tests {
    use kedge_runtime::env::simulated::SimulatedEnv;

    use super::*;

    #[tokio::test]
    async fn the_disk_is_full_below_the_reserve_and_not_at_it() {
        let env = SimulatedEnv::new();
        let disk = StoreDisk::new(Arc::new(env.clone()), Path::new("/"), 100);
        let full = Arc::new(AtomicBool::new(false));
        let becomes = async |is_full| {
            let soon = Duration::from_secs(20);
            let reached = async {
                while full.load(Ordering::Relaxed) != is_full {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            assert!(tokio::time::timeout(soon, reached).await.is_ok());
        };
        env.set_room(Some(99));
        watch(disk.clone(), &full);
        becomes(true).await;
        assert_eq!(disk.last_free_bytes(), 99);
        env.set_room(Some(100));
        becomes(false).await;
        env.set_room(Some(0));
        becomes(true).await;
    }

    // Holds invariant 153.
    #[test]
    fn a_store_that_finds_no_room_where_there_is_some_is_stuck_in_the_end() {
        let env: Arc<dyn Env> = Arc::new(kedge_runtime::env::RealEnv);
        let disk = |bytes| StoreDisk::new(Arc::clone(&env), &std::env::temp_dir(), bytes);
        let (roomy, full) = (disk(0), disk(u64::MAX));
        let begin = Instant::now();
        let at = |s: u64| begin + Duration::from_secs(s);
        let mut stuck = DiskStall::default();
        stuck.note(&roomy, "full", at(0)).unwrap();
        stuck.note(&roomy, "full", at(29)).unwrap();
        // A disk that is really full may stay full.
        stuck.note(&full, "full", at(31)).unwrap();
        stuck.note(&roomy, "full", at(100)).unwrap();
        stuck.over();
        stuck.note(&roomy, "full", at(140)).unwrap();
        let error = stuck.note(&roomy, "full", at(170)).unwrap_err();
        assert!(error.to_string().contains("restart the server"), "{error}");
    }
}
