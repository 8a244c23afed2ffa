//! Objects and templates at the newest roots, so that their texts need no replay, however often they changed since.

use std::collections::VecDeque;

use kedge_storage::PastResources;
use parking_lot::Mutex;

/// Roots whose resources are held: the newest, which may not be signed yet, and the one before.
const HELD: usize = 2;

#[derive(Default)]
pub(super) struct RootResources(Mutex<VecDeque<(u64, PastResources)>>);

impl RootResources {
    /// Holds those of the root over so many batches, in place of the oldest.
    pub(super) fn hold(&self, batches: u64, resources: PastResources) {
        let mut held = self.0.lock();
        held.retain(|(other, _)| *other != batches);
        if held.len() >= HELD {
            held.pop_front();
        }
        held.push_back((batches, resources));
    }

    pub(super) fn at(&self, batches: u64) -> Option<PastResources> {
        let held = self.0.lock();
        let found = held.iter().find(|(other, _)| *other == batches);
        found.map(|(_, resources)| resources.clone())
    }
}
