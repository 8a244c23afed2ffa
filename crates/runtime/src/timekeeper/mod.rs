//! The server's time: its clock, checked against what else is known of the time (adr/0010). An action's time stands in
//! the log forever and none may be earlier than the one before, so one action with a wrong time ahead stops all writes
//! until real time has caught up. Nothing is written while the clock is not believed.
//!
//! The clock is believed while it shows no more than `step_max_ms` above the time that has really passed since it was
//! first believed. To be believed at first, and after a step, it must be near something that has happened: the chain's
//! newest block, the operator's word or, at first, the log's last entry. What is known to have happened only bounds the
//! time from below. So a node that stands still, or lies about the future, stops nothing as long as the clock is right.
//! Where other machines' clocks are known, a step that they do not confirm is not believed, whatever the chain says.
//! Where no other source exists ([`Alone`]), a clock that advances steadily is believed at a start.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use crate::env::Env;
use parking_lot::Mutex;

/// Returns milliseconds of the wall clock since the Unix epoch.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// The wall clock.
pub fn wall_clock(env: &Arc<dyn Env>) -> Clock {
    let env = Arc::clone(env);
    Arc::new(move || env.unix_ms())
}

/// Elapsed milliseconds, whatever the wall clock is set to.
pub fn passing_clock(env: &Arc<dyn Env>) -> Clock {
    let env = Arc::clone(env);
    Arc::new(move || env.passed_ms())
}

/// How far the time that the operator states may be from the clock that it confirms.
const WORD_MS_MAX: u64 = 5 * 60 * 1_000;
/// How far a clock that advances steadily may be from the elapsed time.
const STEADY_MS_MAX: u64 = 1_000;
/// Other machines' clocks count for so long.
const OTHERS_MS_MAX: u64 = 5_000;
/// Nothing is believed.
const NOTHING: i64 = i64::MIN;

/// How far the clock is trusted.
#[derive(Clone, Copy, Debug)]
pub struct TimeBounds {
    /// How far it may run ahead of the time elapsed since it was believed.
    pub step_max_ms: u64,
    /// How far it may be past the log's last entry or the chain's newest block and still be believed.
    pub gap_max_ms: u64,
    /// The same past the newest block while the log is empty.
    pub empty_gap_max_ms: u64,
    /// What a start demands of the clock if no other source knows the time. `None` if there is one.
    pub alone: Option<Alone>,
}

/// When a start believes the clock although no known event is near it and there is no other source to ask.
#[derive(Clone, Copy, Debug)]
pub struct Alone {
    /// How long it must have advanced in step with elapsed time.
    pub steady_ms: u64,
    /// How far past the log's last entry it may be.
    pub idle_max_ms: u64,
}

/// A time, seen at some moment of elapsed time.
#[derive(Clone, Copy, Debug)]
struct Sighting {
    time_ms: u64,
    passed_ms: u64,
}

impl Sighting {
    /// What time it must be by now, at least.
    fn now(self, passed_ms: u64) -> u64 {
        let since = passed_ms.saturating_sub(self.passed_ms);
        self.time_ms.saturating_add(since)
    }
}

#[derive(Default)]
struct State {
    /// The clock when it was last believed for an independent reason.
    believed: Option<Sighting>,
    /// An empty log believed the clock because nothing spoke against it.
    unconfirmed: bool,
    /// The log's last entry when the engine started.
    log: Option<Sighting>,
    block: Option<Sighting>,
    /// The clock of other machines that take part in the log.
    others: Option<Sighting>,
    /// Since when the clock has advanced in step with elapsed time, if no other source knows the time.
    steady: Option<Sighting>,
}

impl State {
    /// Whether the clock is ahead of what other machines show at present.
    fn is_contradicted(&self, now: Sighting, bounds: TimeBounds) -> bool {
        self.others.is_some_and(|others| {
            let is_fresh = now.passed_ms.saturating_sub(others.passed_ms) <= OTHERS_MS_MAX;
            let shown = others.now(now.passed_ms);
            is_fresh && now.time_ms > shown.saturating_add(bounds.step_max_ms)
        })
    }

    /// Whether the clock has been steady for long enough, at a start without another source.
    fn is_steady(&mut self, alone: Alone, now: Sighting) -> bool {
        let since = *self.steady.get_or_insert(now);
        if now.time_ms.abs_diff(since.now(now.passed_ms)) > STEADY_MS_MAX {
            self.steady = Some(now);
            return false;
        }
        let idle_max = |log: Sighting| log.now(now.passed_ms).saturating_add(alone.idle_max_ms);
        now.passed_ms.saturating_sub(since.passed_ms) >= alone.steady_ms
            && self.log.is_some_and(|log| now.time_ms <= idle_max(log))
    }
}

