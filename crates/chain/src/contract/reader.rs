//! Read access to an anchor contract.

use ethers_core::abi::Token;
use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::eip712::Domain;
use kedge_protocol::evidence::{ContractCoverage, KeyTerm};
use kedge_protocol::{Address, Hash, KeyActivation, SequencerKeys};

use super::artifact::ANCHOR;
use super::instance::{ContractInstance, ContractReadError};
use super::{
    AnchoredEvent, anchored_topics, decode_anchored, number, to_address, to_hash, to_number,
};
use crate::convert::h160;
use crate::rpc::{BlockTag, LogFilter, RpcClient, RpcError};

/// Limit of preceding contracts that are read for their keys.
const PREDECESSORS_MAX: usize = 64;

/// Merges the keys of a log's contracts, newest contract first, each with the first batch that it covers.
fn joined(lists: &[(u64, Vec<KeyTerm>)]) -> Option<SequencerKeys> {
    let mut entries: Vec<KeyActivation> = Vec::new();
    for (from, terms) in lists.iter().rev() {
        // This contract's keys replace those of the preceding one from here on.
        entries.retain(|entry| entry.from_batch < *from);
        let first = terms.iter().rev().find(|term| term.from_batch <= *from)?;
        let later = terms.iter().filter(|term| term.from_batch > *from);
        let entry = |key, from_batch| KeyActivation { key, from_batch };
        // A successor starts with the key in force, which is not a rotation.
        if entries.last().is_none_or(|last| last.key != first.key) {
            entries.push(entry(first.key, *from));
        }
        entries.extend(later.map(|term| entry(term.key, term.from_batch)));
    }
    SequencerKeys::new(entries).ok()
}

/// Whether the contract accepts checkpoints; a pause is separate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnchorContractState {
    /// Accepts checkpoints.
    Open,
    /// The previous contract has not retired yet.
    Waiting,
    /// A successor continues the log.
    Retired,
    /// A fault was proven.
    Frozen,
}

/// The last accepted checkpoint; the empty log before the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LatestCheckpoint {
    pub batches: u64,
    /// The last action's sequence.
    pub sequence: u64,
    /// The log tree's root.
    pub history: Hash,
}

/// The contract's stored record of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnchoredRecord {
    /// The last action's sequence.
    pub sequence: u64,
    /// Time of the sequencer's signature.
    pub issued_at_ms: u64,
    /// Time of the accepting block, Unix seconds.
    pub anchored_at_s: u64,
    /// The accepting block.
    pub block_number: u64,
    /// The log tree's root.
    pub history: Hash,
    /// The root of the state; zero if the checkpoint has none, or the contract does not keep it.
    pub state: Hash,
}

/// Bytes of the record of a contract that does not keep the state: five words.
const STATELESS_RECORD_BYTES: usize = 5 * 32;

/// An anchor contract at an address on a node's chain.
#[derive(Debug, Clone)]
pub struct AnchorContract(ContractInstance);

impl AnchorContract {
    /// The contract at `address`; nothing is checked yet.
    pub fn new(rpc: RpcClient, address: Address) -> Self {
        Self(ContractInstance {
            rpc,
            address,
            artifact: || &ANCHOR,
            what: "an anchor contract",
        })
    }

    pub fn address(&self) -> Address {
        self.0.address
    }

    pub fn rpc(&self) -> &RpcClient {
        &self.0.rpc
    }

    /// The last checkpoint as of block `at`.
    pub async fn latest(&self, at: BlockTag) -> Result<LatestCheckpoint, ContractReadError> {
        let convert = |[batches, sequence, history]: [Token; 3]| {
            Some(LatestCheckpoint {
                batches: to_number(batches)?,
                sequence: to_number(sequence)?,
                history: to_hash(history)?,
            })
        };
        self.0.read("latest", &[], at, convert).await
    }

    /// The checkpoint with exactly `batches`, as of block `at`; an RPC error with revert data if
    /// there is none.
    pub async fn checkpoint(
        &self,
        batches: u64,
        at: BlockTag,
    ) -> Result<AnchoredRecord, ContractReadError> {
        let record = self.0.call("checkpoint", &[number(batches)], at).await?;
        self.decode_record(record)
    }

    /// Reads a record. One without a state is that of a contract that does not keep it.
    fn decode_record(&self, mut record: Vec<u8>) -> Result<AnchoredRecord, ContractReadError> {
        let convert = |[sequence, issued_at, anchored_at, block, history, state]: [Token; 6]| {
            Some(AnchoredRecord {
                sequence: to_number(sequence)?,
                issued_at_ms: to_number(issued_at)?,
                anchored_at_s: to_number(anchored_at)?,
                block_number: to_number(block)?,
                history: to_hash(history)?,
                state: to_hash(state)?,
            })
        };
        if record.len() == STATELESS_RECORD_BYTES {
            record.extend_from_slice(&[0; 32]);
        }
        self.0.decode("checkpoint", &record, convert)
    }

