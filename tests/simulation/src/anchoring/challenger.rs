//! Challenger that demands answers from the operator and challenges actions. It commits to a case, waits for the
//! required time, and opens it. After a reorganization it opens the case again, or drops it.

use std::collections::BTreeSet;
use std::sync::Arc;

use kedge_chain::contract::bond::{
    AnchoredAction, challenge_action_calldata, commit_calldata, demand_inclusion_calldata,
    demand_leaves_calldata,
};
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::hash::keccak;
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::{Hash, log_tree};
use kedge_storage::{AnchorProgress, StoreSnapshot};

use super::bond::{DemandKind, DemandSubject};
use super::chain::{CHALLENGER, SimulatedBlock, SimulatedChain, SimulatedTransaction};
use crate::plan::Violation;
use crate::random::SimulationRandom;

/// Limit on attempts to open a case: the terms limit the number of open cases.
const TRIES_MAX: u64 = 40;

/// A case to open.
struct ChallengePlan {
    id: Hash,
    subject: DemandSubject,
    batch: SignedBatch,
    salt: Hash,
    /// Transaction that may be waiting.
    sent: Option<Hash>,
    tries: u64,
    /// Whether to open the case again after a reorganization.
    insists: bool,
    was_open: bool,
}

pub(super) struct Challenger {
    random: SimulationRandom,
    /// Probability of a new case, out of ten thousand looks.
    rate: u64,
    plans: Vec<ChallengePlan>,
    asked: BTreeSet<Hash>,
    sent: u64,
}

fn unread(error: impl std::fmt::Display) -> Violation {
    Violation::new("the store cannot be read", error)
}

impl Challenger {
    pub(super) fn new(mut random: SimulationRandom) -> Self {
        Self {
            rate: 20 + random.below(300),
            random,
            plans: Vec::new(),
            asked: BTreeSet::new(),
            sent: 0,
        }
    }

    /// Lowers the rate of new cases.
    pub(super) fn begin_rarely(&mut self) {
        self.rate = self.rate.div_ceil(8);
    }

    /// Whether all cases are open in final blocks, or given up.
    pub(super) fn is_idle(&self) -> bool {
        self.plans.is_empty()
    }

    /// Starts new cases by chance, and advances the others.
    pub(super) fn look(
        &mut self,
        chain: &mut SimulatedChain,
        snapshot: &StoreSnapshot,
    ) -> Result<(), Violation> {
        if self.random.chance(self.rate) {
            let several = self.random.chance(3_000);
            let count = if several { 2 + self.random.below(6) } else { 1 };
            for _ in 0..count {
                self.begin(chain, snapshot)?;
            }
        }
        self.go_on(chain, snapshot)
    }

    /// Plans a case about any batch or action.
    pub(super) fn begin(
        &mut self,
        chain: &mut SimulatedChain,
        snapshot: &StoreSnapshot,
    ) -> Result<(), Violation> {
        let kind = match self.random.below(3) {
            0 => DemandKind::Leaves,
            1 => DemandKind::Inclusion,
            _ => DemandKind::Action,
        };
        let anchored = chain.view.head().contract.latest().0;
        let held = snapshot.head().map_err(unread)?.batches;
        let count = match kind {
            DemandKind::Action | DemandKind::Leaves => anchored.min(held),
            // The newest batches are not anchored yet.
            DemandKind::Inclusion => held,
        };
        if count == 0 {
            return Ok(());
        }
        let newest = self.random.below(2) == 0;
        let below = self.random.below(count.min(if newest { 4 } else { count }));
        let Some(batch) = snapshot.batch(count - 1 - below).map_err(unread)? else {
            return Ok(());
        };
        let Some(subject) = self.subject(kind, &batch, snapshot)? else {
            return Ok(());
        };
        let id = subject.id();
        let salt = keccak(&self.random.next().to_be_bytes());
        let insists = self.random.below(4) > 0;
        if !self.asked.insert(id) {
            return Ok(());
        }
        let covering = snapshot.anchor_covering(subject.number).map_err(unread)?;
        let covering = covering.filter(|row| row.status == AnchorProgress::Finalized);
        if let (DemandKind::Action, Some(row)) = (kind, covering) {
            chain.known.insert(id, row.checkpoint.checkpoint.batches);
        }
        self.plans.push(ChallengePlan {
            id,
            subject,
            batch,
            salt,
            sent: None,
            tries: 0,
            insists,
            was_open: false,
        });
        Ok(())
    }

