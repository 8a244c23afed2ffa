//! Last uses of API keys: coarse, written in groups, outside the log.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kedge_actors::Engine;
use kedge_protocol::Id;
use kedge_storage::SideWrite;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

/// Shortest interval between two noted uses of a key.
const NOTED_EVERY_MS: u64 = 60_000;
/// Interval between two writes to the store.
const GATHERING: Duration = Duration::from_secs(1);
/// Keys collected for one write. Further keys are noted at a later use.
const GATHERED_MAX: usize = 10_000;

#[derive(Default)]
struct KeyUseBuffer {
    uses: Mutex<HashMap<Id, u64>>,
    some: Notify,
}

impl KeyUseBuffer {
    fn uses(&self) -> MutexGuard<'_, HashMap<Id, u64>> {
        self.uses.lock()
    }
}

pub struct KeyUses {
    gathered: Arc<KeyUseBuffer>,
    storing: tokio::task::AbortHandle,
}

impl Drop for KeyUses {
    fn drop(&mut self) {
        self.storing.abort();
    }
}

impl KeyUses {
    /// Starts the task that stores noted uses.
    pub fn start(engine: Engine) -> Self {
        let gathered = Arc::new(KeyUseBuffer::default());
        let storing = tokio::spawn(store(engine, Arc::clone(&gathered)));
        Self {
            gathered,
            storing: storing.abort_handle(),
        }
    }

    /// Notes a use, unless one was noted within the last minute; `last_ms` holds that time.
    pub fn note(&self, key: Id, last_ms: &AtomicU64, now_ms: u64) {
        let before = last_ms.load(Ordering::Relaxed);
        if now_ms < before.saturating_add(NOTED_EVERY_MS) {
            return;
        }
        let won = last_ms.compare_exchange(before, now_ms, Ordering::Relaxed, Ordering::Relaxed);
        if won.is_err() {
            return;
        }
        let mut uses = self.gathered.uses();
        if uses.len() < GATHERED_MAX {
            uses.insert(key, now_ms);
            drop(uses);
            self.gathered.some.notify_one();
        }
    }

    /// The last use noted but not stored yet.
    pub fn noted(&self, key: Id) -> Option<u64> {
        self.gathered.uses().get(&key).copied()
    }
}

async fn store(engine: Engine, gathered: Arc<KeyUseBuffer>) {
    loop {
        gathered.some.notified().await;
        tokio::time::sleep(GATHERING).await;
        let uses = gathered.uses().clone();
        let write = |(&key, &at_ms): (&Id, &u64)| SideWrite::KeyUsed { key, at_ms };
        let writes = uses.iter().map(write).collect();
        if let Err(error) = engine.side_writes(writes).await {
            tracing::warn!(%error, "the last uses of API keys were not stored");
        }
        gathered
            .uses()
            .retain(|key, at_ms| uses.get(key) != Some(at_ms));
    }
}
