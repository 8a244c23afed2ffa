//! The chain: blocks that come at their time, transactions that wait for one, and what happens to both. A block that is
//! final stays; any other may be given up.

use std::collections::BTreeMap;
use std::sync::Arc;

use ethers_core::types::transaction::eip2718::TypedTransaction;
use ethers_core::utils::rlp::Rlp;
use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::hash::{keccak, keccak_parts};
use kedge_protocol::{Address, Hash};

use super::contract::{CONTRACT, Contract};
use super::rates::Rates;
use crate::client::DOMAIN;
use crate::random::Random;

/// How often there is a block, milliseconds: a run takes seconds, and must see many.
pub(super) const BLOCK_MS: u64 = 15;
const GWEI: u64 = 1_000_000_000;
/// How much dearer a dear block is.
const DEAR: u64 = 8;
/// What others do is sent from here.
pub(super) const STRANGER: Address = Address([0x57; 20]);

/// A transaction.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) hash: Hash,
    pub(super) from: Address,
    pub(super) nonce: u64,
    pub(super) fee_wei: u128,
    pub(super) tip_wei: u128,
    pub(super) gas: u64,
    pub(super) data: Vec<u8>,
}

impl Sent {
    /// A signed transaction; `None` if it is none, or none to the contract.
    pub(super) fn of(raw: &[u8]) -> Option<Self> {
        let (typed, _) = TypedTransaction::decode_signed(&Rlp::new(raw)).ok()?;
        let TypedTransaction::Eip1559(of) = &typed else {
            return None;
        };
        (typed.to_addr()?.0 == CONTRACT.0).then_some(())?;
        Some(Self {
            hash: keccak(raw),
            from: Address(of.from?.0),
            nonce: of.nonce?.as_u64(),
            fee_wei: of.max_fee_per_gas?.as_u128(),
            tip_wei: of.max_priority_fee_per_gas?.as_u128(),
            gas: of.gas?.as_u64(),
            data: of.data.as_ref()?.to_vec(),
        })
    }

    /// The same, sent by somebody else.
    fn copied(data: Vec<u8>, number: u64) -> Self {
        Self {
            hash: keccak_parts(&[&STRANGER.0, &number.to_be_bytes()]),
            from: STRANGER,
            nonce: number,
            fee_wei: u128::MAX,
            tip_wei: 1,
            gas: 200_000,
            data,
        }
    }
}

/// A transaction in a block.
#[derive(Clone, Debug)]
pub(super) struct Mined {
    pub(super) sent: Arc<Sent>,
    /// What it anchored; `None` if it was reverted.
    pub(super) anchored: Option<Checkpoint>,
}

/// A block, with the state after it.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) number: u64,
    pub(super) hash: Hash,
    pub(super) parent: Hash,
    pub(super) timestamp_s: u64,
    pub(super) base_fee_wei: u64,
    pub(super) mined: Vec<Mined>,
    pub(super) contract: Contract,
    nonces: BTreeMap<Address, u64>,
}

impl Block {
    /// How many transactions an account has sent by then.
    pub(super) fn nonce(&self, of: Address) -> u64 {
        self.nonces.get(&of).copied().unwrap_or_default()
    }
}

/// The blocks as somebody sees them; there is always one.
#[derive(Clone)]
pub(super) struct View {
    pub(super) blocks: Vec<Arc<Block>>,
    /// The last one that stays.
    pub(super) finalized: u64,
}

impl View {
    pub(super) fn head(&self) -> &Block {
        &self.blocks[self.blocks.len() - 1]
    }

    pub(super) fn block(&self, number: u64) -> Option<&Block> {
        let block = self.blocks.get(usize::try_from(number).ok()?);
        block.map(Arc::as_ref)
    }

    /// A transaction, with its block.
    pub(super) fn find(&self, hash: Hash) -> Option<(&Block, &Mined)> {
        self.blocks.iter().rev().find_map(|block| {
            let mut mined = block.mined.iter();
            let found = mined.find(|mined| mined.sent.hash == hash)?;
            Some((block.as_ref(), found))
        })
    }
}

/// The chain itself.
pub(super) struct Chain {
    pub(super) view: View,
    /// Transactions that wait.
    pub(super) pool: Vec<Arc<Sent>>,
    pub(super) rates: Rates,
    /// Every checkpoint that the contract took, in whatever block.
    pub(super) taken: Vec<Checkpoint>,
    random: Random,
    /// How many blocks follow one until it is final.
    pub(super) depth: u64,
    next_ms: u64,
    stalled_until_ms: u64,
    forks: u64,
    strangers: u64,
}

