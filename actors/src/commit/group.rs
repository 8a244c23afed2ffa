//! A commit group between the committer, which forms it, and the threads that write it.

use std::sync::Arc;
use std::time::Instant;

use crate::timing::{Member, Observed};
use kedge_protocol::Id;
use kedge_storage::{Group, LogHead};
use tokio::sync::oneshot;

use crate::api::{Committed, Placement};
use crate::pipeline::placed::PlacedUnit;
use crate::pipeline::unit::Unit;

/// What happens once a group is durable.
#[derive(Default)]
pub(crate) struct Afterwards {
    /// Units whose batch is sealed, each with its place in it.
    pub(crate) placed: Vec<(PlacedUnit, Placement)>,
    pub(crate) refusals: Vec<(Arc<Unit>, Committed)>,
    pub(crate) acknowledgements: Vec<oneshot::Sender<()>>,
    /// The organizations that something happened to.
    pub(crate) touched: Vec<Id>,
    /// Who is notified of events outside the log; `None` stands for everybody.
    pub(crate) reported: Vec<Option<Id>>,
    /// The requests that are sampled for tracing, if there are any.
    pub(crate) observed: Option<Box<Observed>>,
}

impl Afterwards {
    /// True if nobody waits for anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.placed.is_empty() && self.refusals.is_empty() && self.acknowledgements.is_empty()
    }

    /// Notes a sampled request, with its place if something was done; any other one costs a comparison.
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

/// A commit group that is ready to be written: what one frame of the log holds and one commit makes visible.
pub(crate) struct CommitGroup {
    pub(crate) group: Group,
    /// Where the log ends with it.
    pub(crate) head: LogHead,
    /// After this sequence no API key has changed, and no wallet was removed from its organization.
    pub(crate) keys_changed_at: u64,
    pub(crate) afterwards: Afterwards,
}