    /// The EIP-712 domain separator under which batches and checkpoints are signed.
    pub async fn domain_separator(&self) -> Result<Hash, ContractReadError> {
        self.0.read_one("domainSeparator", &[], to_hash).await
    }

    /// The EIP-712 domain of the log's signatures, by `eip712Domain()` (EIP-5267).
    pub async fn domain(&self) -> Result<Domain, ContractReadError> {
        let convert = |[
            _fields,
            _name,
            _version,
            chain,
            contract,
            _salt,
            _extensions,
        ]: [Token; 7]| {
            Some(Domain {
                chain_id: to_number(chain)?,
                verifying_contract: to_address(contract)?,
            })
        };
        self.0
            .read("eip712Domain", &[], BlockTag::Latest, convert)
            .await
    }

    /// The account that may rotate keys and pause.
    pub async fn owner(&self) -> Result<Address, ContractReadError> {
        self.0.read_one("owner", &[], to_address).await
    }

    /// The account that may accept the ownership; zero if there is none.
    pub async fn pending_owner(&self) -> Result<Address, ContractReadError> {
        self.0.read_one("pendingOwner", &[], to_address).await
    }

    pub async fn paused(&self) -> Result<bool, ContractReadError> {
        self.0.read_one("paused", &[], Token::into_bool).await
    }

    pub async fn state(&self) -> Result<AnchorContractState, ContractReadError> {
        let convert = |token| match to_number(token)? {
            0 => Some(AnchorContractState::Open),
            1 => Some(AnchorContractState::Waiting),
            2 => Some(AnchorContractState::Retired),
            3 => Some(AnchorContractState::Frozen),
            _ => None,
        };
        self.0.read_one("status", &[], convert).await
    }

    /// The contract that holds the operator's bond; the zero address if there is none.
    pub async fn bond(&self) -> Result<Address, ContractReadError> {
        self.0.read_one("bond", &[], to_address).await
    }

    /// All keys, including those of planned rotations, in order.
    pub async fn key_terms(&self) -> Result<Vec<KeyTerm>, ContractReadError> {
        let count = self.0.read_one("sequencerKeyCount", &[], to_number);
        let count = count.await?;
        let convert = |[key, from, until, replaced, closed]: [Token; 5]| {
            Some(KeyTerm {
                key: to_address(key)?,
                from_batch: to_number(from)?,
                until_batch: to_number(until)?,
                replaced_at_s: to_number(replaced)?,
                closed_at_s: to_number(closed)?,
            })
        };
        let mut terms = Vec::new();
        for index in 0..count {
            let arguments = [number(index)];
            let term = self
                .0
                .read("keyTerm", &arguments, BlockTag::Latest, convert);
            terms.push(term.await?);
        }
        Ok(terms)
    }

    /// The batches that this contract covers.
    pub async fn coverage(&self) -> Result<ContractCoverage, ContractReadError> {
        let convert = |[from, until, retired]: [Token; 3]| {
            Some(ContractCoverage {
                from_batch: to_number(from)?,
                until_batch: to_number(until)?,
                retired_at_s: to_number(retired)?,
            })
        };
        self.0
            .read("coverage", &[], BlockTag::Latest, convert)
            .await
    }

    /// The contract that continues the log; the zero address if there is none.
    pub async fn successor(&self, at: BlockTag) -> Result<Address, ContractReadError> {
        self.0
            .read("successor", &[], at, |[next]| to_address(next))
            .await
    }

    /// The contract that holds the checkpoint with this many batches: this one or, after its retirement, a successor.
    pub async fn holder_of(&self, batches: u64, at: BlockTag) -> Result<Self, ContractReadError> {
        let mut holder = self.clone();
        while batches > holder.latest(at).await?.batches {
            let next = holder.successor(at).await?;
            if next == Address::ZERO {
                break;
            }
            holder = Self::new(self.rpc().clone(), next);
        }
        Ok(holder)
    }

    /// The contract that anchored the log before this one; the zero address if there was none.
    pub async fn predecessor(&self) -> Result<Address, ContractReadError> {
        self.0.read_one("predecessor", &[], to_address).await
    }

