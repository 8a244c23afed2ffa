//! Pacing of refused requests. Many callers retry as soon as they have their answer, so instant refusals would take the
//! time that admitted requests need. Refusals therefore leave at a bounded rate, each delayed for at most a second.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Time between two refusals under load, microseconds.
const INTERVAL_US: u64 = 200;
/// Longest delay of a refusal, microseconds.
const WAIT_MAX_US: u64 = 1_000_000;
/// Shortest delay, microseconds: timers are no finer.
const WAIT_MIN_US: u64 = 1_000;

/// Schedules refusals (virtual scheduling, GCRA).
pub struct RefusalSchedule {
    epoch: Instant,
    /// Time of the next slot, microseconds after `epoch`.
    next_us: AtomicU64,
}

/// The slot of a refusal at `now_us`, and the one after it.
fn turn(next_us: u64, now_us: u64) -> (u64, u64) {
    let turn_us = next_us.clamp(now_us, now_us + WAIT_MAX_US);
    (turn_us, turn_us + INTERVAL_US)
}

impl Default for RefusalSchedule {
    fn default() -> Self {
        Self {
            epoch: Instant::now(),
            next_us: AtomicU64::new(0),
        }
    }
}

impl RefusalSchedule {
    /// Waits until one more request may be refused.
    pub async fn turn(&self) {
        let now_us = self.epoch.elapsed().as_micros() as u64;
        let taken = self
            .next_us
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next_us| {
                Some(turn(next_us, now_us).1)
            });
        let (Ok(next_us) | Err(next_us)) = taken;
        let wait_us = turn(next_us, now_us).0 - now_us;
        if wait_us >= WAIT_MIN_US {
            tokio::time::sleep(Duration::from_micros(wait_us)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds invariant 76.
    #[test]
    fn turns_lie_apart_and_none_is_far() {
        let now_us = 5_000_000;
        let (first, next) = turn(0, now_us);
        assert_eq!((first, next), (now_us, now_us + INTERVAL_US));
        let mut next_us = 0;
        let waits: Vec<u64> = (0..20_000)
            .map(|_| {
                let (turn_us, after_us) = turn(next_us, now_us);
                next_us = after_us;
                turn_us - now_us
            })
            .collect();
        assert_eq!(waits[..3], [0, INTERVAL_US, 2 * INTERVAL_US]);
        assert_eq!(waits[999], 999 * INTERVAL_US);
        assert_eq!(waits[19_999], WAIT_MAX_US);
        // A later caller waits that much less.
        assert_eq!(turn(next_us, now_us + 500_000).0, next_us);
        assert_eq!(turn(next_us, next_us + 1).0, next_us + 1);
    }
}
