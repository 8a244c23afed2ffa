//! Checks that the actors' decisions lead to the rows that [`LogApplier`] writes for the same records. If the operator asks
//! for it (`compare_groups_every`), a sample of groups is checked before they are written. A group that differs does
//! not reach the log, and the process ends: a bug is never served.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kedge_protocol::Hash;
use kedge_protocol::record::RequestRecord;
use kedge_storage::{Store, WriteGroup};

use super::error::GroupDisagreement;
use super::record::record;
use crate::api::BatchPlacement;
use crate::pipeline::sequenced_proposal::SequencedProposal;
use kedge_replay::apply::{ApplyError, LogApplier};

/// Every group of up to this many requests is in the sample.
const SMALL_REQUESTS: usize = 8;

/// Sample of the groups whose rows are compared with their records.
pub(crate) struct AgreementSampler {
    /// Every `every`-th larger group is in the sample; 0: no group is.
    every: u64,
    seen: u64,
    compared: Arc<AtomicU64>,
}

impl AgreementSampler {
    /// `compared` counts the compared groups.
    pub(crate) fn new(every: u64, compared: Arc<AtomicU64>) -> Self {
        Self {
            every,
            seen: 0,
            compared,
        }
    }

    /// Whether the next group is in the sample.
    pub(crate) fn takes(&mut self, placed: &[(SequencedProposal, BatchPlacement)]) -> bool {
        if self.every == 0 || placed.is_empty() {
            return false;
        }
        self.seen += 1;
        placed.len() <= SMALL_REQUESTS || self.seen.is_multiple_of(self.every)
    }

    /// Checks a group of the sample. The store must be in the state after the previous group.
    pub(crate) fn check(
        &self,
        store: &Store,
        group: &WriteGroup,
        placed: &[(SequencedProposal, BatchPlacement)],
    ) -> Result<(), GroupDisagreement> {
        compare(store, group, placed)?;
        self.compared.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

fn compare(
    store: &Store,
    group: &WriteGroup,
    placed: &[(SequencedProposal, BatchPlacement)],
) -> Result<(), GroupDisagreement> {
    let before = store.snapshot();
    let mut apply = LogApplier::over(before.clone())?;
    for of_batch in placed.chunk_by(|(_, one), (_, next)| Arc::ptr_eq(&one.batch, &next.batch)) {
        let batch = &of_batch[0].1.batch.signed;
        let mut leaves: Vec<Hash> = Vec::new();
        for (unit, placement) in of_batch {
            let number = batch.header.number;
            let (record, _) = record(unit, number, placement.first_leaf_index);
            request(&mut apply, &record)?;
            leaves.extend(unit.placed.iter().map(|placed| placed.leaf));
        }
        apply.batch(batch, &leaves)?;
    }
    Ok(group.compare(&apply.take_rows()?, &before)?)
}

fn request(apply: &mut LogApplier, record: &RequestRecord<'_>) -> Result<(), ApplyError> {
    apply.request(record, &record.placed(&record.hashes()))
}