/// Keeps the time.
pub struct Timekeeper {
    clock: Clock,
    passed: Clock,
    bounds: Option<TimeBounds>,
    state: Mutex<State>,
    /// The log's last entry, as far as it is known here.
    log_ms: AtomicU64,
    /// How far the clock may be ahead of elapsed time: spares most calls the lock.
    ahead_max_ms: AtomicI64,
}

impl std::fmt::Debug for Timekeeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Timekeeper")
            .field("bounds", &self.bounds)
            .finish_non_exhaustive()
    }
}

/// Why nothing is written now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ClockError {
    /// It is ahead of everything known of the time.
    #[error(
        "the server's clock is {} s ahead of the expected time: nothing is written to the log until the clock is corrected, the chain's newest block agrees with it, or the operator confirms it (kedge admin clock)",
        .by_ms / 1_000
    )]
    Ahead {
        /// How far.
        by_ms: u64,
    },
    /// The log is ahead of it.
    #[error(
        "the server's clock is {} s behind the log's last entry, and the log's time never goes back: nothing is written until the clock is corrected or has caught up",
        .by_ms / 1_000
    )]
    Behind {
        /// How far.
        by_ms: u64,
    },
}

/// What is known of the time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    /// The clock's reading.
    pub clock_ms: u64,
    /// What the time should be; `None` before anything is known.
    pub expected_ms: Option<u64>,
    /// The newest block's time when it was seen, and how long ago that was.
    pub block: Option<(u64, u64)>,
}

impl Timekeeper {
    /// Holds `clock` to bounds. `passed` returns elapsed milliseconds, whatever the clock is set to.
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

    /// Believes the clock, whatever it says.
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

    /// Sets where the log ends, before anything is written: `None` while it is empty. What was believed before without
    /// that knowledge is forgotten.
    pub fn log_ends_at(&self, last_ms: Option<u64>) {
        let passed_ms = (self.passed)();
        self.log_ms.store(last_ms.unwrap_or(0), Ordering::Release);
        let mut state = self.state.lock();
        state.log = last_ms.map(|time_ms| Sighting { time_ms, passed_ms });
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
        let block = Sighting { time_ms, passed_ms };
        state.block = Some(block);
        if state.unconfirmed {
            state.unconfirmed = false;
            if clock_ms > block.now(passed_ms).saturating_add(bounds.empty_gap_max_ms) {
                state.believed = None;
                self.ahead_max_ms.store(NOTHING, Ordering::Release);
            }
        }
    }

    /// Notes the time that the clock of another machine of the log has just shown.
    pub fn others_seen(&self, time_ms: u64) {
        let passed_ms = (self.passed)();
        self.state.lock().others = Some(Sighting { time_ms, passed_ms });
    }

    /// The operator states the time. If the clock agrees, it is believed.
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

    fn believe(&self, state: &mut State, bounds: TimeBounds, clock_ms: u64, passed_ms: u64) {
        state.believed = Some(Sighting {
            time_ms: clock_ms,
            passed_ms,
        });
        let ahead_max =
            i128::from(clock_ms) - i128::from(passed_ms) + i128::from(bounds.step_max_ms);
        let ahead_max = i64::try_from(ahead_max).unwrap_or(i64::MAX);
        self.ahead_max_ms.store(ahead_max, Ordering::Release);
    }

    /// Whether the clock is believed. The error holds what the time should be, if that is known.
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
        let near = |seen: Option<Sighting>, gap_ms: u64| {
            seen.is_some_and(|seen| clock_ms <= seen.now(passed_ms).saturating_add(gap_ms))
        };
        let is_empty = state.log.is_none();
        let block_gap_ms = if is_empty {
            bounds.empty_gap_max_ms
        } else {
            bounds.gap_max_ms
        };
        let first = state.believed.is_none();
        // A clock that is before the log's end is ahead of nothing, but is no measure for later either: once it is
        // right, it is judged as if for the first time. `is_behind` decides whether anything is written meanwhile.
        if first && state.log.is_some_and(|log| clock_ms < log.time_ms) {
            return Ok(());
        }
        let silent = first && is_empty && state.block.is_none();
        let now = Sighting {
            time_ms: clock_ms,
            passed_ms,
        };
        let steady = (bounds.alone).is_some_and(|alone| first && state.is_steady(alone, now));
        // What was seen before a start may be old, so only later steps are compared with it.
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

    fn expected(state: &State, passed_ms: u64) -> Option<u64> {
        let happened = [state.log, state.block]
            .into_iter()
            .flatten()
            .max_by_key(|seen| seen.now(passed_ms));
        state.believed.or(happened).map(|seen| seen.now(passed_ms))
    }

    /// The time to write into the log after an entry of `log_ms`, or why nothing may be written.
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

    /// The time for everything outside the log: the clock's reading or, if that is not believed, what the time should
    /// be.
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

    /// What is known of the time.
    pub fn standing(&self) -> Standing {
        let (clock_ms, passed_ms) = ((self.clock)(), (self.passed)());
        let state = self.state.lock();
        Standing {
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
