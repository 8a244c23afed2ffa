//! Right and wrong clocks, chain nodes that stand still or lie, and the trust in them.

use super::*;

const SECOND: u64 = 1_000;
const HOUR: u64 = 3_600 * SECOND;
const DAY: u64 = 24 * HOUR;
/// Some day in 2026.
const NOW: u64 = 1_795_000_000 * SECOND;
const BOUNDS: TimeBounds = TimeBounds {
    step_max_ms: 60 * SECOND,
    gap_max_ms: HOUR,
    empty_gap_max_ms: 12 * HOUR,
    alone: None,
};
const ALONE: SoleClockRule = SoleClockRule {
    steady_ms: 5 * SECOND,
    idle_max_ms: 1_000 * DAY,
};

/// A timekeeper whose clock and elapsed time are set by the test.
struct Bench {
    time: Timekeeper,
    clock: Arc<AtomicU64>,
    passed: Arc<AtomicU64>,
}

/// The clock reads `clock_ms` when the server starts.
fn started(log: Option<u64>, clock_ms: u64) -> Bench {
    started_with(BOUNDS, log, clock_ms)
}

fn started_with(bounds: TimeBounds, log: Option<u64>, clock_ms: u64) -> Bench {
    let (clock, passed) = (
        Arc::new(AtomicU64::new(clock_ms)),
        Arc::new(AtomicU64::new(7)),
    );
    let reading = |of: &Arc<AtomicU64>| -> Clock {
        let of = Arc::clone(of);
        Arc::new(move || of.load(Ordering::Relaxed))
    };
    let time = Timekeeper::new(reading(&clock), reading(&passed), bounds);
    // The time is read before the log is open.
    assert_eq!(time.now_ms(), clock_ms);
    time.log_ends_at(log);
    Bench {
        time,
        clock,
        passed,
    }
}

impl Bench {
    fn pass(&self, ms: u64) {
        self.clock.fetch_add(ms, Ordering::Relaxed);
        self.passed.fetch_add(ms, Ordering::Relaxed);
    }

    fn set_clock(&self, ms: u64) {
        self.clock.store(ms, Ordering::Relaxed);
    }

    fn clock(&self) -> u64 {
        self.clock.load(Ordering::Relaxed)
    }

    fn is_believed(&self) -> bool {
        let checked = self.time.check(0);
        if let Ok(time_ms) = checked {
            assert_eq!((time_ms, self.time.now_ms()), (self.clock(), self.clock()));
        }
        checked.is_ok()
    }
}

// Holds invariant 97.
#[test]
fn a_clock_that_steps_ahead_is_not_believed_until_it_is_right() {
    let bench = started(Some(NOW), NOW + SECOND);
    assert!(bench.is_believed());
    // A year passes in small steps.
    for _ in 0..365 {
        bench.pass(DAY);
        assert!(bench.is_believed());
    }
    let right = bench.clock();
    bench.set_clock(right + 61 * SECOND);
    assert!(!bench.is_believed());
    // Everything outside the log uses the expected time.
    assert_eq!(bench.time.now_ms(), right);
    bench.set_clock(right + 10 * 365 * DAY);
    let Err(ClockError::Ahead { by_ms }) = bench.time.check(0) else {
        panic!("ten years ahead")
    };
    assert_eq!(by_ms, 10 * 365 * DAY);
    bench.set_clock(right);
    assert!(bench.is_believed());
    // Small steps do not add up.
    for step in 1..=6 {
        bench.set_clock(right + step * 10 * SECOND);
        assert!(bench.is_believed());
    }
    bench.set_clock(right + 70 * SECOND);
    assert!(!bench.is_believed());
}

// Holds invariant 191.
#[test]
fn a_step_that_other_machines_do_not_confirm_is_not_believed() {
    let bench = started(Some(NOW), NOW + SECOND);
    assert!(bench.is_believed());
    bench.time.block_seen(NOW);
    let right = bench.clock();
    // The chain's newest block alone would confirm this for an hour.
    bench.set_clock(right + HOUR / 2);
    bench.time.others_seen(right);
    assert!(!bench.is_believed());
    assert_eq!(bench.time.now_ms(), right);
    // The machine was asleep: the others' time has passed too.
    bench.time.others_seen(right + HOUR / 2 - SECOND);
    assert!(bench.is_believed());

    // No sighting of other machines for a while.
    let bench = started(Some(NOW), NOW + SECOND);
    assert!(bench.is_believed());
    bench.time.others_seen(NOW);
    bench.pass(6 * SECOND);
    bench.time.block_seen(NOW);
    bench.set_clock(bench.clock() + HOUR / 2);
    assert!(bench.is_believed());
}

// Holds invariant 97.
#[test]
fn a_clock_that_was_behind_at_the_start_is_believed_once_it_is_right() {
    for behind in [61 * SECOND, 600 * SECOND, 2 * HOUR, 3_650 * DAY] {
        let bench = started(Some(NOW), NOW - behind);
        let Err(ClockError::Behind { by_ms }) = bench.time.check(NOW) else {
            panic!("{behind} ms behind")
        };
        assert_eq!(by_ms, behind);
        assert_eq!(bench.time.now_ms(), NOW);
        bench.pass(2 * SECOND);
        bench.set_clock(NOW + 5 * SECOND);
        assert_eq!(bench.time.check(NOW), Ok(NOW + 5 * SECOND));
        // From then on it is the reference.
        bench.set_clock(NOW + HOUR);
        assert!(matches!(
            bench.time.check(NOW),
            Err(ClockError::Ahead { .. })
        ));
    }
    // The first right reading of a clock that was behind is held to the bounds of a start.
    let bench = started(Some(NOW), NOW - HOUR);
    assert!(bench.time.check(NOW).is_err());
    bench.set_clock(NOW + DAY);
    assert!(matches!(
        bench.time.check(NOW),
        Err(ClockError::Ahead { .. })
    ));
}

