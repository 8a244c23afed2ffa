//! The engine's clock: whether it is believed, which decides whether anything is written.

use super::Engine;
use crate::api::SubmitError;
use crate::metric_definitions as metric;
use crate::timekeeper::Timekeeper;

impl Engine {
    /// Refuses if the clock cannot be believed. Called before anything is compared with its time, and before anything
    /// is written with it.
    pub fn check_clock(&self) -> Result<(), SubmitError> {
        let inner = &self.inner;
        let log_ms = self.published().head.last_sealed_at_ms;
        let checked = inner.options.time.check(log_ms);
        checked.map_or_else(
            |why| Err(SubmitError::ReadOnly(why.to_string())),
            |_| Ok(()),
        )
    }

    /// Sets the metrics of the clock. Returns whether it is believed, as [`Self::check_clock`] does.
    pub fn record_clock(&self) -> Result<(), SubmitError> {
        let standing = self.time().standing();
        let ahead_s = |of_ms: u64| (standing.clock_ms as f64 - of_ms as f64) / 1_000.0;
        if let Some(expected_ms) = standing.expected_ms {
            metrics::gauge!(metric::CLOCK_AHEAD_SECONDS).set(ahead_s(expected_ms));
        }
        if let Some((block_ms, ago_ms)) = standing.block {
            metrics::gauge!(metric::CLOCK_AHEAD_OF_BLOCK_SECONDS).set(ahead_s(block_ms + ago_ms));
        }
        let checked = self.check_clock();
        metrics::gauge!(metric::CLOCK_OUT_OF_BOUNDS).set(f64::from(u8::from(checked.is_err())));
        checked
    }

    /// What keeps the engine's time.
    pub fn time(&self) -> &Timekeeper {
        &self.inner.options.time
    }
}
