//! A commit group between the committer, which forms it, and the threads that write it.

use std::sync::Arc;

use kedge_protocol::Id;
use kedge_storage::{Group, LogHead};
use tokio::sync::oneshot;

use crate::api::{Outcome, SealedBatch};
use crate::pipeline::unit::Unit;
use crate::pipeline::work::PlacedUnit;

/// A unit whose batch is sealed, to be answered after the commit.
pub(crate) struct Answer {
    pub(crate) unit: PlacedUnit,
    pub(crate) batch: Arc<SealedBatch>,
    pub(crate) first_leaf_index: u32,
    /// The signer's highest nonce with it.
    pub(crate) nonce_highest: u64,
}

/// What happens once a group is durable.
#[derive(Default)]
pub(crate) struct Afterwards {
    pub(crate) answers: Vec<Answer>,
    pub(crate) refusals: Vec<(Arc<Unit>, Outcome)>,
    pub(crate) acknowledgements: Vec<oneshot::Sender<()>>,
    /// The organizations that something happened to.
    pub(crate) touched: Vec<Id>,
    /// Who is notified of events outside the log; `None` stands for everybody.
    pub(crate) reported: Vec<Option<Id>>,
}

impl Afterwards {
    /// True if nobody waits for anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.answers.is_empty() && self.refusals.is_empty() && self.acknowledgements.is_empty()
    }

    pub(crate) fn touch(&mut self, organization: Id) {
        if self.touched.last() != Some(&organization) {
            self.touched.push(organization);
        }
    }
}

/// A group that is ready to be written.
pub(crate) struct Formed {
    pub(crate) group: Group,
    /// Where the log ends with it.
    pub(crate) head: LogHead,
    /// After this sequence no API key has changed, and no wallet was removed from its organization.
    pub(crate) keys_changed_at: u64,
    pub(crate) afterwards: Afterwards,
}
