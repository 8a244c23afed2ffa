//! The view of the log against which evidence is checked: read from the contracts, or from a server's own log, never
//! from the evidence.

use std::collections::BTreeMap;

use crate::eip712::Domain;
use crate::limits::SEQUENCER_KEYS_MAX;
use crate::merkle::empty_root;
use crate::{Address, Hash, KeyActivation, SequencerKeys};

/// A sequencer key of the anchor contract's list, and the batches for which it counts (`keyTerm`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyTerm {
    /// The key's address.
    pub key: Address,
    /// The first batch that it signs.
    pub from_batch: u64,
    /// The first batch that the next key of the list signs; the largest u64 for the last key.
    pub until_batch: u64,
    /// When the next key was named, Unix seconds; 0 for the last key.
    pub replaced_at_s: u64,
    /// When all batches that the key keeps were anchored, Unix seconds; 0 until that is recorded (`closeKey`).
    pub closed_at_s: u64,
}

impl KeyTerm {
    /// The only key of a log without rotations.
    pub fn only(key: Address) -> Self {
        Self {
            key,
            from_batch: 0,
            until_batch: u64::MAX,
            replaced_at_s: 0,
            closed_at_s: 0,
        }
    }
}

/// The batches that a contract answers for (`coverage`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ContractCoverage {
    /// The first batch that the contract answers for.
    pub from_batch: u64,
    /// The first batch that a later contract answers for; the largest u64 before retirement.
    pub until_batch: u64,
    /// When the contract retired, Unix seconds; 0 before. Evidence about batches from `until_batch` on counts for its
    /// age after that, because they may have been signed before the retirement but not anchored.
    pub retired_at_s: u64,
}

impl ContractCoverage {
    /// All batches, by a contract that has not retired.
    pub const ALL: Self = Self {
        from_batch: 0,
        until_batch: u64::MAX,
        retired_at_s: 0,
    };

    /// Whether the contract itself anchors the batch.
    pub fn holds(&self, batch: u64) -> bool {
        (self.from_batch..self.until_batch).contains(&batch)
    }
}

/// The log as its contracts report it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContractView {
    /// The log's domain.
    pub domain: Domain,
    /// The sequencer's keys, in the contract's order.
    pub keys: Vec<KeyTerm>,
    /// The batches that the contract answers for.
    pub coverage: ContractCoverage,
    /// Histories of anchored checkpoints by their batch counts. Those named by [`super::Evidence::anchored_batches`]
    /// suffice.
    pub anchored: BTreeMap<u64, Hash>,
    /// How long evidence counts after its key was replaced, in seconds.
    pub evidence_age_s: u64,
    /// The present time, Unix seconds.
    pub now_s: u64,
}

impl ContractView {
    /// A log with one key, whose contract has anchored nothing yet.
    pub fn new(domain: Domain, key: Address) -> Self {
        Self {
            domain,
            keys: vec![KeyTerm::only(key)],
            coverage: ContractCoverage::ALL,
            anchored: BTreeMap::from([(0, empty_root())]),
            evidence_age_s: 0,
            now_s: 0,
        }
    }

    /// A log whose keys are known from a source other than its contract. The index of a single key in the contract's
    /// list is unknown, so it is listed at every index.
    pub fn of_known_keys(domain: Domain, keys: &SequencerKeys) -> Self {
        let ends = keys.entries().iter().skip(1).map(|next| next.from_batch);
        let term = |(entry, until_batch): (&KeyActivation, u64)| KeyTerm {
            from_batch: entry.from_batch,
            until_batch,
            ..KeyTerm::only(entry.key)
        };
        let terms: Vec<KeyTerm> = match keys.entries() {
            [only] => vec![KeyTerm::only(only.key); SEQUENCER_KEYS_MAX],
            entries => {
                let ends = ends.chain([u64::MAX]);
                entries.iter().zip(ends).map(term).collect()
            }
        };
        Self {
            keys: terms,
            ..Self::new(domain, keys.first())
        }
    }
}
