//! The server's time: its clock, checked against other sources of time (adr/0010). An action's time stays in the log
//! forever and none may be earlier than the one before, so one action with a wrong time ahead would stop all writes
//! until real time has caught up. Nothing is written while the clock is not trusted.
//!
//! The clock is trusted while it is at most `step_max_ms` ahead of the time elapsed since it was first trusted. To be
//! trusted at first, and after a step, it must be near a past event: the chain's newest block, the operator's
//! confirmation or, at first, the log's last entry. Past events only bound the time from below. So a chain node that
//! stands still, or lies about the future, stops nothing as long as the clock is right. If other machines' clocks are
//! known, a step that they do not confirm is not trusted, whatever the chain says. If no other source exists
//! ([`SoleClockRule`]), a clock that advances steadily is trusted at a start.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use crate::env::Env;
use parking_lot::Mutex;

/// Source of milliseconds: wall-clock time since the Unix epoch, or elapsed time.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

pub fn wall_clock(env: &Arc<dyn Env>) -> Clock {
    let env = Arc::clone(env);
    Arc::new(move || env.unix_ms())
}

/// Elapsed milliseconds, independent of settings of the wall clock.
pub fn passing_clock(env: &Arc<dyn Env>) -> Clock {
    let env = Arc::clone(env);
    Arc::new(move || env.passed_ms())
}

/// Largest difference between the operator's time and the clock that it confirms.
const WORD_MS_MAX: u64 = 5 * 60 * 1_000;
/// Largest drift of a steady clock from elapsed time.
const STEADY_MS_MAX: u64 = 1_000;
/// Age at which another machine's clock no longer counts.
const OTHERS_MS_MAX: u64 = 5_000;
/// `ahead_max_ms` while the clock is not trusted.
const NOTHING: i64 = i64::MIN;

/// Limits of trust in the clock.
#[derive(Clone, Copy, Debug)]
pub struct TimeBounds {
    /// Largest lead over the time elapsed since the clock was trusted.
    pub step_max_ms: u64,
    /// Largest lead over the log's last entry or the chain's newest block at which the clock is trusted.
    pub gap_max_ms: u64,
    /// The same lead over the newest block while the log is empty.
    pub empty_gap_max_ms: u64,
    /// Conditions at a start if no other source knows the time. `None` if there is one.
    pub alone: Option<SoleClockRule>,
}

/// Conditions under which a start trusts the clock without another source of time and without a recent event.
#[derive(Clone, Copy, Debug)]
pub struct SoleClockRule {
    /// Time for which the clock must have advanced in step with elapsed time.
    pub steady_ms: u64,
    /// Largest lead over the log's last entry.
    pub idle_max_ms: u64,
}

/// A time, and the elapsed time at which it was seen.
#[derive(Clone, Copy, Debug)]
struct TimeSighting {
    time_ms: u64,
    passed_ms: u64,
}

impl TimeSighting {
    /// Lower bound of the present time.
    fn now(self, passed_ms: u64) -> u64 {
        let since = passed_ms.saturating_sub(self.passed_ms);
        self.time_ms.saturating_add(since)
    }
}

#[derive(Default)]
struct TimekeeperState {
    /// The clock when an independent source last confirmed it.
    believed: Option<TimeSighting>,
    /// The clock was trusted for an empty log, without any other source.
    unconfirmed: bool,
    /// The log's last entry when the engine started.
    log: Option<TimeSighting>,
    block: Option<TimeSighting>,
    /// The clock of another machine of the log.
    others: Option<TimeSighting>,
    /// Start of the period in which the clock advanced in step with elapsed time, if no other source knows the time.
    steady: Option<TimeSighting>,
}

impl TimekeeperState {
    /// Whether the clock is ahead of another machine's current one.
    fn is_contradicted(&self, now: TimeSighting, bounds: TimeBounds) -> bool {
        self.others.is_some_and(|others| {
            let is_fresh = now.passed_ms.saturating_sub(others.passed_ms) <= OTHERS_MS_MAX;
            let shown = others.now(now.passed_ms);
            is_fresh && now.time_ms > shown.saturating_add(bounds.step_max_ms)
        })
    }

    /// Whether the clock has been steady for long enough, at a start without another source.
    fn is_steady(&mut self, alone: SoleClockRule, now: TimeSighting) -> bool {
        let since = *self.steady.get_or_insert(now);
        if now.time_ms.abs_diff(since.now(now.passed_ms)) > STEADY_MS_MAX {
            self.steady = Some(now);
            return false;
        }
        let idle_max = |log: TimeSighting| log.now(now.passed_ms).saturating_add(alone.idle_max_ms);
        now.passed_ms.saturating_sub(since.passed_ms) >= alone.steady_ms
            && self.log.is_some_and(|log| now.time_ms <= idle_max(log))
    }
}

