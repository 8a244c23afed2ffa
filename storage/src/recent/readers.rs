//! Who reads the rows as they were after which group: they are kept that long.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
/// The groups after which readers see the rows, each with its number of readers.
#[derive(Default)]
pub(super) struct Readers(Mutex<BTreeMap<u64, usize>>);

/// A reader of the rows as they were after a group.
pub(crate) struct Reading {
    readers: Arc<Readers>,
    group: u64,
}

impl Readers {
    /// How many readers each group has.
    pub(super) fn counts(&self) -> MutexGuard<'_, BTreeMap<u64, usize>> {
        self.0.lock()
    }

    /// The groups that have readers, the first one first.
    pub(super) fn groups(&self) -> Vec<u64> {
        self.counts().keys().copied().collect()
    }

    /// Begins to read the rows as they were after a group.
    pub(super) fn begin(self: &Arc<Self>, group: u64) -> Reading {
        *self.counts().entry(group).or_default() += 1;
        Reading {
            readers: Arc::clone(self),
            group,
        }
    }
}

impl Drop for Reading {
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
