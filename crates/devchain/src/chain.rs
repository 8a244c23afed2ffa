//! State of the chain: blocks, accounts and journal, owned by one thread.

use std::collections::HashMap;
use std::path::Path;

use revm::primitives::{B256, Bytes, U256};
use revm::state::EvmState;

use super::accounts::{GENESIS_BALANCE_ETHER, insecure_development_keys};
use super::block::{EmbeddedBlock, MinedResult};
use super::evm::EvmAccounts;
use super::failure::JsonRpcFailure;
use super::header::EmbeddedHeader;
use super::journal::{ChainJournal, ChainJournalRecord};
use super::transaction::DecodedTransaction;
use super::{ChainClock, EmbeddedChainError};
use crate::metric_definitions::EMBEDDED_BLOCK_NUMBER;

/// Limit of kept snapshots; each copies the whole state.
const SNAPSHOTS_MAX: usize = 64;
const WEI_PER_ETHER: u64 = 1_000_000_000_000_000_000;

/// Target of `evm_revert`. Snapshots exist only in memory.
struct ChainSnapshot {
    id: u64,
    state: EvmAccounts,
    block_count: usize,
    journal_length: u64,
    time_offset_s: u64,
}

/// The whole chain. Changes go to the journal first.
pub(super) struct EmbeddedChain {
    pub(super) id: u64,
    pub(super) state: EvmAccounts,
    blocks: Vec<EmbeddedBlock>,
    number_by_hash: HashMap<B256, u64>,
    number_by_transaction: HashMap<B256, u64>,
    journal: ChainJournal,
    clock: ChainClock,
    time_offset_s: u64,
    snapshots: Vec<ChainSnapshot>,
    next_snapshot_id: u64,
}

impl EmbeddedChain {
    /// Opens the journal and replays it.
    pub(super) fn open(
        path: &Path,
        chain_id: u64,
        clock: ChainClock,
    ) -> Result<Self, EmbeddedChainError> {
        let opened = ChainJournal::open(path, chain_id, clock())?;
        let mut state = EvmAccounts::default();
        for key in insecure_development_keys() {
            let balance = U256::from(GENESIS_BALANCE_ETHER) * U256::from(WEI_PER_ETHER);
            state.fund(key.address().0.into(), balance);
        }
        let genesis = EmbeddedBlock::empty(EmbeddedHeader::genesis(opened.genesis_timestamp_s));
        let mut chain = Self {
            id: chain_id,
            state,
            blocks: Vec::new(),
            number_by_hash: HashMap::new(),
            number_by_transaction: HashMap::new(),
            journal: opened.journal,
            clock,
            time_offset_s: 0,
            snapshots: Vec::new(),
            next_snapshot_id: 0,
        };
        chain.adopt(genesis, EvmState::default());
        for record in opened.records {
            chain.replay(record)?;
        }
        Ok(chain)
    }

    fn replay(&mut self, record: ChainJournalRecord) -> Result<(), EmbeddedChainError> {
        match record {
            ChainJournalRecord::TimeOffset(seconds) => self.time_offset_s = seconds,
            ChainJournalRecord::Block {
                timestamp_s,
                hash,
                transaction,
            } => {
                let number = self.head().header.number + 1;
                let diverged = |what: String| EmbeddedChainError::Diverged { number, what };
                let transaction = transaction
                    .map(DecodedTransaction::decode)
                    .transpose()
                    .map_err(|failure| diverged(failure.message))?;
                let (block, changes) = self
                    .build(transaction, timestamp_s)
                    .map_err(|failure| diverged(failure.message))?;
                if block.hash != hash {
                    return Err(diverged(format!(
                        "its hash is {}, but the journal has {hash}",
                        block.hash
                    )));
                }
                self.adopt(block, changes);
            }
        }
        Ok(())
    }

    /// The newest block, which is also the safe and the finalized one: blocks never disappear by themselves.
    pub(super) fn head(&self) -> &EmbeddedBlock {
        self.blocks
            .last()
            .expect("the genesis block is always there")
    }

    pub(super) fn block(&self, number: u64) -> Option<&EmbeddedBlock> {
        self.blocks.get(usize::try_from(number).ok()?)
    }

    pub(super) fn block_by_hash(&self, hash: B256) -> Option<&EmbeddedBlock> {
        self.block(*self.number_by_hash.get(&hash)?)
    }

    pub(super) fn block_of_transaction(&self, hash: B256) -> Option<&EmbeddedBlock> {
        self.block(*self.number_by_transaction.get(&hash)?)
    }

    /// The header that the next block would have at this moment.
    pub(super) fn next_header(&self) -> EmbeddedHeader {
        let now_s = (self.clock)().saturating_add(self.time_offset_s);
        self.header_after_head(now_s)
    }

