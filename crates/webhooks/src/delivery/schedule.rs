//! Times of attempts and retries.

use kedge_protocol::Id;
use kedge_protocol::hash::keccak_parts;

/// Longest pause that a receiver may ask for, milliseconds.
const RETRY_AFTER_MS_MAX: u64 = 24 * 60 * 60 * 1_000;
/// Divisor of the jitter: up to a fifth of a delay is added to it, so that deliveries that failed together are not
/// retried together.
const JITTER_PARTS: u64 = 5;

/// Delays before each attempt, seconds. After the last attempt a delivery is given up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RetrySchedule(Vec<u64>);

impl RetrySchedule {
    /// The first delay is the one before the first attempt.
    pub fn new(delays_s: Vec<u64>) -> Self {
        Self(delays_s)
    }

    /// Delay before the next attempt after `tries`, milliseconds; `None` after the last one.
    pub(crate) fn delay_ms(
        &self,
        delivery: &Id,
        tries: u32,
        retry_after_ms: Option<u64>,
    ) -> Option<u64> {
        let delay_ms = self.0.get(tries as usize)?.saturating_mul(1_000);
        // Spread by the delivery's identifier: no two are alike, and no randomness is needed.
        let spread = keccak_parts(&[&delivery.bytes, &tries.to_be_bytes()]).0[0];
        let jitter_ms = delay_ms / JITTER_PARTS * u64::from(spread) / 255;
        let asked_ms = retry_after_ms.unwrap_or(0).min(RETRY_AFTER_MS_MAX);
        Some(delay_ms.saturating_add(jitter_ms).max(asked_ms))
    }
}

#[cfg(test)]
mod tests {
    use kedge_protocol::Prefix;

    use super::*;

    fn delivery(byte: u8) -> Id {
        Id {
            prefix: Prefix::Delivery,
            bytes: [byte; 16],
        }
    }

    #[test]
    fn delays_follow_the_schedule_with_a_spread() {
        let schedule = RetrySchedule::new(vec![0, 5, 300]);
        assert_eq!(schedule.delay_ms(&delivery(1), 0, None), Some(0));
        let delays: Vec<u64> = (0..100)
            .filter_map(|byte| schedule.delay_ms(&delivery(byte), 1, None))
            .collect();
        assert!(delays.iter().all(|delay| (5_000..=6_000).contains(delay)));
        assert!(delays.iter().any(|delay| *delay != delays[0]), "no spread");
        assert_eq!(schedule.delay_ms(&delivery(1), 3, Some(1)), None);
    }

    #[test]
    fn a_receiver_may_ask_for_more_time_but_not_for_any() {
        let schedule = RetrySchedule::new(vec![0, 5]);
        let asked = |ms| schedule.delay_ms(&delivery(1), 1, Some(ms));
        assert_eq!(asked(60_000), Some(60_000));
        assert!(asked(1).is_some_and(|delay| delay >= 5_000));
        assert_eq!(asked(u64::MAX), Some(RETRY_AFTER_MS_MAX));
    }
}
