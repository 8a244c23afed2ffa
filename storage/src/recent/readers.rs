//! Readers of recent rows, by group: rows are kept as long as they have readers.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
/// Number of readers of the rows after each group.
#[derive(Default)]
pub(super) struct ReaderGroups(Mutex<BTreeMap<u64, usize>>);

/// Reader of the rows after a group.
pub(crate) struct ReaderGuard {
    readers: Arc<ReaderGroups>,
    group: u64,
}

impl ReaderGroups {
    pub(super) fn counts(&self) -> MutexGuard<'_, BTreeMap<u64, usize>> {
        self.0.lock()
    }

    /// The groups with readers, in order.
    pub(super) fn groups(&self) -> Vec<u64> {
        self.counts().keys().copied().collect()
    }

    /// Adds a reader of the rows after a group.
    pub(super) fn begin(self: &Arc<Self>, group: u64) -> ReaderGuard {
        *self.counts().entry(group).or_default() += 1;
        ReaderGuard {
            readers: Arc::clone(self),
            group,
        }
    }
}

impl Drop for ReaderGuard {
    fn drop(&mut self) {
        let mut counts = self.readers.counts();
        if let Some(count) = counts.get_mut(&self.group) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.group);
            }
        }
    }
}
