//! Adaptive limit on requests in flight, by their latency. If more than a tenth of them take longer than
//! `wait_target_ms` for half a second, requests arrive faster than they complete, and one more would only make all of
//! them wait longer. So fewer are admitted, down to `requests_min`, and the rest are refused immediately.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::metric_definitions as metric;
use parking_lot::Mutex;

/// How long answers are counted before the limit is adjusted.
const WINDOW: Duration = Duration::from_millis(100);
/// Consecutive slow windows that lower the limit, so that short bursts do not.
const SLOW_WINDOWS: u32 = 5;
/// A window with fewer answers is not judged.
const ANSWERS_MIN: usize = 16;

/// Bounds of the limit, and the threshold of slow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdmissionBounds {
    /// The limit never falls below this.
    pub(crate) requests_min: usize,
    /// The limit never rises above this. It starts here.
    pub(crate) requests_max: usize,
    /// Latency that at most a tenth of the requests may exceed.
    pub(crate) wait_target: Duration,
}

/// Limit on requests in flight.
pub(crate) struct AdmissionLimit {
    bounds: AdmissionBounds,
    limit: AtomicUsize,
    window: Mutex<AdmissionWindow>,
}

struct AdmissionWindow {
    ends_at: Instant,
    answers: usize,
    slow: usize,
    /// Number of recent slow windows.
    slow_windows: u32,
}

impl AdmissionLimit {
    pub(crate) fn new(bounds: AdmissionBounds, now: Instant) -> Self {
        metrics::gauge!(metric::REQUESTS_UNDER_WAY_MAX).set(bounds.requests_max as f64);
        Self {
            limit: AtomicUsize::new(bounds.requests_max),
            bounds,
            window: Mutex::new(AdmissionWindow {
                ends_at: now + WINDOW,
                answers: 0,
                slow: 0,
                slow_windows: 0,
            }),
        }
    }

    /// Number of requests that may be in flight now.
    pub(crate) fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// Counts an answer that took `elapsed`, and adjusts the limit at the end of a window.
    pub(crate) fn answered(&self, now: Instant, elapsed: Duration) {
        let mut window = self.window.lock();
        window.answers += 1;
        window.slow += usize::from(elapsed > self.bounds.wait_target);
        if now < window.ends_at {
            return;
        }
        let is_slow = window.answers >= ANSWERS_MIN && window.slow * 10 > window.answers;
        window.slow_windows = if is_slow {
            (window.slow_windows + 1).min(2 * SLOW_WINDOWS)
        } else {
            window.slow_windows.saturating_sub(1)
        };
        let before = self.limit();
        let limit = match (is_slow, window.slow_windows >= SLOW_WINDOWS) {
            (true, true) => before - before / 4,
            (true, false) => before,
            (false, _) => before + before / 8 + 1,
        };
        let AdmissionBounds {
            requests_min,
            requests_max,
            ..
        } = self.bounds;
        let limit = limit.max(requests_min).min(requests_max);
        if limit == before {
            return window.begin(now);
        }
        self.limit.store(limit, Ordering::Relaxed);
        metrics::gauge!(metric::REQUESTS_UNDER_WAY_MAX).set(limit as f64);
        window.begin(now);
    }
}

impl AdmissionWindow {
    fn begin(&mut self, now: Instant) {
        self.answers = 0;
        self.slow = 0;
        self.ends_at = now + WINDOW;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST: Duration = Duration::from_millis(5);
    const SLOW: Duration = Duration::from_millis(80);

    struct Run {
        admission: AdmissionLimit,
        now: Instant,
    }

    impl Run {
        fn new() -> Self {
            let now = Instant::now();
            let bounds = AdmissionBounds {
                requests_min: 100,
                requests_max: 4_000,
                wait_target: Duration::from_millis(30),
            };
            Self {
                admission: AdmissionLimit::new(bounds, now),
                now,
            }
        }

        /// Windows with a hundred answers each, `slow` of them slow.
        fn windows(&mut self, count: usize, slow: usize) -> usize {
            for _ in 0..count {
                for answer in 0..100 {
                    self.now += WINDOW / 100;
                    let elapsed = if answer < slow { SLOW } else { FAST };
                    self.admission.answered(self.now, elapsed);
                }
            }
            self.admission.limit()
        }
    }

    #[test]
    fn a_burst_changes_nothing() {
        let mut run = Run::new();
        assert_eq!(run.windows(SLOW_WINDOWS as usize - 1, 100), 4_000);
        assert_eq!(run.windows(20, 0), 4_000);
    }

    #[test]
    fn lasting_overload_brings_the_limit_down_to_its_floor_and_quiet_up_again() {
        let mut run = Run::new();
        let fallen = run.windows(SLOW_WINDOWS as usize, 100);
        assert!(fallen < 4_000);
        assert!(run.windows(5, 100) < fallen);
        assert_eq!(run.windows(40, 100), 100);
        let risen = run.windows(5, 0);
        assert!(risen > 100 && risen < 4_000);
        assert_eq!(run.windows(60, 0), 4_000);
    }

    #[test]
    fn a_tenth_may_be_slow() {
        let mut run = Run::new();
        assert_eq!(run.windows(30, 10), 4_000);
        assert!(run.windows(30, 11) < 4_000);
    }

    #[test]
    fn few_answers_tell_nothing() {
        let mut run = Run::new();
        for _ in 0..200 {
            run.now += WINDOW;
            run.admission.answered(run.now, SLOW);
        }
        assert_eq!(run.admission.limit(), 4_000);
    }
}