    /// Every key of the log with its first batch: this contract's keys, and those of its predecessors for earlier
    /// batches.
    pub async fn sequencer_keys(&self) -> Result<SequencerKeys, ContractReadError> {
        let mut lists = Vec::new();
        let mut contract = self.clone();
        loop {
            let from = contract.coverage().await?.from_batch;
            lists.push((from, contract.key_terms().await?));
            if from == 0 || lists.len() > PREDECESSORS_MAX {
                break;
            }
            contract = Self::new(self.rpc().clone(), contract.predecessor().await?);
        }
        joined(&lists).ok_or_else(|| self.0.other_contract("keyTerm"))
    }

    /// The key that signs batch `batch`.
    pub async fn sequencer_key_at(&self, batch: u64) -> Result<Address, ContractReadError> {
        let arguments = [number(batch)];
        self.0
            .read_one("sequencerKeyAt", &arguments, to_address)
            .await
    }

    /// The event of the checkpoint with exactly `batches`, from the block that the contract stores; `None` if the chain
    /// has changed in between.
    pub async fn anchored_event(
        &self,
        batches: u64,
    ) -> Result<Option<AnchoredEvent>, ContractReadError> {
        let record = self.checkpoint(batches, BlockTag::Latest).await?;
        let block = BlockTag::Block(record.block_number);
        let filter = LogFilter {
            address: h160(self.address()),
            topics: anchored_topics(batches),
            from_block: block,
            to_block: block,
        };
        let logs = self.rpc().logs(&filter).await?;
        Ok(logs.iter().find_map(decode_anchored))
    }

    /// Whether the contract holds exactly this checkpoint, as of block `at`.
    pub async fn holds(
        &self,
        checkpoint: &Checkpoint,
        at: BlockTag,
    ) -> Result<bool, ContractReadError> {
        let record = self.record(checkpoint.batches, at).await?;
        Ok(record.is_some_and(|record| {
            record.history == checkpoint.history
                && [Hash::ZERO, checkpoint.state].contains(&record.state)
                && record.sequence == checkpoint.sequence
                && record.issued_at_ms == checkpoint.issued_at_ms
        }))
    }

    /// The record of the checkpoint with exactly `batches`, as of block `at`; `None` if there is none.
    ///
    /// # Errors
    /// The node cannot be asked, or there is no anchor contract at the address.
    pub async fn record(
        &self,
        batches: u64,
        at: BlockTag,
    ) -> Result<Option<AnchoredRecord>, ContractReadError> {
        match self.checkpoint(batches, at).await {
            Ok(record) => Ok(Some(record)),
            Err(ContractReadError::Rpc(RpcError::Node(error))) if error.revert_data().is_some() => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::RpcOptions;

    #[test]
    fn a_record_is_read_with_its_state_and_without() {
        let rpc = RpcClient::new("http://127.0.0.1:1".parse().unwrap(), RpcOptions::default());
        let contract = AnchorContract::new(rpc, Address([1; 20]));
        let word = |number: u8| {
            let mut word = [0; 32];
            word[31] = number;
            word
        };
        let words: Vec<[u8; 32]> = (1..=6).map(word).collect();
        let read = |count: usize| contract.decode_record(words[..count].concat());
        let record = AnchoredRecord {
            sequence: 1,
            issued_at_ms: 2,
            anchored_at_s: 3,
            block_number: 4,
            history: Hash(word(5)),
            state: Hash(word(6)),
        };
        assert_eq!(read(6).unwrap(), record);
        let stateless = AnchoredRecord {
            state: Hash::ZERO,
            ..record
        };
        assert_eq!(read(5).unwrap(), stateless);
        assert!(read(4).is_err());
    }

    #[test]
    fn each_contract_names_the_keys_of_its_own_batches() {
        let term = |(byte, from_batch): &(u8, u64)| KeyTerm {
            from_batch: *from_batch,
            ..KeyTerm::only(Address([*byte; 20]))
        };
        let list = |from, keys: &[(u8, u64)]| (from, keys.iter().map(term).collect());
        let keys = |lists: &[(u64, Vec<KeyTerm>)]| {
            let joined = joined(lists).unwrap();
            let entries = joined.entries().iter();
            entries
                .map(|entry| (entry.key.0[0], entry.from_batch))
                .collect::<Vec<_>>()
        };
        let first = list(0, &[(1, 0), (2, 5), (3, 9)]);
        assert_eq!(keys(std::slice::from_ref(&first)), [(1, 0), (2, 5), (3, 9)]);
        // A successor from batch 7 on, with the key that was valid there; the rotation at 9 no longer applies.
        let second = list(7, &[(2, 0), (4, 12)]);
        assert_eq!(keys(&[second, first]), [(1, 0), (2, 5), (4, 12)]);
        assert_eq!(joined(&[list(0, &[])]), None);
    }
}
