//! Changes of a wallet's keys or role. A request is decided with its signer's rights, so these must not change between
//! its admission and its place. A change waits until the wallet's requests in flight have ended, and its later requests
//! wait for the change. Rights come before supply, so a request that waits here holds only its permit.

use std::collections::{HashMap, HashSet, VecDeque};

use kedge_protocol::Id;

use super::proposal::Proposal;

/// Wallets with requests in flight, and wallets whose rights are being changed.
#[derive(Default)]
pub(crate) struct RightsBarrier {
    under_way: HashMap<Id, u32>,
    changing: HashSet<Id>,
    /// Wallets whose rights a held request will change: their later requests queue after it.
    awaited: HashSet<Id>,
    held: VecDeque<Box<Proposal>>,
}

impl RightsBarrier {
    /// True if a request of `wallet` may not begin now.
    pub(crate) fn must_wait(&self, wallet: Id, subject: Option<Id>) -> bool {
        let changes =
            |subject: Id| self.changing.contains(&subject) || self.under_way.contains_key(&subject);
        self.changing.contains(&wallet)
            || self.awaited.contains(&wallet)
            || subject.is_some_and(changes)
    }

    /// Holds a request until another one has ended.
    pub(crate) fn hold(&mut self, unit: Box<Proposal>, subject: Option<Id>) {
        self.awaited.extend(subject);
        self.held.push_back(unit);
    }

    /// Notes that a request of `wallet` begins, which changes the rights of `subject`.
    pub(crate) fn begin(&mut self, wallet: Id, subject: Option<Id>) {
        *self.under_way.entry(wallet).or_default() += 1;
        self.changing.extend(subject);
    }

    /// Notes that the request has ended. Returns the held requests for a retry.
    pub(crate) fn end(&mut self, wallet: Id, subject: Option<Id>) -> VecDeque<Box<Proposal>> {
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

    /// Takes the held requests for a retry.
    pub(crate) fn retry(&mut self) -> VecDeque<Box<Proposal>> {
        self.awaited.clear();
        std::mem::take(&mut self.held)
    }

    /// True if nothing is in flight and nothing is held.
    pub(crate) fn is_idle(&self) -> bool {
        self.under_way.is_empty() && self.held.is_empty()
    }
}