    fn header_after_head(&self, timestamp_s: u64) -> EmbeddedHeader {
        let parent = self.head();
        EmbeddedHeader {
            parent_hash: parent.hash,
            number: parent.header.number + 1,
            // Timestamps strictly increase, as on Ethereum.
            timestamp_s: timestamp_s.max(parent.header.timestamp_s + 1),
            base_fee_wei: parent.header.next_base_fee_wei(),
            ..EmbeddedHeader::genesis(0)
        }
    }

    fn build(
        &self,
        transaction: Option<DecodedTransaction>,
        timestamp_s: u64,
    ) -> Result<(EmbeddedBlock, EvmState), JsonRpcFailure> {
        let header = self.header_after_head(timestamp_s);
        let parent = &self.head().header;
        let Some(transaction) = transaction else {
            return Ok((
                EmbeddedBlock::seal(header, parent, None),
                EvmState::default(),
            ));
        };
        let outcome = self
            .state
            .execute(self.id, &header, transaction.env.clone())?;
        let mined = MinedResult::new(transaction, outcome.result, header.base_fee_wei);
        Ok((
            EmbeddedBlock::seal(header, parent, Some(mined)),
            outcome.state,
        ))
    }

    fn adopt(&mut self, block: EmbeddedBlock, changes: EvmState) {
        let number = block.header.number;
        self.state.commit(changes);
        self.state.remember_block_hash(number, block.hash);
        self.number_by_hash.insert(block.hash, number);
        if let Some(mined) = &block.mined {
            self.number_by_transaction
                .insert(mined.transaction.hash, number);
        }
        self.blocks.push(block);
        metrics::gauge!(EMBEDDED_BLOCK_NUMBER).set(number as f64);
    }

    /// Executes, journals and appends a block, with the transaction if there is one.
    pub(super) fn mine(
        &mut self,
        transaction: Option<DecodedTransaction>,
        timestamp_s: Option<u64>,
    ) -> Result<(), JsonRpcFailure> {
        let timestamp_s = timestamp_s.unwrap_or_else(|| self.next_header().timestamp_s);
        let (block, changes) = self.build(transaction, timestamp_s)?;
        let raw = block
            .mined
            .as_ref()
            .map(|mined| mined.transaction.raw.clone());
        self.write(&ChainJournalRecord::Block {
            timestamp_s: block.header.timestamp_s,
            hash: block.hash,
            transaction: raw,
        })?;
        self.adopt(block, changes);
        Ok(())
    }

    /// Mines a raw transaction alone in a new block; returns its hash.
    pub(super) fn submit(&mut self, raw: Bytes) -> Result<B256, JsonRpcFailure> {
        let transaction = DecodedTransaction::decode(raw)?;
        let hash = transaction.hash;
        self.mine(Some(transaction), None)?;
        Ok(hash)
    }

    /// Advances the chain's clock; returns its total lead in seconds.
    pub(super) fn increase_time(&mut self, seconds: u64) -> Result<u64, JsonRpcFailure> {
        let offset = self.time_offset_s.saturating_add(seconds);
        self.write(&ChainJournalRecord::TimeOffset(offset))?;
        self.time_offset_s = offset;
        Ok(offset)
    }

    /// Saves the current state; returns the snapshot's id.
    pub(super) fn snapshot(&mut self) -> Result<u64, JsonRpcFailure> {
        if self.snapshots.len() >= SNAPSHOTS_MAX {
            return Err(JsonRpcFailure::unavailable(format!(
                "there are already {SNAPSHOTS_MAX} snapshots"
            )));
        }
        let id = self.next_snapshot_id;
        self.next_snapshot_id += 1;
        self.snapshots.push(ChainSnapshot {
            id,
            state: self.state.clone(),
            block_count: self.blocks.len(),
            journal_length: self.journal.length(),
            time_offset_s: self.time_offset_s,
        });
        Ok(id)
    }

    /// Returns to a snapshot and discards it and all later ones; false if it is unknown.
    pub(super) fn revert(&mut self, id: u64) -> Result<bool, JsonRpcFailure> {
        let Some(index) = self.snapshots.iter().position(|snapshot| snapshot.id == id) else {
            return Ok(false);
        };
        let length = self.snapshots[index].journal_length;
        self.journal
            .truncate(length)
            .map_err(|error| journal_failure(&error))?;
        let snapshot = self.snapshots.swap_remove(index);
        self.snapshots.truncate(index);
        self.state = snapshot.state;
        self.time_offset_s = snapshot.time_offset_s;
        for block in self.blocks.drain(snapshot.block_count..) {
            self.number_by_hash.remove(&block.hash);
            if let Some(mined) = block.mined {
                self.number_by_transaction.remove(&mined.transaction.hash);
            }
        }
        Ok(true)
    }

    fn write(&mut self, record: &ChainJournalRecord) -> Result<(), JsonRpcFailure> {
        self.journal
            .append(record)
            .map_err(|error| journal_failure(&error))
    }
}

fn journal_failure(error: &super::JournalError) -> JsonRpcFailure {
    tracing::error!(%error, "the embedded chain cannot write its journal");
    JsonRpcFailure::internal("the journal cannot be written")
}
