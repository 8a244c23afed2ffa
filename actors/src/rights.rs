//! Changes of what a wallet may do. A request is placed with the rights that it was admitted with;
//! so a change waits for the wallet's requests under way, and its later requests wait for the change.

use std::collections::{HashMap, HashSet, VecDeque};

use kedge_protocol::Id;

use crate::unit::Unit;

/// Who has requests under way, and whose rights are being changed.
#[derive(Default)]
pub(crate) struct Rights {
    under_way: HashMap<Id, u32>,
    changing: HashSet<Id>,
    /// Whose rights held requests will change: their wallets' later requests queue up behind.
    awaited: HashSet<Id>,
    held: VecDeque<Box<Unit>>,
}

impl Rights {
    /// True for a request of `wallet` that may not begin now.
    pub(crate) fn must_wait(&self, wallet: Id, subject: Option<Id>) -> bool {
        let changes =
            |subject: Id| self.changing.contains(&subject) || self.under_way.contains_key(&subject);
        self.changing.contains(&wallet)
            || self.awaited.contains(&wallet)
            || subject.is_some_and(changes)
    }

    /// Keeps a request until something has ended.
    pub(crate) fn hold(&mut self, unit: Box<Unit>, subject: Option<Id>) {
        self.awaited.extend(subject);
        self.held.push_back(unit);
    }

    /// A request of `wallet` begins; it changes the rights of `subject`.
    pub(crate) fn begin(&mut self, wallet: Id, subject: Option<Id>) {
        *self.under_way.entry(wallet).or_default() += 1;
        self.changing.extend(subject);
    }

    /// It has ended. Gives what was held, to be tried again.
    pub(crate) fn end(&mut self, wallet: Id, subject: Option<Id>) -> VecDeque<Box<Unit>> {
        if let Some(count) = self.under_way.get_mut(&wallet) {
            *count -= 1;
            if *count == 0 {
                self.under_way.remove(&wallet);
            }
        }
        if let Some(subject) = subject {
            self.changing.remove(&subject);
        }
        self.retry()
    }

    /// Gives what is held, to be tried again.
    pub(crate) fn retry(&mut self) -> VecDeque<Box<Unit>> {
        self.awaited.clear();
        std::mem::take(&mut self.held)
    }

    /// True when nothing is under way and nothing is held.
    pub(crate) fn is_idle(&self) -> bool {
        self.under_way.is_empty() && self.held.is_empty()
    }
}