impl Chain {
    pub(super) fn new(key: Address, start_s: u64, mut random: Random, rates: Rates) -> Self {
        let genesis = Block {
            number: 0,
            hash: keccak(b"genesis"),
            parent: Hash::ZERO,
            timestamp_s: start_s,
            base_fee_wei: GWEI,
            mined: Vec::new(),
            contract: Contract::new(key, DOMAIN, (start_s, 0)),
            nonces: BTreeMap::new(),
        };
        Self {
            view: View {
                blocks: vec![Arc::new(genesis)],
                finalized: 0,
            },
            pool: Vec::new(),
            rates,
            taken: Vec::new(),
            depth: 2 + random.below(6),
            random,
            next_ms: BLOCK_MS,
            stalled_until_ms: 0,
            forks: 0,
            strangers: 0,
        }
    }

    /// From here on nothing goes wrong.
    pub(super) fn calm_down(&mut self) {
        self.rates = Rates::default();
        self.stalled_until_ms = 0;
    }

    /// Somebody else sends this.
    pub(super) fn strangers_send(&mut self, data: Vec<u8>) {
        let sent = Sent::copied(data, self.strangers);
        self.strangers += 1;
        self.pool.push(Arc::new(sent));
    }

    /// A transaction arrives; an error is what a node says to it.
    pub(super) fn take(&mut self, sent: &Sent) -> Result<(), &'static str> {
        if self.view.find(sent.hash).is_some() || self.waits(sent.hash) {
            return Err("already known");
        }
        if sent.nonce < self.view.head().nonce(sent.from) {
            return Err("nonce too low");
        }
        let same = |waiting: &Arc<Sent>| waiting.from == sent.from && waiting.nonce == sent.nonce;
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

    /// Makes the blocks that there are by now.
    pub(super) fn advance(&mut self, now_ms: u64, start_s: u64) {
        while self.next_ms <= now_ms {
            let at_ms = self.next_ms;
            self.next_ms += BLOCK_MS;
            if self.random.chance(self.rates.reorganized) {
                self.give_up(at_ms, start_s);
            }
            let forgotten = self.rates.forgotten;
            let random = &mut self.random;
            self.pool.retain(|_| !random.chance(forgotten));
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

    /// Other blocks take the place of the last ones.
    fn give_up(&mut self, at_ms: u64, start_s: u64) {
        let open = self.view.head().number - self.view.finalized;
        let count = open.min(self.depth - 1);
        if count == 0 {
            return;
        }
        let count = 1 + self.random.below(count);
        self.forks += 1;
        for _ in 0..count {
            let Some(block) = self.view.blocks.pop() else {
                return;
            };
            for mined in &block.mined {
                if !self.random.chance(self.rates.dropped) {
                    self.pool.push(Arc::clone(&mined.sent));
                }
            }
        }
        for _ in 0..count {
            self.mine(at_ms, start_s);
        }
    }

    /// One block more.
    fn mine(&mut self, at_ms: u64, start_s: u64) {
        let parent = Arc::clone(&self.view.blocks[self.view.blocks.len() - 1]);
        let number = parent.number + 1;
        let mut block = Block {
            number,
            hash: keccak_parts(&[
                &parent.hash.0,
                &number.to_be_bytes(),
                &self.forks.to_be_bytes(),
            ]),
            parent: parent.hash,
            timestamp_s: start_s + at_ms / 1_000,
            base_fee_wei: self.base_fee(parent.base_fee_wei),
            mined: Vec::new(),
            contract: parent.contract.clone(),
            nonces: parent.nonces.clone(),
        };
        for sent in std::mem::take(&mut self.pool) {
            if sent.nonce < block.nonce(sent.from) {
                continue;
            }
            let can_be = sent.from == STRANGER || sent.nonce == block.nonce(sent.from);
            let pays = sent.fee_wei >= u128::from(block.base_fee_wei);
            if !can_be || !pays || self.random.chance(self.rates.left_out) {
                self.pool.push(sent);
                continue;
            }
            if sent.from != STRANGER && self.random.chance(self.rates.overtaken) {
                let copy = Sent::copied(sent.data.clone(), self.strangers);
                self.strangers += 1;
                self.include(&mut block, Arc::new(copy));
            }
            self.include(&mut block, sent);
        }
        self.view.blocks.push(Arc::new(block));
    }

    fn include(&mut self, block: &mut Block, sent: Arc<Sent>) {
        block.nonces.insert(sent.from, sent.nonce + 1);
        let (number, timestamp_s) = (block.number, block.timestamp_s);
        let done = block.contract.carry_out(&sent.data, number, timestamp_s);
        self.taken.extend(done.as_ref().ok());
        block.mined.push(Mined {
            sent,
            anchored: done.ok(),
        });
    }

    fn base_fee(&mut self, before_wei: u64) -> u64 {
        if self.random.chance(self.rates.dear) {
            return (before_wei * DEAR).min(60 * GWEI);
        }
        (before_wei * 3 / 4).max(GWEI)
    }
}
