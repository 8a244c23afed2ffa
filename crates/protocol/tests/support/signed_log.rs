//! A log in memory, signed batch by batch, that a test can alter before it is signed.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;

use kedge_protocol::batch::{BatchHeader, SignedBatch};
use kedge_protocol::chain::{self, LogLeaf};
use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::eip712::Domain;
use kedge_protocol::evidence::{CheckpointEvidence, HeaderEvidence, LeafEvidence};
use kedge_protocol::hash::keccak_parts;
use kedge_protocol::log_tree::{self, TreeFrontier, TreeNodes};
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash};

pub(crate) const START_MS: u64 = 1_790_000_000_000;

pub(crate) fn key(number: u8) -> SigningKey {
    SigningKey::from_bytes(&[number; 32]).unwrap()
}

pub(crate) fn domain() -> Domain {
    Domain {
        chain_id: 31_337,
        verifying_contract: "0x5FbDB2315678afecb367f032d93F642f64180aa3"
            .parse::<Address>()
            .unwrap(),
    }
}

/// A batch before it is signed.
#[derive(Clone)]
pub(crate) struct Draft {
    pub(crate) header: BatchHeader,
    pub(crate) leaves: Vec<LogLeaf>,
}

impl Draft {
    pub(crate) fn leaf_hashes(&self) -> Vec<Hash> {
        LogLeaf::hash_each(&self.leaves)
    }

    /// Recomputes root and head from the current leaves.
    pub(crate) fn reseal(mut self) -> Self {
        let hashes = self.leaf_hashes();
        self.header.root = BatchTree::new(&hashes).root();
        self.header.head = hashes.iter().fold(self.header.previous_head, |head, leaf| {
            chain::next_head(&head, leaf)
        });
        self
    }

    pub(crate) fn with(mut self, bend: impl FnOnce(&mut BatchHeader)) -> Self {
        bend(&mut self.header);
        self
    }

    pub(crate) fn with_leaf(mut self, index: usize, bend: impl FnOnce(&mut LogLeaf)) -> Self {
        bend(&mut self.leaves[index]);
        self.reseal()
    }

    pub(crate) fn signed(&self, key: &SigningKey) -> SignedBatch {
        self.header.sign(&domain().separator(), key)
    }

    /// The header, signed by the log's first key.
    pub(crate) fn evidence(&self, key: &SigningKey) -> HeaderEvidence {
        HeaderEvidence::signed(&self.signed(key), 0)
    }

    pub(crate) fn leaf(&self, index: u32, batch: HeaderEvidence) -> LeafEvidence {
        let place = index as usize;
        LeafEvidence {
            leaf: self.leaves[place],
            index,
            path: BatchTree::new(&self.leaf_hashes()).proof(&[place]),
            batch,
        }
    }
}

/// The batches of a log, and its tree.
#[derive(Clone, Default)]
pub(crate) struct SignedLog {
    pub(crate) batches: Vec<Draft>,
    nodes: HashMap<(u32, u64), Hash>,
    frontier: TreeFrontier,
    integrities: BTreeMap<u64, Hash>,
}

impl TreeNodes for SignedLog {
    type Error = Infallible;

    fn node(&self, level: u32, index: u64) -> Result<Hash, Infallible> {
        Ok(self.nodes[&(level, index)])
    }
}

impl SignedLog {
    /// The next batch as an honest sequencer would make it: actions on three resources in turn.
    pub(crate) fn next(&self, count: u32) -> Draft {
        let number = self.batches.len() as u64;
        let last = self.batches.last().map(|batch| batch.header);
        let first_sequence = last.map_or(1, |last| last.last_sequence() + 1);
        let previous_head = last.map_or(domain().separator(), |last| last.head);
        let mut integrities = self.integrities.clone();
        let leaves = (first_sequence..first_sequence + u64::from(count))
            .map(|sequence| {
                let content = keccak_parts(&[b"content", &sequence.to_be_bytes()]);
                let integrity = integrities.entry(sequence % 3).or_insert(Hash::ZERO);
                *integrity = chain::next_integrity(integrity, &content);
                LogLeaf {
                    sequence,
                    timestamp_ms: START_MS + 10 * sequence,
                    content,
                    integrity: *integrity,
                }
            })
            .collect();
        let header = BatchHeader {
            number,
            first_sequence,
            count,
            previous_head,
            head: Hash::ZERO,
            root: Hash::ZERO,
            history: self.frontier.root(),
            state: Hash::ZERO,
            sealed_at_ms: START_MS + 10 * (first_sequence + u64::from(count)) + 5,
        };
        Draft { header, leaves }.reseal()
    }

    /// Appends a batch to the log unchanged.
    pub(crate) fn append(&mut self, draft: Draft) {
        for leaf in &draft.leaves {
            self.integrities.insert(leaf.sequence % 3, leaf.integrity);
        }
        let leaf = log_tree::leaf(&draft.header.hash());
        for node in self.frontier.append(leaf) {
            self.nodes.insert((node.level, node.index), node.hash);
        }
        self.batches.push(draft);
    }

    pub(crate) fn root(&self, batches: u64) -> Hash {
        let Ok(root) = log_tree::root(self, batches);
        root
    }

    pub(crate) fn path(&self, number: u64, batches: u64) -> Vec<Hash> {
        let Ok(path) = log_tree::inclusion_path(self, number, batches);
        path
    }

    pub(crate) fn consistency(&self, from: u64, to: u64) -> Vec<Hash> {
        if from == 0 {
            return Vec::new();
        }
        let Ok(path) = log_tree::consistency_path(self, from, to);
        path
    }

    pub(crate) fn anchored(&self, number: u64, batches: u64) -> HeaderEvidence {
        let header = self.batch(number).header;
        HeaderEvidence::anchored(header, batches, self.path(number, batches))
    }

    pub(crate) fn batch(&self, number: u64) -> &Draft {
        &self.batches[usize::try_from(number).unwrap()]
    }

    /// The true checkpoint over the first batches.
    pub(crate) fn checkpoint(&self, batches: u64) -> Checkpoint {
        let last = &self.batch(batches - 1).header;
        Checkpoint {
            batches,
            sequence: last.last_sequence(),
            head: last.head,
            history: self.root(batches),
            state: Hash::ZERO,
            issued_at_ms: last.sealed_at_ms,
        }
    }
}

/// A checkpoint, signed by a key at a given place of the contract's list.
pub(crate) fn signed_checkpoint(
    checkpoint: Checkpoint,
    key: &SigningKey,
    key_index: u32,
) -> CheckpointEvidence {
    CheckpointEvidence::of(&checkpoint.sign(&domain().separator(), key), key_index)
}
