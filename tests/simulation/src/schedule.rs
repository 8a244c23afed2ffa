//! Seeded schedule: it delays steps of actors and commit path until others have taken theirs or time has passed, and
//! makes parts panic now and then.

use std::panic::{panic_any, set_hook, take_hook};
use std::sync::Once;
use std::time::Duration;

use kedge_runtime::executor::{StepDelay, StepSchedule};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::faults::CoreFaultRates;
use crate::random::{RunTrace, SimulationRandom};

/// Longer than any process lives.
const FOREVER: Duration = Duration::from_hours(1);

/// The parts that all stored data goes through.
const COMMIT_PATH: [&str; 3] = ["committer", "writer", "publisher"];

/// Payload of an injected panic.
struct DeliberatePanic;

/// Keeps injected panics out of the output.
pub(crate) fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let hook = take_hook();
        set_hook(Box::new(move |info| {
            if !info.payload().is::<DeliberatePanic>() {
                hook(info);
            }
        }));
    });
}

struct ScheduleState {
    random: SimulationRandom,
    rates: CoreFaultRates,
    trace: RunTrace,
    steps: u64,
    /// Whether panics and delays have stopped.
    calm: bool,
    panicked: bool,
    /// Total chosen delay of the commit path's steps. Simultaneous delays count once.
    slow: Duration,
    slow_until: Option<Instant>,
    /// Time of the process's failure; no part takes a step after it.
    frozen_at: Option<Instant>,
}

/// Chooses delays, and keeps the run's trace.
pub(crate) struct SeededSchedule(Mutex<ScheduleState>);

impl SeededSchedule {
    pub(crate) fn new(seed: u64, rates: CoreFaultRates) -> Self {
        Self(Mutex::new(ScheduleState {
            random: SimulationRandom::new(seed, 1),
            rates,
            trace: RunTrace::default(),
            steps: 0,
            calm: false,
            panicked: false,
            slow: Duration::ZERO,
            slow_until: None,
            frozen_at: None,
        }))
    }

    /// Adds an event to the trace.
    pub(crate) fn note(&self, what: &str, numbers: &[u64]) {
        self.0.lock().trace.note(what, numbers);
    }

    pub(crate) fn trace(&self) -> RunTrace {
        self.0.lock().trace
    }

    /// Steps taken so far.
    pub(crate) fn steps(&self) -> u64 {
        self.0.lock().steps
    }

    /// Total chosen delay of the commit path's steps so far, milliseconds.
    pub(crate) fn slow_ms(&self) -> u64 {
        self.0.lock().slow.as_millis() as u64
    }

    /// Ends failures and delays.
    pub(crate) fn calm_down(&self) {
        self.0.lock().calm = true;
    }

    /// Records the failure of the process. Its waiters are woken in an order that the seed does not choose, so their
    /// actions no longer count.
    pub(crate) fn freeze(&self) {
        self.0.lock().frozen_at.get_or_insert_with(Instant::now);
    }

    /// Time of the process's failure.
    pub(crate) fn frozen_at(&self) -> Option<Instant> {
        self.0.lock().frozen_at
    }

    /// Starts a process.
    pub(crate) fn begin(&self) {
        let mut state = self.0.lock();
        (state.frozen_at, state.panicked, state.slow_until) = (None, false, None);
    }

    /// Whether a part has panicked since the last call.
    pub(crate) fn take_panicked(&self) -> bool {
        std::mem::take(&mut self.0.lock().panicked)
    }
}

impl StepSchedule for SeededSchedule {
    fn before(&self, part: &'static str) -> StepDelay {
        let mut state = self.0.lock();
        let state = &mut *state;
        if state.frozen_at.is_some() {
            return StepDelay::Time(FOREVER);
        }
        state.steps += 1;
        let rates = &state.rates;
        let random = &mut state.random;
        if !state.calm && random.chance(rates.panic) && random.chance(100) {
            state.trace.note(part, &[u64::MAX]);
            state.panicked = true;
            panic_any(DeliberatePanic);
        }
        let delay = if random.chance(rates.turns) {
            StepDelay::Turns(1 + random.below(rates.turns_max) as u32)
        } else if !state.calm && random.chance(rates.slow) {
            StepDelay::Time(Duration::from_millis(1 + random.below(rates.slow_ms_max)))
        } else {
            StepDelay::None
        };
        if let (StepDelay::Time(time), true) = (delay, COMMIT_PATH.contains(&part)) {
            let now = Instant::now();
            let from = state.slow_until.map_or(now, |until| until.max(now));
            state.slow += (now + time).saturating_duration_since(from);
            state.slow_until = Some(from.max(now + time));
        }
        let number = match delay {
            StepDelay::None => 0,
            StepDelay::Turns(count) => u64::from(count),
            StepDelay::Time(time) => time.as_micros() as u64,
        };
        state.trace.note(part, &[number]);
        delay
    }
}