// Holds invariant 98.
#[test]
fn a_start_needs_something_that_happened_near_the_clock() {
    assert!(started(Some(NOW), NOW + HOUR).is_believed());
    let bench = started(Some(NOW), NOW + DAY);
    assert!(
        !bench.is_believed(),
        "a day ahead of the log, and nobody to ask"
    );
    assert_eq!(bench.time.now_ms(), NOW);
    // Idle for a month: the chain knows.
    let bench = started(Some(NOW), NOW + 30 * DAY);
    assert!(!bench.is_believed());
    bench.time.block_seen(NOW + 30 * DAY - 12 * SECOND);
    assert!(bench.is_believed());
    // A chain node that stands still in the past confirms nothing, and refutes nothing that the log confirms.
    let bench = started(Some(NOW), NOW + DAY);
    bench.time.block_seen(NOW - DAY);
    assert!(!bench.is_believed());
    let bench = started(Some(NOW), NOW + SECOND);
    bench.time.block_seen(NOW - 30 * DAY);
    assert!(bench.is_believed());
}

// Holds invariant 98.
#[test]
fn a_node_that_lies_about_the_future_moves_nothing() {
    let bench = started(Some(NOW), NOW + SECOND);
    bench.time.block_seen(NOW + 1_000 * DAY);
    assert!(bench.is_believed());
    assert_eq!(bench.time.check(0), Ok(NOW + SECOND));
    // The next answer counts, not the highest.
    bench.time.block_seen(NOW);
    bench.set_clock(NOW + DAY);
    assert!(!bench.is_believed());
}

#[test]
fn an_empty_log_believes_until_the_chain_speaks_against_it() {
    let bench = started(None, NOW);
    assert!(bench.is_believed());
    bench.time.block_seen(NOW - SECOND);
    assert!(bench.is_believed());
    let bench = started(None, NOW + DAY);
    assert!(bench.is_believed());
    bench.time.block_seen(NOW);
    assert!(!bench.is_believed());
    bench.set_clock(NOW);
    assert!(bench.is_believed());
}

#[test]
fn the_operators_word_is_enough_where_the_clock_says_the_same() {
    let bench = started(Some(NOW), NOW + 30 * DAY);
    assert!(!bench.is_believed());
    assert_eq!(bench.time.confirm(NOW), Err(30 * DAY));
    assert!(!bench.is_believed());
    assert_eq!(bench.time.confirm(NOW + 30 * DAY + 20 * SECOND), Ok(()));
    assert!(bench.is_believed());
    bench.set_clock(NOW + 31 * DAY);
    assert!(!bench.is_believed(), "the word was about that clock alone");
}

#[test]
fn a_log_ahead_of_the_clock_is_said_to_be() {
    let bench = started(Some(NOW), NOW - 30 * SECOND);
    assert!(
        bench.time.check(NOW).is_ok(),
        "a small step back is waited out"
    );
    bench.set_clock(NOW - HOUR);
    let behind = ClockError::Behind { by_ms: HOUR };
    assert_eq!(bench.time.check(NOW), Err(behind));
    assert_eq!(bench.time.now_ms(), NOW);
    bench.set_clock(NOW + SECOND);
    assert!(bench.is_believed());
}

/// A server with no other source of the time.
fn started_alone(idle_ms: u64) -> Bench {
    let bounds = TimeBounds {
        alone: Some(ALONE),
        ..BOUNDS
    };
    started_with(bounds, Some(NOW), NOW + idle_ms)
}

// Holds invariant 98.
#[test]
fn a_clock_that_nobody_else_confirms_is_believed_when_it_advances_steadily() {
    assert!(started_alone(HOUR).is_believed(), "the log confirms it");
    let bench = started_alone(30 * DAY);
    assert!(!bench.is_believed());
    bench.pass(5 * SECOND - 1);
    assert!(!bench.is_believed());
    bench.pass(1);
    assert!(bench.is_believed());
    // From here on it is held to elapsed time, like any other.
    bench.set_clock(NOW + 31 * DAY);
    for _ in 0..10 {
        bench.pass(SECOND);
        assert!(!bench.is_believed(), "a step, however steady what follows");
    }
    // A clock that is set during the wait starts over.
    let bench = started_alone(30 * DAY);
    assert!(!bench.is_believed());
    bench.pass(4 * SECOND);
    bench.set_clock(NOW + 20 * DAY);
    assert!(!bench.is_believed());
    bench.pass(4 * SECOND);
    assert!(!bench.is_believed());
    bench.pass(SECOND);
    assert!(bench.is_believed());
    // A clock that runs too fast is never believed.
    let bench = started_alone(30 * DAY);
    for _ in 0..20 {
        bench.pass(SECOND);
        bench.set_clock(bench.clock() + SECOND / 2);
        assert!(!bench.is_believed());
    }
}

#[test]
fn no_steadiness_makes_up_for_a_date_that_cannot_be_or_for_another_source() {
    let idle_max_ms = ALONE.idle_max_ms;
    for (idle_ms, believed) in [(idle_max_ms, true), (idle_max_ms + 1, false)] {
        let bench = started_alone(idle_ms);
        assert!(!bench.is_believed());
        bench.pass(10 * SECOND);
        assert_eq!(bench.is_believed(), believed);
    }
    // If a chain node is configured, its answer is needed.
    let bench = started(Some(NOW), NOW + 30 * DAY);
    assert!(!bench.is_believed());
    bench.pass(HOUR);
    assert!(!bench.is_believed());
}
