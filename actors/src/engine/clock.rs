//! Clock checks of the engine: nothing is written while the clock is not believed.

use super::Engine;
use crate::api::SubmissionError;
use crate::metric_definitions as metric;
use crate::timekeeper::Timekeeper;

impl Engine {
    /// Refuses if the clock is not believed. Called before any comparison with its time and before any write.
    pub fn check_clock(&self) -> Result<(), SubmissionError> {
        let inner = &self.inner;
        let log_ms = self.published().head.last_sealed_at_ms;
        let checked = inner.options.time.check(log_ms);
        checked.map_or_else(
            |why| Err(SubmissionError::ReadOnly(why.to_string())),
            |_| Ok(()),
        )
    }

    /// Sets the clock's metrics. Returns the result of [`Self::check_clock`].
    pub fn record_clock(&self) -> Result<(), SubmissionError> {
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

    /// The engine's time source.
    pub fn time(&self) -> &Timekeeper {
        &self.inner.options.time
    }
}
