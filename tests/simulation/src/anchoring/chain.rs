//! Simulated chain: timed blocks, a pool of transactions, and reorganizations. Final blocks stay; all others may be
//! given up.

use std::collections::BTreeMap;
use std::sync::Arc;

use ethers_core::types::transaction::eip2718::TypedTransaction;
use ethers_core::utils::rlp::Rlp;
use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::hash::{keccak, keccak_parts};
use kedge_protocol::{Address, Hash};

use super::bond::{BOND, BondCallContext, BondEffect, DemandCase, DemandState, SimulatedBond};
use super::contract::{CONTRACT, RevertBytes, SimulatedContract};
use super::lost_time::{BLOCK_MS, DEAR_BLOCKS, LostTime};
use super::rates::ChainFaultRates;
use crate::client::DOMAIN;
use crate::random::SimulationRandom;

const GWEI: u64 = 1_000_000_000;
/// Price factor of an expensive block.
const DEAR: u64 = 8;
/// Sender of third parties' transactions.
pub(super) const STRANGER: Address = Address([0x57; 20]);
/// Sender of cases against the bond. Its nonces are not ordered: it sends each transaction until the case is open.
pub(super) const CHALLENGER: Address = Address([0xc4; 20]);

#[derive(Clone, Debug)]
pub(super) struct SimulatedTransaction {
    pub(super) hash: Hash,
    pub(super) from: Address,
    pub(super) to: Address,
    pub(super) nonce: u64,
    pub(super) value_wei: u128,
    pub(super) fee_wei: u128,
    pub(super) tip_wei: u128,
    pub(super) gas: u64,
    pub(super) data: Vec<u8>,
}

impl SimulatedTransaction {
    /// Whether the server sent it; only the server sends through a node.
    pub(super) fn is_the_servers(&self) -> bool {
        ![STRANGER, CHALLENGER].contains(&self.from)
    }

    /// Decodes a signed transaction; `None` if it is invalid, or not to the contracts.
    pub(super) fn of(raw: &[u8]) -> Option<Self> {
        let (typed, _) = TypedTransaction::decode_signed(&Rlp::new(raw)).ok()?;
        let TypedTransaction::Eip1559(of) = &typed else {
            return None;
        };
        let to = Address(typed.to_addr()?.0);
        [CONTRACT, BOND].contains(&to).then_some(())?;
        Some(Self {
            hash: keccak(raw),
            from: Address(of.from?.0),
            to,
            nonce: of.nonce?.as_u64(),
            value_wei: of.value.unwrap_or_default().as_u128(),
            fee_wei: of.max_fee_per_gas?.as_u128(),
            tip_wei: of.max_priority_fee_per_gas?.as_u128(),
            gas: of.gas?.as_u64(),
            data: of.data.as_ref()?.to_vec(),
        })
    }

    /// The same transaction, sent by a third party.
    fn copied(to: Address, data: Vec<u8>, number: u64) -> Self {
        Self {
            hash: keccak_parts(&[&STRANGER.0, &number.to_be_bytes()]),
            from: STRANGER,
            to,
            nonce: number,
            value_wei: 0,
            fee_wei: u128::MAX,
            tip_wei: 1,
            gas: 200_000,
            data,
        }
    }

    /// A call without a transaction.
    pub(super) fn call(from: Address, to: Address, data: Vec<u8>) -> Self {
        Self {
            from,
            ..Self::copied(to, data, 0)
        }
    }

    /// A challenger's transaction to the bond.
    pub(super) fn challenge(data: Vec<u8>, value_wei: u128, number: u64) -> Self {
        Self {
            hash: keccak_parts(&[&CHALLENGER.0, &number.to_be_bytes()]),
            from: CHALLENGER,
            value_wei,
            ..Self::copied(BOND, data, number)
        }
    }
}

/// A transaction in a block.
#[derive(Clone, Debug)]
pub(super) struct IncludedTransaction {
    pub(super) sent: Arc<SimulatedTransaction>,
    pub(super) did: TransactionEffect,
}

/// Effect of a transaction.
#[derive(Clone, Debug)]
pub(super) enum TransactionEffect {
    /// Anchored a checkpoint.
    Anchored(Checkpoint),
    /// Changed the bond.
    Bond(BondEffect),
    /// Reverted.
    Nothing,
}

impl IncludedTransaction {
    /// The anchored checkpoint.
    pub(super) fn anchored(&self) -> Option<Checkpoint> {
        match self.did {
            TransactionEffect::Anchored(checkpoint) => Some(checkpoint),
            TransactionEffect::Bond(_) | TransactionEffect::Nothing => None,
        }
    }
}

