//! Which ids to ask the server about, and which it does not answer for.

use std::collections::BTreeMap;

use kedge_protocol::{Id, Prefix};

use super::{SeenEntry, StateMemory};
use crate::tower::StateDemandBasis;

/// What was asked about an id.
#[derive(Clone, Copy, Default)]
pub(super) struct IdProgress {
    /// The highest sequence of a leaf that may have changed it.
    pub(super) changed: u64,
    /// The highest sequence of a checkpoint at which it was shown.
    pub(super) shown: u64,
    /// The round in which it was asked for last.
    asked: u64,
    /// Since when the server does not show it, Unix seconds of the chain.
    pub(super) refused_since_s: Option<u64>,
}

impl StateMemory {
    /// The ids to ask for in this round: those that changed since they were shown, then those that were not asked for
    /// longest.
    pub(in crate::tower) fn ids_to_ask(&mut self, most: usize) -> Vec<Id> {
        self.rounds += 1;
        let mut ids: Vec<(bool, u64, Id)> = self
            .progress
            .iter()
            .map(|(id, progress)| {
                let is_shown = progress.shown > 0 && progress.shown >= progress.changed;
                let is_settled = is_shown || progress.refused_since_s.is_some();
                (is_settled, progress.asked, *id)
            })
            .collect();
        ids.sort_unstable();
        ids.truncate(most);
        for (_, _, id) in &ids {
            if let Some(progress) = self.progress.get_mut(id) {
                progress.asked = self.rounds;
            }
        }
        ids.into_iter().map(|(_, _, id)| id).collect()
    }

    /// Records that the server does not show an id.
    pub(in crate::tower) fn refuse(&mut self, id: &Id, now_s: u64) {
        let progress = self.progress.entry(*id).or_default();
        progress.refused_since_s.get_or_insert(now_s);
    }

    /// Ids of an organization that the server has not shown since a time, with what is known of them at other
    /// checkpoints.
    pub(in crate::tower) fn hidden(
        &self,
        organization: &Id,
        (batches, until_s): (u64, u64),
    ) -> Vec<(Id, StateDemandBasis)> {
        let refused = self.progress.iter().filter(|(_, progress)| {
            progress
                .refused_since_s
                .is_some_and(|since_s| since_s <= until_s)
        });
        let own = refused.filter(|(id, _)| self.belongs_to(id, organization));
        own.filter_map(|(id, _)| Some((*id, self.basis(id, batches)?)))
            .collect()
    }

    /// What lets an account demand an id's state at a checkpoint.
    fn basis(&self, id: &Id, batches: u64) -> Option<StateDemandBasis> {
        let known = self.elsewhere(id, batches);
        if let Some(known) = known {
            return Some(StateDemandBasis::Entry(Box::new(known.evidence.clone())));
        }
        let maker = self.maker(id).filter(|_| id.prefix != Prefix::Variation)?;
        Some(StateDemandBasis::Maker(Box::new(maker.evidence.clone())))
    }

    /// Ids of an organization whose newest entry's leaf is unknown, of types whose leaves the organization sees.
    pub(in crate::tower) fn unexplained(&self, organization: &Id) -> Vec<Id> {
        let seen = [
            Prefix::Object,
            Prefix::Wallet,
            Prefix::Template,
            Prefix::Key,
            Prefix::File,
        ];
        let ids = self.entries.keys().filter(|id| {
            seen.contains(&id.prefix)
                && self.unknown_sequence(id).is_some()
                && self.belongs_to(id, organization)
        });
        ids.copied().collect()
    }

    /// The entry of an id at a checkpoint.
    pub(in crate::tower) fn at(&self, id: &Id, batches: u64) -> Option<&SeenEntry> {
        let mut kept = self.entries.get(id)?.iter();
        kept.find(|entry| entry.batches() == batches)
    }

    /// Since when the server does not show ids, Unix seconds of the chain.
    pub(in crate::tower) fn refusals(&self) -> BTreeMap<Id, u64> {
        let refused = self.progress.iter();
        refused
            .filter_map(|(id, progress)| Some((*id, progress.refused_since_s?)))
            .collect()
    }

    /// The sequence that an id's newest entry tells of, if no leaf at it is known.
    pub(in crate::tower) fn unknown_sequence(&self, id: &Id) -> Option<u64> {
        let sequence = self.newest(id)?.shown.entry()?.sequence;
        (!self.knows_sequence(sequence)).then_some(sequence)
    }
}
