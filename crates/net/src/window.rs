//! Counters in fixed windows of the wall clock: minutes, quarters of an hour, hours and UTC days. A count and its
//! window share one atomic word, so starting a window and counting its first request are one step, and a limit never
//! admits more than it allows.

use std::sync::atomic::{AtomicU64, Ordering};

/// Highest count; higher limits are cut to it.
pub const COUNT_MAX: u64 = u32::MAX as u64;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowPeriod {
    Minute,
    QuarterHour,
    Hour,
    /// From midnight to midnight, UTC.
    Day,
}

impl WindowPeriod {
    pub const fn seconds(self) -> u64 {
        match self {
            Self::Minute => 60,
            Self::QuarterHour => 15 * 60,
            Self::Hour => 60 * 60,
            Self::Day => 24 * 60 * 60,
        }
    }

    /// The number of the window at this Unix time in seconds.
    pub fn window(self, now_s: u64) -> u32 {
        u32::try_from(now_s / self.seconds()).unwrap_or(u32::MAX)
    }

    /// Start of a window, Unix seconds.
    pub fn begins_s(self, window: u32) -> u64 {
        u64::from(window) * self.seconds()
    }

    /// End of a window, Unix seconds.
    pub fn ends_s(self, window: u32) -> u64 {
        (u64::from(window) + 1) * self.seconds()
    }
}

/// Count of one window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowCount {
    pub window: u32,
    pub used: u32,
}

impl WindowCount {
    fn of_word(word: u64) -> Self {
        Self {
            window: (word >> 32) as u32,
            used: word as u32,
        }
    }

    fn word(self) -> u64 {
        u64::from(self.window) << 32 | u64::from(self.used)
    }

    /// The count that a request of this window sees. A request that read the clock just before the window changed
    /// counts in the next one, which another request has begun. A clock that was set back further starts again at zero.
    fn seen_from(self, window: u32) -> Self {
        if self.window == window || self.window.checked_sub(1) == Some(window) {
            self
        } else {
            Self { window, used: 0 }
        }
    }
}

#[derive(Default, Debug)]
pub struct WindowCounter(AtomicU64);

impl WindowCounter {
    /// Continues from a stored count.
    pub fn from_count(count: WindowCount) -> Self {
        Self(AtomicU64::new(count.word()))
    }

    pub fn count(&self, window: u32) -> WindowCount {
        WindowCount::of_word(self.0.load(Ordering::Acquire)).seen_from(window)
    }

    /// The count of the last window in which anything was counted.
    pub fn latest(&self) -> WindowCount {
        WindowCount::of_word(self.0.load(Ordering::Acquire))
    }

