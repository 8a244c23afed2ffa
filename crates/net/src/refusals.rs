//! Refusals of requests that there is no room for. Many callers retry as soon as they have their answer. If each got it
//! at once, refusing would take the time that admitted requests need. So refusals go out at a bounded rate, and a
//! caller above it waits for a turn, for a second at most.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The time between two refusals when there are many, microseconds.
const INTERVAL_US: u64 = 200;
/// The longest wait of a refusal, microseconds.
const WAIT_MAX_US: u64 = 1_000_000;
/// Timers are no finer, and a shorter wait is pointless.
const WAIT_MIN_US: u64 = 1_000;

/// Schedules refusals (the virtual schedule of the generic cell rate algorithm).
pub struct Refusals {
    epoch: Instant,
    /// The time of the next turn, microseconds after `epoch`.
    next_us: AtomicU64,
}

/// The turn of a refusal at `now_us`, and of the next one.
fn turn(next_us: u64, now_us: u64) -> (u64, u64) {
    let turn_us = next_us.clamp(now_us, now_us + WAIT_MAX_US);
    (turn_us, turn_us + INTERVAL_US)
}

impl Default for Refusals {
    /// No refusal has had its turn.
    fn default() -> Self {
        Self {
            epoch: Instant::now(),
            next_us: AtomicU64::new(0),
        }
    }
}

impl Refusals {
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
        // A moment later the wait is that much shorter.
        assert_eq!(turn(next_us, now_us + 500_000).0, next_us);
        assert_eq!(turn(next_us, next_us + 1).0, next_us + 1);
    }
}