/// A block, with the state after it.
#[derive(Debug)]
pub(super) struct SimulatedBlock {
    pub(super) number: u64,
    pub(super) hash: Hash,
    pub(super) parent: Hash,
    pub(super) timestamp_s: u64,
    pub(super) base_fee_wei: u64,
    pub(super) mined: Vec<IncludedTransaction>,
    /// Shared with the previous block, unless a transaction changed the contracts.
    pub(super) contract: Arc<SimulatedContract>,
    pub(super) bond: Option<Arc<SimulatedBond>>,
    nonces: BTreeMap<Address, u64>,
}

impl SimulatedBlock {
    /// Executes a transaction on this state.
    pub(super) fn carry_out(
        contracts: (&mut SimulatedContract, Option<&mut SimulatedBond>),
        sent: &SimulatedTransaction,
        (number, timestamp_s): (u64, u64),
    ) -> Result<TransactionEffect, RevertBytes> {
        match contracts {
            (anchor, Some(bond)) if sent.to == BOND => {
                let sending = BondCallContext {
                    from: sent.from,
                    value_wei: sent.value_wei,
                    timestamp_s,
                };
                let event = bond.carry_out(&sent.data, sending, anchor);
                event.map(TransactionEffect::Bond)
            }
            (anchor, _) => {
                let checkpoint = anchor.carry_out(&sent.data, number, timestamp_s);
                checkpoint.map(TransactionEffect::Anchored)
            }
        }
    }

    /// Number of transactions that an account has sent so far.
    pub(super) fn nonce(&self, of: Address) -> u64 {
        self.nonces.get(&of).copied().unwrap_or_default()
    }
}

/// Blocks as seen by a node or the chain; never empty.
#[derive(Clone)]
pub(super) struct BlockView {
    pub(super) blocks: Vec<Arc<SimulatedBlock>>,
    /// Number of the last final block.
    pub(super) finalized: u64,
}

impl BlockView {
    pub(super) fn head(&self) -> &SimulatedBlock {
        &self.blocks[self.blocks.len() - 1]
    }

    pub(super) fn block(&self, number: u64) -> Option<&SimulatedBlock> {
        let block = self.blocks.get(usize::try_from(number).ok()?);
        block.map(Arc::as_ref)
    }

    /// A transaction, with its block.
    pub(super) fn find(&self, hash: Hash) -> Option<(&SimulatedBlock, &IncludedTransaction)> {
        self.blocks.iter().rev().find_map(|block| {
            let mut mined = block.mined.iter();
            let found = mined.find(|mined| mined.sent.hash == hash)?;
            Some((block.as_ref(), found))
        })
    }
}

/// The authoritative chain.
pub(super) struct SimulatedChain {
    pub(super) view: BlockView,
    /// Waiting transactions.
    pub(super) pool: Vec<Arc<SimulatedTransaction>>,
    pub(super) rates: ChainFaultRates,
    /// Every checkpoint that the contract accepted, in whatever block.
    pub(super) taken: Vec<Checkpoint>,
    /// Time that the server lost by faults, here and at its node.
    pub(super) lost: LostTime,
    /// Reverted transactions, with the reason.
    pub(super) refused: Vec<(Arc<SimulatedTransaction>, RevertBytes)>,
    /// Last expensive block.
    dear_at: u64,
    /// Last block that replaced another one.
    pub(super) reorganized_at: u64,
    /// Every case that was opened, in whatever block.
    pub(super) opened: Vec<(Hash, DemandCase)>,
    /// Challenged actions whose batch the server knew to be finally anchored, with the size of the first checkpoint
    /// that covers it.
    pub(super) known: BTreeMap<Hash, u64>,
    random: SimulationRandom,
    /// Number of blocks until a block is final.
    pub(super) depth: u64,
    next_ms: u64,
    stalled_until_ms: u64,
    forks: u64,
    strangers: u64,
}

impl SimulatedChain {
    pub(super) fn new(
        key: Address,
        bond: Option<SimulatedBond>,
        start_s: u64,
        (mut random, rates): (SimulationRandom, ChainFaultRates),
    ) -> Self {
        let mut contract = SimulatedContract::new(key, DOMAIN, (start_s, 0));
        if bond.is_some() {
            contract.bond = BOND;
        }
        let genesis = SimulatedBlock {
            number: 0,
            hash: keccak(b"genesis"),
            parent: Hash::ZERO,
            timestamp_s: start_s,
            base_fee_wei: GWEI,
            mined: Vec::new(),
            contract: Arc::new(contract),
            bond: bond.map(Arc::new),
            nonces: BTreeMap::new(),
        };
        Self {
            view: BlockView {
                blocks: vec![Arc::new(genesis)],
                finalized: 0,
            },
            pool: Vec::new(),
            rates,
            taken: Vec::new(),
            lost: LostTime::default(),
            refused: Vec::new(),
            dear_at: 0,
            reorganized_at: 0,
            opened: Vec::new(),
            known: BTreeMap::new(),
            depth: 2 + random.below(6),
            random,
            next_ms: BLOCK_MS,
            stalled_until_ms: 0,
            forks: 0,
            strangers: 0,
        }
    }

