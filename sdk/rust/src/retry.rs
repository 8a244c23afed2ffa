//! Retry policy. Refused requests are retried on 429, and on 503 if configured; signed requests with an unknown outcome
//! are retried until it is known. A retry sends identical bytes, whose nonce is spent at most once.

use std::time::Duration;

/// Wait if the server states none, in seconds.
const WAIT_S_DEFAULT: u64 = 60;

/// First wait after an unknown outcome, in seconds.
const UNKNOWN_WAIT_S: u64 = 1;

/// When to send requests again.
#[derive(Clone, Debug)]
pub struct RetryPolicy {
    /// Limit on sending a request; 1 disables retries.
    pub attempts_max: u32,
    /// Whether to retry on 503. False by default: the 503 may come from a proxy after the server has done the request.
    pub on_unavailable: bool,
    /// Whether to retry a signed request with an unknown outcome: the answer says so, the connection broke, or the time
    /// limit passed. The same bytes are sent, so it is done at most once. True by default.
    pub on_unknown: bool,
    /// Longest single wait, in milliseconds.
    pub wait_ms_max: u64,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts_max: 5,
            on_unavailable: false,
            on_unknown: true,
            wait_ms_max: 15 * 60 * 1000,
        }
    }
}

impl RetryPolicy {
    /// A policy without retries.
    pub fn never() -> Self {
        Self {
            attempts_max: 1,
            ..Self::default()
        }
    }

    /// Whether to retry an answer with this status.
    pub fn retries(&self, status: u16) -> bool {
        status == 429 || (status == 503 && self.on_unavailable)
    }

    /// Like [`Self::wait`], for an unknown outcome: short, unless the server states a time.
    pub fn wait_unknown(
        &self,
        attempt: u32,
        retry_after: Option<Duration>,
        jitter: f64,
    ) -> Duration {
        let asked = retry_after.unwrap_or(Duration::from_secs(UNKNOWN_WAIT_S));
        self.wait(attempt, Some(asked), jitter)
    }

    /// Wait after the refusal of attempt `attempt` (from 0): the server's time, or a minute, doubled with each attempt,
    /// plus up to a quarter by `jitter` (0 to 1). The jitter spreads clients that were refused together.
    pub fn wait(&self, attempt: u32, retry_after: Option<Duration>, jitter: f64) -> Duration {
        let asked = retry_after.unwrap_or(Duration::from_secs(WAIT_S_DEFAULT));
        let doubled = asked.saturating_mul(1 << attempt.min(16));
        let ceiling = Duration::from_millis(self.wait_ms_max).max(asked);
        doubled.min(ceiling).mul_f64(1.0 + jitter / 4.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_from_what_the_server_asks() {
        let policy = RetryPolicy::default();
        let second = Some(Duration::from_secs(1));
        let waits: Vec<u64> = (0..4)
            .map(|n| policy.wait(n, second, 0.0).as_secs())
            .collect();
        assert_eq!(waits, [1, 2, 4, 8]);
        assert_eq!(policy.wait(0, None, 0.0), Duration::from_mins(1));
        assert_eq!(policy.wait(0, None, 1.0), Duration::from_secs(75));
        assert_eq!(policy.wait(16, None, 0.0), Duration::from_mins(15));
        // The server's wait overrides the local limit.
        let day = Some(Duration::from_hours(24));
        assert_eq!(policy.wait(3, day, 0.0), Duration::from_hours(24));
    }

    #[test]
    fn an_unknown_outcome_is_asked_about_soon() {
        let policy = RetryPolicy::default();
        let waits: Vec<u64> = (0..3)
            .map(|n| policy.wait_unknown(n, None, 0.0).as_secs())
            .collect();
        assert_eq!(waits, [1, 2, 4]);
    }

    #[test]
    fn only_429_unless_asked() {
        let policy = RetryPolicy::default();
        let retried: Vec<u16> = (200..600).filter(|&s| policy.retries(s)).collect();
        assert_eq!(retried, [429]);
        let asked = RetryPolicy {
            on_unavailable: true,
            ..policy
        };
        assert!(asked.retries(503) && !asked.retries(500));
    }
}
