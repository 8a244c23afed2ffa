//! Commit group on its way from the committer to the threads that write it.

use std::sync::Arc;
use std::time::Instant;

use crate::timing::{Member, Observed};
use kedge_protocol::Id;
use kedge_storage::{Group, LogHead};
use tokio::sync::oneshot;

use crate::api::{Committed, Placement};
use crate::pipeline::placed::PlacedUnit;
use crate::pipeline::unit::Unit;

/// Answers and notifications once a group is durable.
#[derive(Default)]
pub(crate) struct Afterwards {
    /// Units of the sealed batches, each with its place.
    pub(crate) placed: Vec<(PlacedUnit, Placement)>,
    pub(crate) refusals: Vec<(Arc<Unit>, Committed)>,
    pub(crate) acknowledgements: Vec<oneshot::Sender<()>>,
    /// Organizations with changes.
    pub(crate) touched: Vec<Id>,
    /// Listeners of events outside the log; `None` notifies all.
    pub(crate) reported: Vec<Option<Id>>,
    /// The requests sampled for tracing, if there are any.
    pub(crate) observed: Option<Box<Observed>>,
}

impl Afterwards {
    /// True if no caller waits for the group.
    pub(crate) fn is_empty(&self) -> bool {
        self.placed.is_empty() && self.refusals.is_empty() && self.acknowledgements.is_empty()
    }

    /// Notes a sampled request, with its place if it has one; for any other the call is one comparison.
    pub(crate) fn observe(
        &mut self,
        unit: &Unit,
        placement: Option<&Placement>,
        now: impl FnOnce() -> Instant,
    ) {
        if let Some(timing) = &unit.submission.timing {
            let member = Member {
                span: timing.span,
                first_sequence: placement.map_or(0, |placement| placement.first_sequence),
                count: placement.map_or(0, |placement| placement.count),
                batch: placement.map(|placement| placement.batch.signed.header.number),
            };
            Observed::add(&mut self.observed, timing, member, now());
        }
    }

    pub(crate) fn touch(&mut self, organization: Id) {
        if self.touched.last() != Some(&organization) {
            self.touched.push(organization);
        }
    }
}

/// A commit group ready for writing: the content of one log frame and one commit.
pub(crate) struct CommitGroup {
    pub(crate) group: Group,
    /// The log's head after it.
    pub(crate) head: LogHead,
    /// A sequence after which no API key has changed and no wallet was removed from its organization.
    pub(crate) keys_changed_at: u64,
    pub(crate) afterwards: Afterwards,
}
