//! Somebody who demands things of the operator: it commits to a case, waits as long as it must, and opens it. What a
//! reorganization takes back it opens again, or leaves.

use std::collections::BTreeSet;
use std::sync::Arc;

use kedge_chain::contract::bond::{
    commit_calldata, demand_inclusion_calldata, demand_leaves_calldata,
};
use kedge_protocol::Hash;
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::hash::keccak;
use kedge_storage::Snapshot;

use super::bond::{Kind, case_id};
use super::chain::{CHALLENGER, Chain, Sent};
use super::contract::word;
use crate::plan::Violation;
use crate::random::Random;

/// How often it sends the same before it gives a case up: as many cases may be open as the terms allow.
const TRIES_MAX: u64 = 40;

/// A case that it opens.
struct Plan {
    id: Hash,
    kind: Kind,
    batch: SignedBatch,
    salt: Hash,
    /// Its transaction that may wait.
    sent: Option<Hash>,
    tries: u64,
    /// Whether it opens the case again if a reorganization takes it back.
    insists: bool,
    was_open: bool,
}

/// Opens cases.
pub(super) struct Challenger {
    random: Random,
    /// How often it begins, of ten thousand looks.
    rate: u64,
    plans: Vec<Plan>,
    asked: BTreeSet<Hash>,
    sent: u64,
}

impl Challenger {
    pub(super) fn new(mut random: Random) -> Self {
        Self {
            rate: 20 + random.below(300),
            random,
            plans: Vec::new(),
            asked: BTreeSet::new(),
            sent: 0,
        }
    }

    /// Whether it has opened what it wanted, in blocks that stay, or has given it up.
    pub(super) fn is_idle(&self) -> bool {
        self.plans.is_empty()
    }

    /// One look: it may begin with some cases, and does what the others need.
    pub(super) fn look(&mut self, chain: &mut Chain, snapshot: &Snapshot) -> Result<(), Violation> {
        if self.random.chance(self.rate) {
            let several = self.random.chance(3_000);
            let count = if several { 2 + self.random.below(6) } else { 1 };
            for _ in 0..count {
                self.begin(chain, snapshot)?;
            }
        }
        self.go_on(chain);
        Ok(())
    }

    /// Wants one case more, about any batch.
    pub(super) fn begin(&mut self, chain: &Chain, snapshot: &Snapshot) -> Result<(), Violation> {
        let unread = |error| Violation::new("the store cannot be read", error);
        let kind = match self.random.below(2) {
            0 => Kind::Leaves,
            _ => Kind::Inclusion,
        };
        let anchored = chain.view.head().contract.latest().0;
        let held = snapshot.head().map_err(unread)?.batches;
        let count = match kind {
            Kind::Leaves => anchored.min(held),
            // The newest ones are not anchored yet.
            Kind::Inclusion => held,
        };
        if count == 0 {
            return Ok(());
        }
        let newest = self.random.below(2) == 0;
        let below = self.random.below(count.min(if newest { 4 } else { count }));
        let Some(batch) = snapshot.batch(count - 1 - below).map_err(unread)? else {
            return Ok(());
        };
        let id = match kind {
            Kind::Leaves => case_id(kind, &word(batch.header.number)),
            Kind::Inclusion => case_id(kind, &batch.header.hash().0),
        };
        let salt = keccak(&self.random.next().to_be_bytes());
        let insists = self.random.below(4) > 0;
        if self.asked.insert(id) {
            self.plans.push(Plan {
                id,
                kind,
                batch,
                salt,
                sent: None,
                tries: 0,
                insists,
                was_open: false,
            });
        }
        Ok(())
    }

    /// Does what its cases need.
    pub(super) fn go_on(&mut self, chain: &mut Chain) {
        let mut plans = std::mem::take(&mut self.plans);
        plans.retain_mut(|plan| self.follow(plan, chain));
        self.plans = plans;
    }

    /// Sends what a case needs next. Returns whether there may be more to do.
    fn follow(&mut self, plan: &mut Plan, chain: &mut Chain) -> bool {
        let view = &chain.view;
        let head = view.head();
        let Some(bond) = &head.bond else {
            return false;
        };
        if bond.cases.contains_key(&plan.id) {
            plan.was_open = true;
            let last = view.block(view.finalized);
            let last = last.and_then(|block| block.bond.as_ref());
            return !last.is_some_and(|bond| bond.cases.contains_key(&plan.id));
        }
        if plan.was_open && !plan.insists || plan.tries > TRIES_MAX {
            return false;
        }
        if plan.sent.is_some_and(|sent| chain.waits(sent)) {
            return true;
        }
        let commitment = bond.commitment(CHALLENGER, plan.id, plan.salt);
        let (data, value_wei) = match bond.committed_at_s(commitment) {
            None => (commit_calldata(commitment), 0),
            Some(at_s) if head.timestamp_s < at_s + bond.terms.reveal_delay_s => return true,
            Some(_) => (
                plan.opening(head.contract.latest().0),
                2 * bond.deposit_wei(),
            ),
        };
        plan.tries += 1;
        self.sent += 1;
        let sent = Sent::challenge(data, value_wei, self.sent);
        plan.sent = Some(sent.hash);
        chain.pool.push(Arc::new(sent));
        true
    }
}

impl Plan {
    /// The call that opens the case.
    fn opening(&self, anchored: u64) -> Vec<u8> {
        match self.kind {
            Kind::Leaves => demand_leaves_calldata(anchored, self.batch.header.number, self.salt),
            Kind::Inclusion => demand_inclusion_calldata(&self.batch, 0, self.salt),
        }
    }
}