pub struct Timekeeper {
    clock: Clock,
    passed: Clock,
    bounds: Option<TimeBounds>,
    state: Mutex<TimekeeperState>,
    /// Time of the log's last entry, as far as known here.
    log_ms: AtomicU64,
    /// Largest lead of the clock over elapsed time; saves most calls the lock.
    ahead_max_ms: AtomicI64,
}

impl std::fmt::Debug for Timekeeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Timekeeper")
            .field("bounds", &self.bounds)
            .finish_non_exhaustive()
    }
}

/// Why nothing may be written now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ClockError {
    /// The clock is ahead of every other source.
    #[error(
        "the server's clock is {} s ahead of the expected time: nothing is written to the log until the clock is corrected, the chain's newest block agrees with it, or the operator confirms it (kedge admin clock)",
        .by_ms / 1_000
    )]
    Ahead { by_ms: u64 },
    /// The log is ahead of the clock.
    #[error(
        "the server's clock is {} s behind the log's last entry, and the log's time never goes back: nothing is written until the clock is corrected or has caught up",
        .by_ms / 1_000
    )]
    Behind { by_ms: u64 },
}

/// The clock and the other sources of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClockStatus {
    pub clock_ms: u64,
    /// The expected time; `None` without any source.
    pub expected_ms: Option<u64>,
    /// The newest block's time, and the milliseconds since it was seen.
    pub block: Option<(u64, u64)>,
}

impl Timekeeper {
    /// Checks `clock` against bounds. `passed` returns elapsed milliseconds, independent of the clock's setting.
    pub fn new(clock: Clock, passed: Clock, bounds: TimeBounds) -> Self {
        Self {
            clock,
            passed,
            bounds: Some(bounds),
            state: Mutex::default(),
            log_ms: AtomicU64::new(0),
            ahead_max_ms: AtomicI64::new(NOTHING),
        }
    }

    /// Trusts the clock, whatever it says.
    pub fn unbounded(clock: Clock) -> Self {
        Self {
            passed: Arc::new(|| 0),
            clock,
            bounds: None,
            state: Mutex::default(),
            log_ms: AtomicU64::new(0),
            ahead_max_ms: AtomicI64::new(i64::MAX),
        }
    }

    /// Sets the time of the log's last entry before anything is written; `None` while the log is empty. Resets the
    /// trust gained without that knowledge.
    pub fn log_ends_at(&self, last_ms: Option<u64>) {
        let passed_ms = (self.passed)();
        self.log_ms.store(last_ms.unwrap_or(0), Ordering::Release);
        let mut state = self.state.lock();
        state.log = last_ms.map(|time_ms| TimeSighting { time_ms, passed_ms });
        if self.bounds.is_some() {
            (state.believed, state.unconfirmed) = (None, false);
            state.steady = None;
            self.ahead_max_ms.store(NOTHING, Ordering::Release);
        }
    }

    /// Notes the time of the chain's newest block.
    pub fn block_seen(&self, time_ms: u64) {
        let Some(bounds) = self.bounds else { return };
        let (clock_ms, passed_ms) = ((self.clock)(), (self.passed)());
        let mut state = self.state.lock();
        let block = TimeSighting { time_ms, passed_ms };
        state.block = Some(block);
        if state.unconfirmed {
            state.unconfirmed = false;
            if clock_ms > block.now(passed_ms).saturating_add(bounds.empty_gap_max_ms) {
                state.believed = None;
                self.ahead_max_ms.store(NOTHING, Ordering::Release);
            }
        }
    }

    /// Notes the current clock of another machine of the log.
    pub fn others_seen(&self, time_ms: u64) {
        let passed_ms = (self.passed)();
        self.state.lock().others = Some(TimeSighting { time_ms, passed_ms });
    }

    /// Trusts the clock if it agrees with the time that the operator states. The error is the difference in
    /// milliseconds.
    pub fn confirm(&self, stated_ms: u64) -> Result<(), u64> {
        let (clock_ms, passed_ms) = ((self.clock)(), (self.passed)());
        let apart_ms = clock_ms.abs_diff(stated_ms);
        if apart_ms > WORD_MS_MAX {
            return Err(apart_ms);
        }
        if let Some(bounds) = self.bounds {
            let mut state = self.state.lock();
            self.believe(&mut state, bounds, clock_ms, passed_ms);
        }
        Ok(())
    }

