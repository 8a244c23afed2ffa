//! Snapshots whose roots are due, oldest first.

use std::collections::VecDeque;

use kedge_storage::StoreSnapshot;
use parking_lot::Mutex;

/// Snapshots that wait. Each keeps rows that were replaced since, so a node that falls behind lets the oldest go.
const WAITING_MAX: usize = 4;

pub(crate) struct DueRoots(Option<Mutex<VecDeque<StoreSnapshot>>>);

impl DueRoots {
    pub(super) fn new(is_on: bool) -> Self {
        Self(is_on.then(Mutex::default))
    }

    /// Adds the snapshot after a frame that says that a root is due.
    pub(crate) fn add(&self, snapshot: &StoreSnapshot) {
        if let Some(waiting) = &self.0 {
            let mut waiting = waiting.lock();
            if waiting.len() >= WAITING_MAX {
                waiting.pop_front();
            }
            waiting.push_back(snapshot.clone());
        }
    }

    pub(super) fn first(&self) -> Option<StoreSnapshot> {
        self.0.as_ref()?.lock().front().cloned()
    }

    /// Removes what [`Self::first`] returned, if it still waits.
    pub(super) fn remove(&self, done: &StoreSnapshot) {
        if let Some(waiting) = &self.0 {
            waiting.lock().retain(|other| !other.is(done));
        }
    }
}