    /// Subject of a case about a batch; for an action, any action of the batch.
    fn subject(
        &mut self,
        kind: DemandKind,
        batch: &SignedBatch,
        snapshot: &StoreSnapshot,
    ) -> Result<Option<DemandSubject>, Violation> {
        let header = &batch.header;
        Ok(match kind {
            DemandKind::Leaves => Some(DemandSubject::leaves(header.number)),
            DemandKind::Inclusion => Some(DemandSubject::inclusion(header)),
            DemandKind::Action => {
                let sequence = header.first_sequence + self.random.below(header.count.into());
                let placed = snapshot.action_at(sequence).map_err(unread)?;
                placed.map(|placed| DemandSubject::action(header, placed.leaf().hash(), sequence))
            }
        })
    }

    /// Advances all planned cases.
    pub(super) fn go_on(
        &mut self,
        chain: &mut SimulatedChain,
        snapshot: &StoreSnapshot,
    ) -> Result<(), Violation> {
        for mut plan in std::mem::take(&mut self.plans) {
            if self.follow(&mut plan, chain, snapshot)? {
                self.plans.push(plan);
            }
        }
        Ok(())
    }

    /// Sends the next transaction of a case. Returns whether more may follow.
    fn follow(
        &mut self,
        plan: &mut ChallengePlan,
        chain: &mut SimulatedChain,
        snapshot: &StoreSnapshot,
    ) -> Result<bool, Violation> {
        let view = &chain.view;
        let head = view.head();
        let Some(bond) = &head.bond else {
            return Ok(false);
        };
        if bond.cases.contains_key(&plan.id) {
            plan.was_open = true;
            let last = view.block(view.finalized);
            let last = last.and_then(|block| block.bond.as_ref());
            return Ok(!last.is_some_and(|bond| bond.cases.contains_key(&plan.id)));
        }
        if plan.was_open && !plan.insists || plan.tries > TRIES_MAX {
            return Ok(false);
        }
        if plan.sent.is_some_and(|sent| chain.waits(sent)) {
            return Ok(true);
        }
        let commitment = bond.commitment(CHALLENGER, plan.id, plan.salt);
        let (data, value_wei) = match bond.committed_at_s(commitment) {
            None => (commit_calldata(commitment), 0),
            Some(at_s) if head.timestamp_s < at_s + bond.terms.reveal_delay_s => return Ok(true),
            Some(_) => match plan.opening(head, snapshot)? {
                Some(data) => (data, 2 * bond.deposit_wei()),
                // The action can no longer be challenged.
                None => return Ok(false),
            },
        };
        plan.tries += 1;
        self.sent += 1;
        let sent = SimulatedTransaction::challenge(data, value_wei, self.sent);
        plan.sent = Some(sent.hash);
        chain.pool.push(Arc::new(sent));
        Ok(true)
    }
}

impl ChallengePlan {
    /// The call that opens the case; `None` if none is valid any more.
    fn opening(
        &self,
        head: &SimulatedBlock,
        snapshot: &StoreSnapshot,
    ) -> Result<Option<Vec<u8>>, Violation> {
        let anchored = head.contract.latest().0;
        Ok(match self.subject.kind {
            DemandKind::Leaves => {
                let number = self.subject.number;
                Some(demand_leaves_calldata(anchored, number, self.salt))
            }
            DemandKind::Inclusion => Some(demand_inclusion_calldata(&self.batch, 0, self.salt)),
            DemandKind::Action => self.challenge(head, snapshot)?,
        })
    }

    /// Challenges the action by the newest checkpoint within the log, if its window is still open.
    fn challenge(
        &self,
        head: &SimulatedBlock,
        snapshot: &StoreSnapshot,
    ) -> Result<Option<Vec<u8>>, Violation> {
        let (number, header) = (self.subject.number, &self.batch.header);
        let held = snapshot.head().map_err(unread)?.batches;
        let taken = head.contract.taken.iter().rev();
        let mut batches = taken.map(|taken| taken.checkpoint.batches);
        let Some(anchored) = batches.find(|batches| (number + 1..=held).contains(batches)) else {
            return Ok(None);
        };
        let window = head.bond.as_ref();
        let window = window.and_then(|bond| bond.window_end_s(anchored, &head.contract).ok());
        if window.is_none_or(|end_s| end_s <= head.timestamp_s) {
            return Ok(None);
        }
        let leaves = snapshot.leaves(number).map_err(unread)?;
        let placed = snapshot.action_at(self.subject.sequence).map_err(unread)?;
        let (Some(leaves), Some(placed)) = (leaves, placed) else {
            return Ok(None);
        };
        let index = placed.leaf_index as usize;
        let batch_path = log_tree::inclusion_path(snapshot, number, anchored).map_err(unread)?;
        let action = AnchoredAction {
            anchored_batches: anchored,
            header,
            leaf: &placed.leaf(),
            leaf_path: &BatchTree::new(&leaves).proof(&[index]),
            batch_path: &batch_path,
        };
        Ok(Some(challenge_action_calldata(&action, self.salt)))
    }
}