    fn believe(
        &self,
        state: &mut TimekeeperState,
        bounds: TimeBounds,
        clock_ms: u64,
        passed_ms: u64,
    ) {
        state.believed = Some(TimeSighting {
            time_ms: clock_ms,
            passed_ms,
        });
        let ahead_max =
            i128::from(clock_ms) - i128::from(passed_ms) + i128::from(bounds.step_max_ms);
        let ahead_max = i64::try_from(ahead_max).unwrap_or(i64::MAX);
        self.ahead_max_ms.store(ahead_max, Ordering::Release);
    }

    /// Whether the clock is trusted. The error holds the expected time, if known.
    fn judge(&self, clock_ms: u64, passed_ms: u64) -> Result<(), Option<u64>> {
        let ahead_max = self.ahead_max_ms.load(Ordering::Acquire);
        if ahead_max != NOTHING
            && i128::from(clock_ms) - i128::from(passed_ms) <= i128::from(ahead_max)
        {
            return Ok(());
        }
        let Some(bounds) = self.bounds else {
            return Ok(());
        };
        let mut state = self.state.lock();
        let near = |seen: Option<TimeSighting>, gap_ms: u64| {
            seen.is_some_and(|seen| clock_ms <= seen.now(passed_ms).saturating_add(gap_ms))
        };
        let is_empty = state.log.is_none();
        let block_gap_ms = if is_empty {
            bounds.empty_gap_max_ms
        } else {
            bounds.gap_max_ms
        };
        let first = state.believed.is_none();
        // A clock behind the log's end is ahead of nothing, but no reference for later either: once it is right, it is
        // judged like a first reading. `is_behind` decides whether anything is written until then.
        if first && state.log.is_some_and(|log| clock_ms < log.time_ms) {
            return Ok(());
        }
        let silent = first && is_empty && state.block.is_none();
        let now = TimeSighting {
            time_ms: clock_ms,
            passed_ms,
        };
        let steady = (bounds.alone).is_some_and(|alone| first && state.is_steady(alone, now));
        // A sighting from before a start may be old, so only later steps are compared with it.
        let contradicted = !first && state.is_contradicted(now, bounds);
        if silent
            || steady
            || (near(state.block, block_gap_ms) && !contradicted)
            || (first && near(state.log, bounds.gap_max_ms))
        {
            state.unconfirmed = silent;
            self.believe(&mut state, bounds, clock_ms, passed_ms);
            return Ok(());
        }
        Err(Self::expected(&state, passed_ms))
    }

    fn expected(state: &TimekeeperState, passed_ms: u64) -> Option<u64> {
        let happened = [state.log, state.block]
            .into_iter()
            .flatten()
            .max_by_key(|seen| seen.now(passed_ms));
        state.believed.or(happened).map(|seen| seen.now(passed_ms))
    }

    /// The time for the log entry after one of `log_ms`, or why nothing may be written.
    pub fn check(&self, log_ms: u64) -> Result<u64, ClockError> {
        let (clock_ms, passed_ms) = ((self.clock)(), (self.passed)());
        if let Err(expected_ms) = self.judge(clock_ms, passed_ms) {
            let by_ms = clock_ms.saturating_sub(expected_ms.unwrap_or(0));
            return Err(ClockError::Ahead { by_ms });
        }
        let log_ms = log_ms.max(self.log_ms.fetch_max(log_ms, Ordering::AcqRel));
        if self.is_behind(clock_ms, log_ms) {
            let by_ms = log_ms - clock_ms;
            return Err(ClockError::Behind { by_ms });
        }
        Ok(clock_ms)
    }

    fn is_behind(&self, clock_ms: u64, log_ms: u64) -> bool {
        let bounds = self.bounds.as_ref();
        bounds.is_some_and(|bounds| log_ms > clock_ms.saturating_add(bounds.step_max_ms))
    }

    /// The time for uses outside the log: the clock's reading or, if it is not trusted, the expected time.
    pub fn now_ms(&self) -> u64 {
        let (clock_ms, passed_ms) = ((self.clock)(), (self.passed)());
        match self.judge(clock_ms, passed_ms) {
            Ok(()) | Err(None) => {
                let log_ms = self.log_ms.load(Ordering::Acquire);
                if self.is_behind(clock_ms, log_ms) {
                    log_ms
                } else {
                    clock_ms
                }
            }
            Err(Some(expected_ms)) => expected_ms,
        }
    }

    pub fn standing(&self) -> ClockStatus {
        let (clock_ms, passed_ms) = ((self.clock)(), (self.passed)());
        let state = self.state.lock();
        ClockStatus {
            clock_ms,
            expected_ms: Self::expected(&state, passed_ms),
            block: state
                .block
                .map(|block| (block.time_ms, passed_ms.saturating_sub(block.passed_ms))),
        }
    }
}

#[cfg(test)]
mod tests;
