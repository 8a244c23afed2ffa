//! A real log checked against every fault of the judge, which must never convict an honest log.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use kedge_protocol::batch::SignedBatch;
use kedge_protocol::chain::LogLeaf;
use kedge_protocol::checkpoint::SignedCheckpoint;
use kedge_protocol::eip712::Domain;
use kedge_protocol::evidence::{
    CheckpointEvidence, ContractView, Evidence, HeaderEvidence, LeafEvidence, NoFault, check,
};
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::{Address, Hash, log_tree};
use kedge_replay::catch_up::open_store;
use kedge_storage::{AnchorProgress, RowPage, StoreAccess, StoreOptions, StoreSnapshot};

/// Up to this many leaves, or headers, every pair is tried; in larger logs only the pairs that could matter.
const PAIRS_OF_LEAVES_MAX: usize = 120;
const PAIRS_OF_HEADERS_MAX: u64 = 64;

struct Opened {
    leaf: LogLeaf,
    previous: Hash,
    batch: u64,
    index: u32,
}

struct Log {
    snapshot: StoreSnapshot,
    trust: ContractView,
    batches: Vec<SignedBatch>,
    leaves: Vec<Opened>,
    trees: Vec<Vec<Hash>>,
    checkpoints: Vec<SignedCheckpoint>,
    kinds: BTreeMap<String, usize>,
    /// The directory of the rows that the snapshot reads.
    _scratch: tempfile::TempDir,
}

/// Checks the log of a stopped server's store for every fault; returns the number of actions of each kind.
pub(crate) fn is_never_convicted(
    store: &Path,
    domain: Domain,
    sequencer: Address,
) -> BTreeMap<String, usize> {
    let log = Log::read(store, domain, sequencer);
    log.holds_its_headers();
    log.holds_its_checkpoints();
    log.holds_its_leaves();
    log.kinds
}

impl Log {
    fn read(path: &Path, domain: Domain, sequencer: Address) -> Self {
        // The rows of a killed server lag its log, so they are rebuilt from it.
        let scratch = tempfile::tempdir().unwrap();
        let options = StoreOptions {
            path: scratch.path().join("store"),
            side_keys: kedge_upkeep::side_keys::read(&path.with_file_name("keys")).unwrap(),
            access: StoreAccess::Derive,
            ..StoreOptions::of_store(path, domain, sequencer)
        };
        let snapshot = open_store(options).unwrap().snapshot();
        let mut log = Self {
            trust: ContractView::new(domain, sequencer),
            batches: Vec::new(),
            leaves: Vec::new(),
            trees: Vec::new(),
            checkpoints: Vec::new(),
            kinds: BTreeMap::new(),
            snapshot,
            _scratch: scratch,
        };
        let head = log.snapshot.head().unwrap();
        for number in 0..head.batches {
            log.batches
                .push(log.snapshot.batch(number).unwrap().unwrap());
            log.trees
                .push(log.snapshot.leaves(number).unwrap().unwrap());
            // Every size of the log counts as anchored, because the chain may hold any.
            let history = log_tree::root(&log.snapshot, number + 1).unwrap();
            log.trust.anchored.insert(number + 1, history);
        }
        log.read_requests();
        assert_eq!(log.leaves.len() as u64, head.sequence);
        log.read_anchors();
        log
    }

    fn read_requests(&mut self) {
        let mut batch = 0;
        for record in self.snapshot.requests_from(1) {
            let record = record.unwrap();
            let leaves = record.placed(&record.hashes());
            for (action, leaf) in record.actions.iter().zip(leaves) {
                while self.batches[batch].header.last_sequence() < leaf.sequence {
                    batch += 1;
                }
                let header = &self.batches[batch].header;
                self.leaves.push(Opened {
                    index: u32::try_from(leaf.sequence - header.first_sequence).unwrap(),
                    batch: header.number,
                    previous: action.previous_integrity,
                    leaf,
                });
                *self.kinds.entry(action.kind.text().to_owned()).or_default() += 1;
            }
        }
    }

    fn read_anchors(&mut self) {
        let page = RowPage {
            after: None,
            descending: false,
            limit: 1_000,
        };
        let rows = self.snapshot.anchors(page).unwrap();
        // Failed anchors were signed too.
        let mut held = 0;
        for row in rows {
            held += usize::from(row.status != AnchorProgress::Failed);
            self.checkpoints.push(row.checkpoint);
        }
        assert!(held <= self.checkpoints.len());
    }

    fn size(&self) -> u64 {
        self.batches.len() as u64
    }

    #[track_caller]
    fn innocent(&self, evidence: &Evidence) {
        let verdict = check(evidence, &self.trust);
        assert_eq!(verdict, Err(NoFault::NoContradiction), "{evidence:?}");
    }

    fn signed(&self, number: u64) -> HeaderEvidence {
        HeaderEvidence::signed(&self.batches[number as usize], 0)
    }