    /// Ends all faults.
    pub(super) fn calm_down(&mut self) {
        self.rates = ChainFaultRates::default();
        self.stalled_until_ms = 0;
    }

    /// A third party sends a transaction.
    pub(super) fn strangers_send(&mut self, data: Vec<u8>) {
        let sent = SimulatedTransaction::copied(CONTRACT, data, self.strangers);
        self.strangers += 1;
        self.pool.push(Arc::new(sent));
    }

    /// Receives a transaction; an error is the node's answer.
    pub(super) fn take(&mut self, sent: &SimulatedTransaction) -> Result<(), &'static str> {
        if self.view.find(sent.hash).is_some() || self.waits(sent.hash) {
            return Err("already known");
        }
        if sent.nonce < self.view.head().nonce(sent.from) {
            return Err("nonce too low");
        }
        let same = |waiting: &Arc<SimulatedTransaction>| {
            waiting.from == sent.from && waiting.nonce == sent.nonce
        };
        if let Some(index) = self.pool.iter().position(same) {
            let before = &self.pool[index];
            let is_more = |now: u128, before: u128| now * 10 >= before * 11;
            let is_better =
                is_more(sent.fee_wei, before.fee_wei) && is_more(sent.tip_wei, before.tip_wei);
            if !is_better {
                return Err("replacement transaction underpriced");
            }
            self.pool.remove(index);
        }
        self.pool.push(Arc::new(sent.clone()));
        Ok(())
    }

    pub(super) fn waits(&self, hash: Hash) -> bool {
        self.pool.iter().any(|waiting| waiting.hash == hash)
    }

    /// Adds the blocks that are due.
    pub(super) fn advance(&mut self, now_ms: u64, start_s: u64) {
        while self.next_ms <= now_ms {
            let at_ms = self.next_ms;
            self.next_ms += BLOCK_MS;
            if self.random.chance(self.rates.reorganized) {
                let open = self.view.head().number - self.view.finalized;
                let count = open.min(self.depth - 1);
                if count > 0 {
                    let count = 1 + self.random.below(count);
                    self.give_up(count, false, (at_ms, start_s));
                }
            } else if let Some(count) = self.anchor_before_answer()
                && self.random.chance(self.rates.gap)
            {
                self.give_up(count, true, (at_ms, start_s));
            }
            let forgotten = self.rates.forgotten;
            let random = &mut self.random;
            let lost = &mut self.lost;
            self.pool.retain(|sent| {
                let is_forgotten = random.chance(forgotten);
                if is_forgotten && sent.is_the_servers() {
                    lost.transaction_gone(at_ms);
                }
                !is_forgotten
            });
            self.mine(at_ms, start_s);
            if self.random.chance(self.rates.stalled) {
                self.stalled_until_ms = at_ms + 30 + self.random.below(400);
            }
            if at_ms >= self.stalled_until_ms {
                let last = self.view.head().number.saturating_sub(self.depth);
                self.view.finalized = self.view.finalized.max(last);
            }
        }
    }

    /// Counts the cases that the server follows: those that can be answered, and those whose answer may be given up.
    pub(super) fn count_followed(&mut self) {
        let (head, last) = (self.view.head(), self.view.block(self.view.finalized));
        let (Some(now), Some(last)) = (&head.bond, last.and_then(|block| block.bond.as_ref()))
        else {
            return;
        };
        let is_followed = |(id, case): &(&Hash, &DemandCase)| match case.state {
            DemandState::Open => case.deadline_s >= head.timestamp_s,
            state => last.cases.get(id).is_none_or(|case| case.state != state),
        };
        let count = now.cases.iter().filter(is_followed).count();
        self.lost.follows(count as u64);
    }

    /// Depth of a reversible anchor before which an answer waits for the next nonce.
    fn anchor_before_answer(&self) -> Option<u64> {
        let head = self.view.head();
        let is_next = |sent: &&Arc<SimulatedTransaction>| {
            sent.to == BOND && sent.nonce == head.nonce(sent.from)
        };
        let mut pool = self.pool.iter().filter(|sent| sent.is_the_servers());
        let answer = pool.find(is_next)?;
        let is_before = |mined: &IncludedTransaction| {
            let SimulatedTransaction { from, nonce, .. } = *mined.sent;
            mined.sent.to == CONTRACT && from == answer.from && nonce + 1 == answer.nonce
        };
        let open = (head.number - self.view.finalized).min(self.depth - 1);
        let mut last = self.view.blocks.iter().rev().take(open as usize);
        let back = last.position(|block| block.mined.iter().any(is_before))?;
        Some(back as u64 + 1)
    }

    /// Replaces the last blocks by others. With `leaves_a_gap`, the server's anchors are dropped and a third party
    /// sends them, so none of the server's transactions fills the nonce before its next one.
    fn give_up(&mut self, count: u64, leaves_a_gap: bool, (at_ms, start_s): (u64, u64)) {
        self.forks += 1;
        self.reorganized_at = self.view.head().number;
        let last = &self.view.blocks[self.view.blocks.len() - count as usize..];
        if last.iter().any(|block| !block.mined.is_empty()) {
            self.lost.undone(at_ms);
        }
        for _ in 0..count {
            let Some(block) = self.view.blocks.pop() else {
                return;
            };
            for mined in &block.mined {
                let sent = &mined.sent;
                if leaves_a_gap && sent.to == CONTRACT && sent.is_the_servers() {
                    let copy =
                        SimulatedTransaction::copied(sent.to, sent.data.clone(), self.strangers);
                    self.strangers += 1;
                    self.pool.push(Arc::new(copy));
                } else if !self.random.chance(self.rates.dropped) {
                    self.pool.push(Arc::clone(sent));
                }
            }
        }
        for _ in 0..count {
            self.mine(at_ms, start_s);
        }
    }

    /// Adds a block.
    fn mine(&mut self, at_ms: u64, start_s: u64) {
        let parent = Arc::clone(&self.view.blocks[self.view.blocks.len() - 1]);
        let number = parent.number + 1;
        // The bond counts in seconds, so each block takes one: a run has hundreds of blocks, and a case lasts for
        // hundreds of seconds.
        let timestamp_s = match parent.bond {
            Some(_) => start_s + number,
            None => start_s + at_ms / 1_000,
        };
        let mut block = SimulatedBlock {
            number,
            hash: keccak_parts(&[
                &parent.hash.0,
                &number.to_be_bytes(),
                &self.forks.to_be_bytes(),
            ]),
            parent: parent.hash,
            timestamp_s,
            base_fee_wei: self.base_fee(parent.base_fee_wei),
            mined: Vec::new(),
            contract: Arc::clone(&parent.contract),
            bond: parent.bond.clone(),
            nonces: parent.nonces.clone(),
        };
        for sent in std::mem::take(&mut self.pool) {
            let is_in_any_order = sent.from == CHALLENGER;
            if sent.nonce < block.nonce(sent.from) && !is_in_any_order {
                continue;
            }
            let is_strange = !sent.is_the_servers();
            let can_be = is_strange || sent.nonce == block.nonce(sent.from);
            let pays = sent.fee_wei >= u128::from(block.base_fee_wei);
            if !can_be || !pays || self.random.chance(self.rates.left_out) {
                // A nonce after a gap, or an offer that stays too low, is the server's own fault.
                let is_dear = number <= self.dear_at + DEAR_BLOCKS;
                if !is_strange && can_be && (pays || is_dear) {
                    self.lost.stands(at_ms, at_ms + BLOCK_MS);
                }
                self.pool.push(sent);
                continue;
            }
            if !is_strange && self.random.chance(self.rates.overtaken) {
                let copy = SimulatedTransaction::copied(sent.to, sent.data.clone(), self.strangers);
                self.strangers += 1;
                self.include(&mut block, Arc::new(copy), at_ms);
            }
            self.include(&mut block, sent, at_ms);
        }
        self.view.blocks.push(Arc::new(block));
    }

    fn include(&mut self, block: &mut SimulatedBlock, sent: Arc<SimulatedTransaction>, at_ms: u64) {
        block.nonces.insert(sent.from, sent.nonce + 1);
        let at = (block.number, block.timestamp_s);
        let bond = block.bond.as_mut().filter(|_| sent.to == BOND);
        let contracts = (Arc::make_mut(&mut block.contract), bond.map(Arc::make_mut));
        let did = SimulatedBlock::carry_out(contracts, &sent, at).unwrap_or_else(|why| {
            self.refused.push((Arc::clone(&sent), why));
            TransactionEffect::Nothing
        });
        if sent.from == STRANGER && !matches!(did, TransactionEffect::Nothing) {
            self.lost.overtaken(at_ms);
        }
        match &did {
            TransactionEffect::Anchored(checkpoint) => self.taken.push(*checkpoint),
            TransactionEffect::Bond(BondEffect::Opened(id, case)) => self.opened.push((*id, *case)),
            TransactionEffect::Bond(_) | TransactionEffect::Nothing => {}
        }
        block.mined.push(IncludedTransaction { sent, did });
    }

    fn base_fee(&mut self, before_wei: u64) -> u64 {
        if self.random.chance(self.rates.dear) {
            self.dear_at = self.view.head().number + 1;
            return (before_wei * DEAR).min(60 * GWEI);
        }
        (before_wei * 3 / 4).max(GWEI)
    }
}
