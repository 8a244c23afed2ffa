//! Race between placing a proposal and giving it up. It is decided once: the Sequencer places the proposal, or its
//! caller stops waiting and gives it up. The caller gets `nothing_done` for a proposal that was given up, because it is
//! never placed then, and `unknown` for one that was placed and not answered.

use std::sync::atomic::{AtomicU8, Ordering};

const OPEN: u8 = 0;
const PLACED: u8 = 1;
const ABANDONED: u8 = 2;

/// Placed by the sequencer, or before that given up by the caller; set once.
#[derive(Debug, Default)]
pub(crate) struct PlacementState(AtomicU8);

impl PlacementState {
    fn settle(&self, as_what: u8) -> bool {
        let (order, seen) = (Ordering::AcqRel, Ordering::Acquire);
        let settled = self.0.compare_exchange(OPEN, as_what, order, seen);
        settled == Ok(OPEN) || settled == Err(as_what)
    }

    /// Marks the proposal as placed; false if it was given up.
    pub(crate) fn place(&self) -> bool {
        self.settle(PLACED)
    }

    /// Gives the proposal up: true if it is not placed, and now never will be.
    pub(crate) fn abandon(&self) -> bool {
        self.settle(ABANDONED)
    }

    /// True if the proposal was given up.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.0.load(Ordering::Acquire) == ABANDONED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds invariant 94.
    #[test]
    fn a_unit_is_placed_or_given_up() {
        let placed = PlacementState::default();
        assert!(placed.place() && !placed.abandon() && !placed.is_abandoned());
        let given_up = PlacementState::default();
        assert!(given_up.abandon() && given_up.abandon() && !given_up.place());
        assert!(given_up.is_abandoned());
    }
}