    /// Evidence from the whole log's history, which is cheaper to check than a signature.
    fn anchored(&self, number: u64) -> HeaderEvidence {
        let size = self.size();
        let path = log_tree::inclusion_path(&self.snapshot, number, size).unwrap();
        HeaderEvidence::anchored(self.batches[number as usize].header, size, path)
    }

    fn holds_its_headers(&self) {
        for number in 0..self.size() {
            self.innocent(&Evidence::BrokenHeader {
                batch: self.signed(number),
            });
            self.innocent(&Evidence::BrokenChain {
                batch: self.anchored(number),
                leaves: self.trees[number as usize].clone(),
            });
            self.innocent(&Evidence::OmittedBatch {
                left: self.anchored(number),
                anchored_batches: self.size(),
                held: self.batches[number as usize].header.hash(),
                path: log_tree::inclusion_path(&self.snapshot, number, self.size()).unwrap(),
            });
            self.innocent(&Evidence::FalseHistory {
                batch: self.anchored(number),
                anchored_batches: self.size(),
                beginning: self.batches[number as usize].header.history,
                proof: self.consistency(number, self.size()),
            });
            let all = self.size() <= PAIRS_OF_HEADERS_MAX;
            let others = if all {
                0..self.size()
            } else {
                number..(number + 2).min(self.size())
            };
            for other in others {
                let (first, second) = (self.anchored(number), self.anchored(other));
                self.innocent(&Evidence::BrokenLink {
                    before: first.clone(),
                    next: second.clone(),
                });
                self.innocent(&Evidence::ConflictingBatches { first, second });
            }
        }
    }

    fn consistency(&self, from: u64, to: u64) -> Vec<Hash> {
        if from == 0 {
            return Vec::new();
        }
        log_tree::consistency_path(&self.snapshot, from, to).unwrap()
    }

    fn holds_its_checkpoints(&self) {
        let of = |signed: &SignedCheckpoint| CheckpointEvidence::of(signed, 0);
        for signed in &self.checkpoints {
            let checkpoint = &signed.checkpoint;
            let last = checkpoint.batches - 1;
            self.innocent(&Evidence::FalseCheckpoint {
                signed: of(signed),
                last: self.batches[last as usize].header,
                path: log_tree::inclusion_path(&self.snapshot, last, checkpoint.batches).unwrap(),
            });
            self.innocent(&Evidence::FalseCheckpointHistory {
                signed: of(signed),
                anchored_batches: self.size(),
                beginning: checkpoint.history,
                proof: self.consistency(checkpoint.batches, self.size()),
            });
            for other in &self.checkpoints {
                self.innocent(&Evidence::ConflictingCheckpoints {
                    first: of(signed),
                    second: of(other),
                });
            }
        }
    }

    fn leaf(&self, opened: &Opened) -> LeafEvidence {
        let tree = BatchTree::new(&self.trees[opened.batch as usize]);
        LeafEvidence {
            leaf: opened.leaf,
            index: opened.index,
            path: tree.proof(&[opened.index as usize]),
            batch: self.anchored(opened.batch),
        }
    }

    fn holds_its_leaves(&self) {
        let few = self.leaves.len() <= PAIRS_OF_LEAVES_MAX;
        if few {
            for opened in &self.leaves {
                self.innocent(&Evidence::BrokenLeaf {
                    action: self.leaf(opened),
                });
            }
        }
        for (one, other) in self.pairs(few) {
            let (one, other) = (&self.leaves[one], &self.leaves[other]);
            let (first, second) = (self.leaf(one), self.leaf(other));
            for previous in [one.previous, other.previous, Hash::ZERO] {
                self.innocent(&Evidence::ForkedIntegrity {
                    first: first.clone(),
                    second: second.clone(),
                    previous,
                });
            }
            self.innocent(&Evidence::ReplayedContent {
                first: first.clone(),
                second: second.clone(),
            });
            self.innocent(&Evidence::FallingTime {
                earlier: first,
                later: second,
            });
        }
    }

    /// All pairs, or only those that could contradict: with the same content or previous integrity, or with decreasing
    /// times.
    fn pairs(&self, all: bool) -> Vec<(usize, usize)> {
        let count = self.leaves.len();
        if all {
            return (0..count)
                .flat_map(|one| (0..count).map(move |other| (one, other)))
                .collect();
        }
        let mut seen: HashMap<Hash, usize> = HashMap::new();
        let mut pairs = Vec::new();
        for (place, opened) in self.leaves.iter().enumerate() {
            let previous = (opened.previous != Hash::ZERO).then_some(opened.previous);
            for value in [Some(opened.leaf.content), previous].into_iter().flatten() {
                if let Some(before) = seen.insert(value, place) {
                    pairs.push((before, place));
                }
            }
            if place > 0 && self.leaves[place - 1].leaf.timestamp_ms > opened.leaf.timestamp_ms {
                pairs.push((place - 1, place));
            }
        }
        pairs
    }
}
