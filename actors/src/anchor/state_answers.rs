//! Answers to the bond's cases about the state: the leaf that an entry tells of, and what a checkpoint's state holds
//! under an id. What they show is public from then on, so they show no more than the contract asks for.

use kedge_chain::contract::bond::{
    AnchoredAction, AnchoredHeader, EntryClaim, answer_entry_calldata, answer_stale_entry_calldata,
    answer_state_calldata,
};
use kedge_chain::responder::{OpenCase, Responder};
use kedge_chain::rpc::BlockTag;
use kedge_protocol::chain::{LogLeaf, first_integrity};
use kedge_protocol::limits::VARIATIONS_MAX;
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::{Id, Prefix};

use super::bond_answers::{AnswerError, BondAnswer};
use super::rows::AnswerRows;
use super::state::AnchorActorState;

impl AnchorActorState {
    /// Answers a challenge of an old entry by its age, and any other with the leaf, which hides what it is about.
    pub(super) async fn entry_answer(
        &self,
        responder: &Responder<AnswerRows>,
        open: &OpenCase,
        (claim, anchored): (&EntryClaim, u64),
    ) -> Result<BondAnswer, AnswerError> {
        let sequence = claim.sequence;
        let placed = self.engine.published().snapshot.action_at(sequence)?;
        let Some(placed) = placed else {
            let why = format!("this log has no action {sequence}");
            return Ok(BondAnswer::None(why));
        };
        let number = placed.batch_number;
        let header = match self.anchored_header(number, None, anchored)? {
            Ok(header) => header,
            Err(none) => return Ok(none),
        };
        if let Some(batches) = self.closed_checkpoint(responder, open, number).await? {
            let path = self.batch_path(number, batches)?;
            let holder = AnchoredHeader {
                anchored_batches: batches,
                header: &header,
                path: &path,
            };
            let calldata = answer_stale_entry_calldata(claim, &holder);
            return Ok(BondAnswer::Calldata(calldata));
        }
        let leaf = placed.leaf();
        let Some(index) = place_of_entry(claim, &leaf) else {
            let why = format!(
                "this log's action {sequence} does not lead to the entry of {}",
                claim.key
            );
            return Ok(BondAnswer::None(why));
        };
        let leaves = match self.leaves(number)? {
            Ok(leaves) => leaves,
            Err(none) => return Ok(none),
        };
        let shown = AnchoredAction {
            anchored_batches: anchored,
            header: &header,
            leaf: &leaf,
            leaf_path: &BatchTree::new(&leaves).proof(&[placed.leaf_index as usize]),
            batch_path: &self.batch_path(number, anchored)?,
        };
        let calldata = answer_entry_calldata(claim, &shown, index);
        Ok(BondAnswer::Calldata(calldata))
    }

    /// Answers a demand with the entry that the checkpoint's state holds, or with a proof that it holds none.
    pub(super) async fn state_answer(
        &self,
        batches: u64,
        key: &Id,
    ) -> Result<BondAnswer, AnswerError> {
        let contract = self.sender.contract();
        let record = contract.checkpoint(batches, BlockTag::Latest).await?;
        let proofs = self
            .engine
            .state_snapshot()
            .state_proofs(batches, &[*key])?;
        let Some(proof) = proofs.and_then(|mut proofs| proofs.pop()) else {
            let why = format!(
                "this copy does not have the state after {batches} batches: `kedge prove state` makes the proof of {key} \
                 from the log"
            );
            return Ok(BondAnswer::None(why));
        };
        if let Err(error) = proof.verify(&record.state) {
            let why = format!(
                "the contract has another root of the state after {batches} batches than this copy: {error}"
            );
            return Ok(BondAnswer::None(why));
        }
        let calldata = answer_state_calldata(batches, &proof);
        Ok(BondAnswer::Calldata(calldata))
    }
}

/// The place of an entry among the variations that the leaf's action made; 0 for an entry of another type. `None` if
/// the leaf does not lead to the entry.
fn place_of_entry(claim: &EntryClaim, leaf: &LogLeaf) -> Option<u32> {
    let made = |index: u32| first_integrity(&leaf.content, index + 1) == claim.integrity;
    if claim.key.prefix == Prefix::Variation {
        return (0..VARIATIONS_MAX as u32).find(|index| made(*index));
    }
    let leads = if claim.is_first {
        made(0)
    } else {
        leaf.integrity == claim.integrity
    };
    leads.then_some(0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

    use kedge_protocol::Hash;
    use kedge_protocol::chain::next_integrity;

    use super::*;

    #[test]
    fn a_leaf_leads_to_the_entries_that_its_action_left() {
        let content = Hash([3; 32]);
        let leaf = LogLeaf {
            sequence: 7,
            timestamp_ms: 8,
            content,
            integrity: next_integrity(&Hash([4; 32]), &content),
        };
        let claim = |prefix, is_first, integrity| EntryClaim {
            key: Id::made_by(prefix, &content, 0),
            is_first,
            sequence: 7,
            integrity,
        };
        let place = |prefix, is_first, integrity| {
            place_of_entry(&claim(prefix, is_first, integrity), &leaf)
        };
        assert_eq!(place(Prefix::Object, false, leaf.integrity), Some(0));
        assert_eq!(place(Prefix::Object, false, Hash([5; 32])), None);
        // What is made next to another resource has its own integrity.
        let made = |index| first_integrity(&content, index);
        assert_eq!(place(Prefix::Organization, true, made(1)), Some(0));
        assert_eq!(place(Prefix::Organization, true, leaf.integrity), None);
        assert_eq!(place(Prefix::Organization, false, leaf.integrity), Some(0));
        assert_eq!(place(Prefix::Variation, false, made(1)), Some(0));
        assert_eq!(place(Prefix::Variation, false, made(500)), Some(499));
        assert_eq!(place(Prefix::Variation, false, made(501)), None);
        assert_eq!(place(Prefix::Variation, false, leaf.integrity), None);
    }
}
