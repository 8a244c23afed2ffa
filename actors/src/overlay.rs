//! Speculative state: a resource after each pending decision on it.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A resource as one decision leaves it. The Sequencer sets the sequence of the decision's action. Until then the
/// sequence is zero, and nothing that depends on this state may be placed.
#[derive(Debug)]
pub struct StateVersion<T> {
    value: T,
    sequence: AtomicU64,
}

impl<T> StateVersion<T> {
    /// The result of a decision that has no sequence yet.
    pub fn decided(value: T) -> Self {
        Self::placed(value, 0)
    }

    /// The result of an action that was placed at `sequence`.
    pub fn placed(value: T, sequence: u64) -> Self {
        Self {
            value,
            sequence: AtomicU64::new(sequence),
        }
    }

    /// The value, for replacement before it is shared.
    pub(crate) fn value_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// The sequence of its action; 0 before it is placed.
    pub fn sequence(&self) -> u64 {
        self.sequence.load(Ordering::Acquire)
    }

    pub fn set_sequence(&self, sequence: u64) {
        self.sequence.store(sequence, Ordering::Release);
    }
}

impl<T> Deref for StateVersion<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// The committed state of a resource and the pending decisions after it, by ticket.
#[derive(Debug)]
pub(crate) struct Overlay<T> {
    base: Arc<StateVersion<T>>,
    tail: VecDeque<(u64, Arc<StateVersion<T>>)>,
}

impl<T> Overlay<T> {
    pub(crate) fn new(base: Arc<StateVersion<T>>) -> Self {
        Self {
            base,
            tail: VecDeque::new(),
        }
    }

    /// The state that the next decision starts from.
    pub(crate) fn top(&self) -> &Arc<StateVersion<T>> {
        self.tail.back().map_or(&self.base, |(_, top)| top)
    }

    /// The committed state. The next [`Self::settle`] drops it if a decision is pending.
    pub(crate) fn base(&self) -> &Arc<StateVersion<T>> {
        &self.base
    }

    /// True if no decision is pending.
    pub(crate) fn is_settled(&self) -> bool {
        self.tail.is_empty()
    }

    /// Number of proposals with pending decisions.
    pub(crate) fn depth(&self) -> usize {
        self.tail.len()
    }

    /// Adds a decision. Only the last decision of each proposal is kept: a proposal's decisions commit and are dropped
    /// together, so nothing depends on the earlier ones. Otherwise a batch that changes a resource fifty times would
    /// leave fifty versions of it until the next action on it.
    pub(crate) fn push(&mut self, ticket: u64, next: Arc<StateVersion<T>>) {
        match self.tail.back_mut() {
            Some((newest, top)) if *newest == ticket => *top = next,
            _ => self.tail.push_back((ticket, next)),
        }
    }

    /// Drops the states before the newest committed decision: tickets commit in order. A refused proposal's decision
    /// has no sequence; it stays until the refusal arrives here. Returns the last state that was dropped, for reuse of
    /// its memory.
    pub(crate) fn settle(&mut self, committed_ticket: u64) -> Option<Arc<StateVersion<T>>> {
        let mut dropped = None;
        while let Some((ticket, decided)) = self.tail.front() {
            if *ticket > committed_ticket || decided.sequence() == 0 {
                break;
            }
            if let Some((_, base)) = self.tail.pop_front() {
                dropped = Some(std::mem::replace(&mut self.base, base));
            }
        }
        dropped
    }

    /// Drops a refused proposal's decisions and all decisions that depend on them. If the proposal's decisions were
    /// dropped before, nothing else is dropped.
    pub(crate) fn drop_unit(&mut self, refused: u64) {
        if let Some(place) = self.tail.iter().position(|(ticket, _)| *ticket == refused) {
            self.tail.truncate(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overlay(tickets: &[u64]) -> Overlay<u64> {
        let mut overlay = Overlay::new(Arc::new(StateVersion::placed(0, 1)));
        for &ticket in tickets {
            overlay.push(ticket, Arc::new(StateVersion::placed(ticket, ticket)));
        }
        overlay
    }

    // Holds invariant 5.
    #[test]
    fn a_decision_without_a_sequence_never_becomes_the_base() {
        let mut overlay = overlay(&[3]);
        overlay.push(4, Arc::new(StateVersion::decided(4)));
        overlay.settle(9);
        assert_eq!((overlay.depth(), ***overlay.top()), (1, 4));
        overlay.drop_unit(4);
        assert_eq!(***overlay.top(), 3);
    }

    #[test]
    fn committed_decisions_become_the_base() {
        let mut overlay = overlay(&[3, 4, 4, 9]);
        overlay.settle(4);
        assert_eq!((overlay.depth(), ***overlay.top()), (1, 9));
        overlay.settle(9);
        assert!(overlay.is_settled());
        assert_eq!(***overlay.top(), 9);
    }

    #[test]
    fn of_one_units_decisions_only_the_last_is_kept() {
        let mut overlay = overlay(&[3]);
        let versions = [41, 42, 43].map(|value| Arc::new(StateVersion::decided(value)));
        for version in &versions {
            overlay.push(4, Arc::clone(version));
        }
        assert_eq!((overlay.depth(), ***overlay.top()), (2, 43));
        let held = |version: &Arc<_>| Arc::strong_count(version) - 1;
        assert_eq!(versions.each_ref().map(held), [0, 0, 1]);
        versions[2].set_sequence(9);
        overlay.settle(4);
        assert!(overlay.is_settled());
        assert_eq!(***overlay.top(), 43);
        // All of them are dropped together.
        overlay.push(5, Arc::new(StateVersion::decided(51)));
        overlay.push(5, Arc::new(StateVersion::decided(52)));
        overlay.drop_unit(5);
        assert_eq!((overlay.depth(), ***overlay.top()), (0, 43));
    }

    #[test]
    fn a_refusal_takes_what_rests_on_it() {
        let mut overlay = overlay(&[3, 4, 4, 9]);
        overlay.drop_unit(4);
        assert_eq!((overlay.depth(), ***overlay.top()), (1, 3));
        // 9 was dropped with 4; its own refusal must not drop 11.
        overlay.push(11, Arc::new(StateVersion::decided(11)));
        overlay.drop_unit(9);
        assert_eq!(***overlay.top(), 11);
        overlay.drop_unit(3);
        assert_eq!(***overlay.top(), 0);
    }
}
