//! Memory bound on decisions in flight. A request of some hundred bytes may produce objects of many megabytes, which
//! wait for the disk with many others, so a bound on the requests' bytes bounds nothing.
//!
//! There is one bound for all together. A share for each organization would not enforce it, because organizations are
//! free. So no holder has more than is still free: alone an organization gets half, with n others each gets one part in
//! n + 2, and as much is left for a newcomer (the dynamic thresholds of shared switch buffers: Choudhury and Hahne,
//! 1998). The fuller it gets, the less each may hold, so the largest holders are refused first and small ones are not.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;

/// Bytes of decisions in flight, by holder.
pub(crate) struct DecisionMemory<K> {
    bytes_max: usize,
    taken: Mutex<DecisionMemoryUsage<K>>,
}

struct DecisionMemoryUsage<K> {
    all: usize,
    holders: HashMap<K, usize>,
}

/// Bytes of one request's decisions, held until this is dropped or cleared.
pub(crate) struct MemoryReservation<K: Eq + Hash> {
    of: Arc<DecisionMemory<K>>,
    /// `None` if the request has no bound.
    holder: Option<K>,
    bytes: Mutex<usize>,
}

impl<K: Eq + Hash + Clone> DecisionMemory<K> {
    /// A bound of `bytes_max` together.
    pub(crate) fn new(bytes_max: usize) -> Arc<Self> {
        Arc::new(Self {
            bytes_max,
            taken: Mutex::new(DecisionMemoryUsage {
                all: 0,
                holders: HashMap::new(),
            }),
        })
    }

    /// An empty reservation.
    pub(crate) fn hold(self: &Arc<Self>, holder: Option<K>) -> MemoryReservation<K> {
        MemoryReservation {
            of: Arc::clone(self),
            holder,
            bytes: Mutex::new(0),
        }
    }
}

impl<K: Eq + Hash + Clone> MemoryReservation<K> {
    /// Reserves more; false, and nothing is reserved, if the holder would hold more than is free.
    pub(crate) fn grow(&self, more: usize) -> bool {
        let mut bytes = self.bytes.lock();
        let mut taken = self.of.taken.lock();
        if let Some(holder) = &self.holder {
            let held = taken.holders.get(holder).copied().unwrap_or_default();
            let free = self.of.bytes_max.saturating_sub(taken.all);
            if held.saturating_add(more) > free {
                return false;
            }
            taken.holders.insert(holder.clone(), held + more);
        }
        taken.all += more;
        *bytes += more;
        true
    }
}

impl<K: Eq + Hash> MemoryReservation<K> {
    /// Releases everything.
    pub(crate) fn clear(&self) {
        let mut bytes = self.bytes.lock();
        let count = std::mem::take(&mut *bytes);
        if count == 0 {
            return;
        }
        let mut taken = self.of.taken.lock();
        taken.all = taken.all.saturating_sub(count);
        if let Some(holder) = &self.holder
            && let Some(held) = taken.holders.get_mut(holder)
        {
            *held = held.saturating_sub(count);
            if *held == 0 {
                taken.holders.remove(holder);
            }
        }
    }
}

impl<K: Eq + Hash> Drop for MemoryReservation<K> {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds invariant 214.
    #[test]
    fn whoever_holds_the_most_is_refused_first_and_a_newcomer_has_room() {
        let all = DecisionMemory::new(1_000);
        let of = |name| all.hold(Some(name));
        let ann = of("ann");
        assert!(
            ann.grow(500),
            "half of it, while nobody else holds anything"
        );
        assert!(!ann.grow(1));
        let bob = of("bob");
        assert!(bob.grow(200));
        let again = of("ann");
        assert!(!again.grow(1), "ann holds 500 of what has 300 left");
        assert!(bob.grow(50));
        assert!(!bob.grow(1));
        assert!(of("eve").grow(100));
        drop(ann);
        assert!(again.grow(300));
    }

    // Holds invariant 214.
    #[test]
    fn many_holders_leave_room_for_one_more() {
        let all = DecisionMemory::new(1_000_000);
        let held: Vec<MemoryReservation<usize>> =
            (0..100).map(|holder| all.hold(Some(holder))).collect();
        // Each takes as much as it can get, in small steps and in turns.
        while held.iter().filter(|held| held.grow(100)).count() > 0 {}
        assert!(all.taken.lock().all < 1_000_000);
        let newcomer = all.hold(Some(100));
        assert!(newcomer.grow(1_000_000 / 110));
    }

    // Holds invariant 214.
    #[test]
    fn what_is_cleared_is_free_and_nothing_is_remembered() {
        let all = DecisionMemory::new(100);
        let ann = all.hold(Some("ann"));
        assert!(ann.grow(50));
        ann.clear();
        assert!(ann.grow(40));
        let operator = all.hold(None);
        assert!(operator.grow(1_000), "the operator is never refused");
        assert!(!ann.grow(1));
        drop((ann, operator));
        let taken = all.taken.lock();
        assert_eq!((taken.all, taken.holders.len()), (0, 0));
    }
}