    /// Counts one; false if `limit` leaves no room.
    pub fn take(&self, window: u32, limit: u32) -> bool {
        let more = |word| {
            let count = WindowCount::of_word(word).seen_from(window);
            let used = count.used.checked_add(1).filter(|used| *used <= limit)?;
            Some(WindowCount { used, ..count }.word())
        };
        self.0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, more)
            .is_ok()
    }

    /// Counts the part of the rest that `share` chooses, given the limit and the rest; returns it.
    pub fn take_share(&self, window: u32, limit: u32, share: impl Fn(u32, u32) -> u32) -> u32 {
        let mut taken = 0;
        let more = |word| {
            let count = WindowCount::of_word(word).seen_from(window);
            let left = limit.saturating_sub(count.used);
            taken = share(limit, left).min(left);
            let used = count.used.saturating_add(taken);
            (taken > 0).then(|| WindowCount { used, ..count }.word())
        };
        // Nothing is counted where nothing is left.
        let _ = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
        taken
    }

    /// Adds to the count of this window.
    pub fn add(&self, window: u32, more: u32) {
        self.take_share(window, u32::MAX, |_, _| more);
    }

    /// Raises the count of this window to at least `used`, which is counted elsewhere.
    pub fn raise_to(&self, window: u32, used: u32) {
        let higher = |word| {
            let count = WindowCount::of_word(word).seen_from(window);
            (count.used < used).then(|| WindowCount { used, ..count }.word())
        };
        // The count may be that high already.
        let _ = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, higher);
    }

    /// Gives back one that was counted in this window; does nothing once the window has ended.
    pub fn give_back(&self, window: u32) {
        let less = |word| {
            let count = WindowCount::of_word(word);
            let used = count.used.checked_sub(1)?;
            (count.window == window).then(|| WindowCount { used, ..count }.word())
        };
        // There may be nothing to give back.
        let _ = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
    }

    pub fn clear(&self) {
        self.0.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn windows_are_those_of_the_wall_clock() {
        // 2026-11-21T10:01:48Z
        let now_s = 1_795_255_308;
        assert_eq!(
            WindowPeriod::Minute.ends_s(WindowPeriod::Minute.window(now_s)),
            1_795_255_320
        );
        assert_eq!(
            WindowPeriod::QuarterHour.ends_s(WindowPeriod::QuarterHour.window(now_s)),
            1_795_256_100
        );
        assert_eq!(
            WindowPeriod::Day.begins_s(WindowPeriod::Day.window(now_s)),
            1_795_219_200
        );
        assert_eq!(
            WindowPeriod::Day.ends_s(WindowPeriod::Day.window(now_s)),
            1_795_305_600
        );
    }

    #[test]
    fn a_new_window_begins_with_nothing() {
        let counter = WindowCounter::default();
        for _ in 0..3 {
            assert!(counter.take(7, 3));
        }
        assert!(!counter.take(7, 3));
        assert_eq!(counter.count(7).used, 3);
        assert_eq!(counter.count(8).used, 0);
        assert!(counter.take(8, 3));
        assert_eq!(counter.count(8).used, 1);
    }

    #[test]
    fn a_late_request_counts_in_the_window_that_has_begun() {
        let counter = WindowCounter::default();
        assert!(counter.take(8, 2));
        assert!(counter.take(7, 2));
        assert!(!counter.take(7, 2));
        assert_eq!(counter.count(7), WindowCount { window: 8, used: 2 });
    }

    #[test]
    fn a_clock_that_was_set_back_shuts_nobody_out() {
        let counter = WindowCounter::default();
        assert!(counter.take(1_000, 1));
        assert!(counter.take(500, 1));
        assert_eq!(
            counter.count(500),
            WindowCount {
                window: 500,
                used: 1
            }
        );
    }

    #[test]
    fn what_is_given_back_can_be_taken_again_in_its_window_alone() {
        let counter = WindowCounter::default();
        assert!(counter.take(7, 1));
        counter.give_back(7);
        assert!(counter.take(7, 1));
        counter.give_back(6);
        assert!(!counter.take(7, 1));
        assert!(counter.take(8, 1));
        counter.give_back(7);
        assert_eq!(counter.count(8).used, 1);
        counter.give_back(8);
        counter.give_back(8);
        assert_eq!(counter.count(8).used, 0);
    }

    #[test]
    fn a_share_is_of_what_is_left_in_its_window() {
        let counter = WindowCounter::default();
        let half = |_: u32, left: u32| left.div_ceil(2);
        assert_eq!(counter.take_share(7, 5, half), 3);
        assert_eq!(counter.take_share(7, 5, |_, _| 100), 2);
        assert_eq!(counter.take_share(7, 5, |_, _| 100), 0);
        assert!(!counter.take(7, 5));
        assert_eq!(counter.take_share(8, 5, half), 3);
        counter.add(8, 4);
        assert_eq!(counter.count(8).used, 7);
        counter.raise_to(8, 6);
        assert_eq!(counter.count(8).used, 7);
        counter.raise_to(8, 9);
        assert_eq!(counter.count(8).used, 9);
        counter.raise_to(9, 1);
        assert_eq!(counter.count(9), WindowCount { window: 9, used: 1 });
    }

    // Holds invariant 21.
    #[test]
    fn parallel_requests_get_exactly_the_limit() {
        const LIMIT: u32 = 1_000;
        let counter = WindowCounter::default();
        let taken: u32 = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| (0..500).filter(|_| counter.take(3, LIMIT)).count() as u32))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .sum()
        });
        assert_eq!(taken, LIMIT);
        assert_eq!(counter.count(3).used, LIMIT);
    }

    proptest! {
        /// Compares with a plain model: a window never counts more than its limit.
        #[test]
        fn a_counter_is_its_model(
            limit in 0u32..5,
            steps in prop::collection::vec((0u32..4, any::<bool>()), 0..60),
        ) {
            let counter = WindowCounter::default();
            let (mut now, mut used) = (10u32, 0u32);
            for (forward, takes) in steps {
                // Windows only move forward here, and most steps stay in the same one.
                if forward == 3 {
                    (now, used) = (now + 1, 0);
                }
                if takes {
                    prop_assert_eq!(counter.take(now, limit), used < limit);
                    used = (used + 1).min(limit);
                } else {
                    counter.give_back(now);
                    used = used.saturating_sub(1);
                }
                prop_assert_eq!(counter.count(now).used, used);
            }
        }
    }
}
