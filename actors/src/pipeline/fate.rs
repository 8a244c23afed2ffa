//! Whether a unit is placed in the log, or never will be. It is decided once: the Sequencer places the unit, or a
//! caller that stops waiting gives it up. A caller hears `nothing_done` of what was given up, because it is never
//! placed then, and `unknown` of what was placed and not answered.

use std::sync::atomic::{AtomicU8, Ordering};

const OPEN: u8 = 0;
const PLACED: u8 = 1;
const ABANDONED: u8 = 2;

/// Decided once: by the sequencer, which places the unit, or before that by the caller, which gives it up.
#[derive(Debug, Default)]
pub(crate) struct Fate(AtomicU8);

impl Fate {
    fn settle(&self, as_what: u8) -> bool {
        let (order, seen) = (Ordering::AcqRel, Ordering::Acquire);
        let settled = self.0.compare_exchange(OPEN, as_what, order, seen);
        settled == Ok(OPEN) || settled == Err(as_what)
    }

    /// The unit is about to be placed; false if it was given up.
    pub(crate) fn place(&self) -> bool {
        self.settle(PLACED)
    }

    /// No caller waits for the unit any more: true if it is not placed, and now never will be.
    pub(crate) fn abandon(&self) -> bool {
        self.settle(ABANDONED)
    }

    /// True if it was given up.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.0.load(Ordering::Acquire) == ABANDONED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_placed_or_given_up() {
        let placed = Fate::default();
        assert!(placed.place() && !placed.abandon() && !placed.is_abandoned());
        let given_up = Fate::default();
        assert!(given_up.abandon() && given_up.abandon() && !given_up.place());
        assert!(given_up.is_abandoned());
    }
}
