//! Pace of commit groups. Each costs a signature, a write and a sync, whatever its size. If several requests in flight
//! are not in the group, it stays open until a millisecond after the last group, so that fewer groups hold more.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

/// Least time between two groups while many requests are in flight.
const INTERVAL: Duration = Duration::from_millis(1);
/// Number of requests in flight outside the group from which waiting is worth it: with fewer, none may be about to
/// arrive.
const OTHERS_MIN: usize = 3;

/// Decides how long groups stay open.
pub(crate) struct GroupPace {
    permits: Arc<Semaphore>,
    permits_max: usize,
    handed_over_at: Instant,
}

impl GroupPace {
    /// Each request in flight holds one of the `permits_max` permits.
    pub(crate) fn new(permits: Arc<Semaphore>, permits_max: usize, now: Instant) -> Self {
        Self {
            permits,
            permits_max,
            handed_over_at: now,
        }
    }

    /// Notes that a group was handed over.
    pub(crate) fn handed_over(&mut self, now: Instant) {
        self.handed_over_at = now;
    }

    /// Deadline for adding requests to a group with this many; `None` closes it now.
    pub(crate) fn held_until(&self, requests: usize, now: Instant) -> Option<Instant> {
        let under_way = self
            .permits_max
            .saturating_sub(self.permits.available_permits());
        let until = self.handed_over_at + INTERVAL;
        (under_way >= requests + OTHERS_MIN && until > now).then_some(until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_waits_for_others_alone_and_never_long() {
        let permits = Arc::new(Semaphore::new(100));
        let begin = Instant::now();
        let mut pace = GroupPace::new(Arc::clone(&permits), 100, begin);
        let now = begin + INTERVAL;
        pace.handed_over(now);
        let _under_way = permits.try_acquire_many(10).unwrap();
        assert_eq!(pace.held_until(7, now), Some(now + INTERVAL));
        assert_eq!(pace.held_until(8, now), None, "too few others");
        assert_eq!(pace.held_until(7, now + INTERVAL), None, "long enough");
    }
}
