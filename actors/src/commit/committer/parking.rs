//! Placed proposals that wait, in order, because the key of the next batch is unknown or not at hand. Side writes
//! overtake them. `Engine::mode` refuses new requests with the reason.

use kedge_protocol::limits::BATCH_ACTIONS_MAX;
use kedge_rules::resource_state::ResourceState;
use tokio::sync::oneshot;

use super::{Committer, OpenGroup};
use crate::commit::error::CommitterError;
use crate::pipeline::sequenced_proposal::{CommitterMessage, SequencedProposal};

impl Committer {
    /// Puts a proposal into the open batch. If no batch can be signed, the proposal waits, and so does everything after
    /// it that may depend on it.
    pub(super) fn take(
        &mut self,
        forming: &mut OpenGroup,
        unit: SequencedProposal,
    ) -> Result<(), CommitterError> {
        if forming.open_count + unit.placed.len() > BATCH_ACTIONS_MAX {
            self.seal(forming)?;
        }
        if forming.open.is_empty() {
            match self.signing.key_of(self.head.batches) {
                Ok(key) => forming.key = Some(key),
                Err(why) => {
                    self.signing.stop(why);
                    self.parked.push_back(CommitterMessage::Placed(unit));
                    return Ok(());
                }
            }
        }
        forming.open_count += unit.placed.len();
        forming.open.push(unit);
        if forming.open_count == BATCH_ACTIONS_MAX {
            self.seal(forming)?;
        }
        Ok(())
    }

    /// Retries the waiting proposals in order, after a change of the known keys.
    pub(super) fn take_parked(
        &mut self,
        forming: &mut OpenGroup,
        done: oneshot::Sender<()>,
    ) -> Result<(), CommitterError> {
        let mut waited = std::mem::take(&mut self.parked);
        while let Some(work) = waited.pop_front() {
            self.add(forming, work)?;
            if !self.parked.is_empty() {
                self.parked.append(&mut waited);
            }
        }
        if self.parked.is_empty() {
            // An open batch has its key already; the one after it counts.
            let open = u64::from(!forming.open.is_empty());
            self.signing.review(self.head.batches + open);
        }
        // The caller may be gone.
        let _ = done.send(());
        Ok(())
    }

    /// If the resource is a sequencer key, notes that it signs from its first batch on. The rules ensure that this is a
    /// later batch. If it is not, no batch may be signed any more.
    pub(super) fn note_key(&self, image: &ResourceState) -> Result<(), CommitterError> {
        let number = self.head.batches;
        match image {
            ResourceState::SequencerKey(named) if !self.signing.named(named.entry, number) => {
                Err(CommitterError::Key { number })
            }
            _ => Ok(()),
        }
    }
}
