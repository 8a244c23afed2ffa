//! Selection of answers to verify, spread evenly over the measurement.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

pub(crate) struct AnswerSampler {
    from: Instant,
    every: Duration,
    samples: u32,
    taken: AtomicU32,
}

impl AnswerSampler {
    pub(crate) fn new(from: Instant, duration: Duration, samples: u32) -> Self {
        Self {
            from,
            every: duration / samples.max(1),
            samples,
            taken: AtomicU32::new(0),
        }
    }

    /// Whether to keep the answer to a request that is sent now.
    pub(crate) fn take(&self, now: Instant) -> bool {
        let Some(elapsed) = now.checked_duration_since(self.from) else {
            return false;
        };
        let slot = elapsed.as_nanos() / self.every.as_nanos().max(1);
        let due = u32::try_from(slot + 1).map_or(self.samples, |due| due.min(self.samples));
        let taken = self.taken.load(Ordering::Relaxed);
        taken < due
            && self
                .taken
                .compare_exchange(taken, taken + 1, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_asked_and_evenly() {
        let from = Instant::now() + Duration::from_secs(10);
        let sampler = AnswerSampler::new(from, Duration::from_secs(10), 5);
        assert!(!sampler.take(Instant::now()));
        let taken: Vec<u64> = (0..20_000)
            .filter(|ms| sampler.take(from + Duration::from_millis(*ms)))
            .collect();
        assert_eq!(taken, [0, 2000, 4000, 6000, 8000]);
        let none = AnswerSampler::new(from, Duration::from_secs(10), 0);
        assert!(!none.take(from));
    }
}
