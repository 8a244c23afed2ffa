//! Commit group on its way from the committer to the threads that write it.

use std::sync::Arc;
use std::time::Instant;

use crate::timing::{SampledGroup, SampledRequest};
use kedge_protocol::Id;
use kedge_storage::{LogHead, WriteGroup};
use tokio::sync::oneshot;

use crate::api::{BatchPlacement, SubmissionOutcome};
use crate::pipeline::proposal::Proposal;
use crate::pipeline::sequenced_proposal::SequencedProposal;

/// Answers and notifications once a group is durable.
#[derive(Default)]
pub(crate) struct GroupCompletion {
    /// Proposals of the sealed batches, each with its place.
    pub(crate) placed: Vec<(SequencedProposal, BatchPlacement)>,
    pub(crate) refusals: Vec<(Arc<Proposal>, SubmissionOutcome)>,
    pub(crate) acknowledgements: Vec<oneshot::Sender<()>>,
    /// Organizations with changes.
    pub(crate) touched: Vec<Id>,
    /// Listeners of events outside the log; `None` notifies all.
    pub(crate) reported: Vec<Option<Id>>,
    /// The requests sampled for tracing, if there are any.
    pub(crate) observed: Option<Box<SampledGroup>>,
}

impl GroupCompletion {
    /// True if no caller waits for the group.
    pub(crate) fn is_empty(&self) -> bool {
        self.placed.is_empty() && self.refusals.is_empty() && self.acknowledgements.is_empty()
    }

    /// Notes a sampled request, with its place if it has one; for any other the call is one comparison.
    pub(crate) fn observe(
        &mut self,
        unit: &Proposal,
        placement: Option<&BatchPlacement>,
        now: impl FnOnce() -> Instant,
    ) {
        if let Some(timing) = &unit.submission.timing {
            let member = SampledRequest {
                span: timing.span,
                first_sequence: placement.map_or(0, |placement| placement.first_sequence),
                count: placement.map_or(0, |placement| placement.count),
                batch: placement.map(|placement| placement.batch.signed.header.number),
            };
            SampledGroup::add(&mut self.observed, timing, member, now());
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
    pub(crate) group: WriteGroup,
    /// The log's head after it.
    pub(crate) head: LogHead,
    /// A sequence after which no API key has changed and no wallet was removed from its organization.
    pub(crate) keys_changed_at: u64,
    pub(crate) afterwards: GroupCompletion,
}
