//! Pure core of the watchtower: its knowledge of a log, and the faults provable with it.
//!
//! It receives everything that the operator signed or served (headers, checkpoints, opened actions, state proofs), in
//! any order and from any source, and the contract's state. For each contradiction it builds evidence and checks it by
//! the rules of [`kedge_protocol::evidence`]; only proven faults are reported. The operator's debts (leaves of anchored
//! batches, the anchoring of a served header) are measured in the chain's time, and reported for a demand. So a lying
//! source can waste time, but never cause a false accusation.

mod finding;
mod review;
mod state;
mod state_review;
mod tree;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use kedge_protocol::batch::{BatchHeader, SignedBatch};
use kedge_protocol::chain::{self, LogLeaf};
use kedge_protocol::checkpoint::SignedCheckpoint;
use kedge_protocol::evidence::{
    CheckpointEvidence, ContractView, Evidence, HeaderEvidence, LeafEvidence, check,
};
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::record::RequestRecord;
use kedge_protocol::{Hash, Id};

pub use finding::{
    ActionChallenge, EntryChallenge, EntryRefusal, Finding, StateDemand, StateDemandBasis,
    UnshownState, UnsignedItem, WithheldLeaves,
};
use state::StateMemory;
use tree::FollowedTree;

/// A header signed by the sequencer.
#[derive(Clone, Copy)]
struct TowerHeader {
    batch: SignedBatch,
    key_index: u32,
}

impl TowerHeader {
    fn evidence(&self) -> HeaderEvidence {
        HeaderEvidence::signed(&self.batch, self.key_index)
    }

    fn header(&self) -> &BatchHeader {
        &self.batch.header
    }
}

/// Whether the leaves match a header.
fn lead_to(header: &BatchHeader, leaves: &[Hash]) -> bool {
    !leaves.is_empty()
        && leaves.len() == header.count as usize
        && BatchTree::new(leaves).root() == header.root
}

/// State of the watchtower. It grows with the log: a few hundred bytes per batch, and per opened action.
pub struct Watchtower {
    trust: ContractView,
    separator: Hash,
    /// All seen headers, by batch number.
    headers: BTreeMap<u64, Vec<TowerHeader>>,
    /// Headers seen elsewhere before the operator served them, or never served.
    aside: Vec<TowerHeader>,
    /// Followed batches below this number were compared with anchored checkpoints.
    reviewed: u64,
    /// Anchored checkpoints up to this batch count agree with the followed log.
    agreed: u64,
    /// Batches with unknown leaves, and the start of that, Unix seconds.
    lacking: BTreeMap<u64, u64>,
    /// Batches whose leaves the operator published elsewhere.
    published: BTreeSet<u64>,
    patience_s: u64,
    /// The first followed batch; earlier ones were already archived.
    beginning: u64,
    /// The served batches, as first served.
    followed: BTreeMap<u64, TowerHeader>,
    tree: FollowedTree,
    checkpoints: BTreeMap<u64, Vec<(SignedCheckpoint, u32)>>,
    /// Checkpoints not compared with the log yet.
    unreviewed: Vec<(SignedCheckpoint, u32)>,
    actions: BTreeMap<u64, Vec<LeafEvidence>>,
    by_content: HashMap<Hash, LeafEvidence>,
    by_previous: HashMap<Hash, LeafEvidence>,
    /// Unauthorised actions, until their batch is anchored.
    unauthorised: Vec<LeafEvidence>,
    /// Entries of the state, and opened actions.
    state: StateMemory,
    lowest_rooted: Option<(SignedCheckpoint, u32)>,
    highest_unrooted: Option<(SignedCheckpoint, u32)>,
    /// Ids with entries of unknown leaves, and the start of that, Unix seconds.
    unexplained: BTreeMap<Id, u64>,
    found: Vec<Finding>,
    reported: BTreeSet<Hash>,
}

impl Watchtower {
    /// Creates an empty watchtower. The operator has `patience_s` seconds of the chain's time to publish the leaves of
    /// an anchored batch, and to anchor a batch that it signed.
    pub fn new(trust: ContractView, patience_s: u64) -> Self {
        Self {
            separator: trust.domain.separator(),
            trust,
            headers: BTreeMap::new(),
            aside: Vec::new(),
            reviewed: 0,
            agreed: 0,
            lacking: BTreeMap::new(),
            published: BTreeSet::new(),
            patience_s,
            beginning: 0,
            followed: BTreeMap::new(),
            tree: FollowedTree::default(),
            checkpoints: BTreeMap::new(),
            unreviewed: Vec::new(),
            actions: BTreeMap::new(),
            by_content: HashMap::new(),
            by_previous: HashMap::new(),
            unauthorised: Vec::new(),
            state: StateMemory::default(),
            lowest_rooted: None,
            highest_unrooted: None,
            unexplained: BTreeMap::new(),
            found: Vec::new(),
            reported: BTreeSet::new(),
        }
    }

    /// Adopts the contracts' current state, with every accepted checkpoint.
    pub fn trust(&mut self, trust: ContractView) {
        self.trust = trust;
    }

    /// The log's batch count up to the last followed one.
    pub fn batches(&self) -> u64 {
        self.tree.size()
    }

    /// The first followed batch.
    pub fn beginning(&self) -> u64 {
        self.beginning
    }

    /// Continues with a later batch, because the operator states that those between are archived. `peaks` are the roots
    /// of the complete subtrees of the preceding log tree, and are trusted as far as later anchored checkpoints agree.
    /// False if they fit no tree of that size.
    pub fn begin_at(&mut self, number: u64, peaks: &[Hash]) -> bool {
        let size = self.tree.size();
        if number <= size || !self.tree.begin_at(number, peaks) {
            return false;
        }
        self.beginning = number;
        // Recorded debts stay: archiving does not excuse leaves that were anchored and not served while this watchtower
        // observed. A new watchtower has recorded none.
        if size == 0 {
            self.lacking.clear();
        }
        self.followed.clear();
        self.reviewed = number;
        self.agreed = self.agreed.max(number);
        true
    }

    /// Whether the log's key signed a header.
    pub fn knows_signer(&self, batch: &SignedBatch) -> bool {
        let digest = batch.header.digest(&self.separator);
        let signer = batch.signature.recover(&digest).ok();
        self.key_of(batch.header.number, signer).is_ok()
    }

    /// Takes the findings since the last call.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.found)
    }

    /// Accepts the log's next served batch with its leaves. A batch with an already followed number is compared with
    /// the followed one.
    pub fn follow(&mut self, batch: &SignedBatch, leaves: &[Hash]) -> Result<(), UnsignedItem> {
        let known = self.join(batch)?;
        let number = batch.header.number;
        let is_followed = self
            .served(number)
            .is_some_and(|served| served.header() == known.header());
        if is_followed {
            if lead_to(&batch.header, leaves) {
                self.lacking.remove(&number);
            } else {
                self.lacking.entry(number).or_insert(self.trust.now_s);
            }
        }
        self.prove(Evidence::BrokenChain {
            batch: known.evidence(),
            leaves: leaves.to_vec(),
        });
        Ok(())
    }

    /// Accepts a batch followed before a restart. Its leaves were checked then, unless they are recorded as missing.
    pub fn resume(&mut self, batch: &SignedBatch) -> Result<(), UnsignedItem> {
        self.join(batch).map(|_| ())
    }

    /// Batches with unknown leaves, and the start of that, Unix seconds.
    pub fn lacking(&self) -> &BTreeMap<u64, u64> {
        &self.lacking
    }

    /// Restores [`Self::lacking()`] after a restart.
    pub fn resume_lacking(&mut self, lacking: BTreeMap<u64, u64>) {
        self.lacking = lacking;
    }

    /// Records that the operator published a batch's leaves elsewhere, so they are not requested again.
    pub fn published(&mut self, number: u64) {
        self.published.insert(number);
        self.lacking.remove(&number);
    }

    fn join(&mut self, batch: &SignedBatch) -> Result<TowerHeader, UnsignedItem> {
        let is_next = batch.header.number == self.tree.size();
        let known = self.see(batch, !is_next)?;
        if is_next {
            self.tree.append(&batch.header.hash());
            self.followed.insert(batch.header.number, known);
        }
        Ok(known)
    }

    /// Accepts a header from any source.
    pub fn header(&mut self, batch: &SignedBatch) -> Result<(), UnsignedItem> {
        self.see(batch, true).map(|_| ())
    }

    fn see(&mut self, batch: &SignedBatch, is_aside: bool) -> Result<TowerHeader, UnsignedItem> {
        let digest = batch.header.digest(&self.separator);
        let known = TowerHeader {
            batch: *batch,
            key_index: self.key_of(batch.header.number, batch.signature.recover(&digest).ok())?,
        };
        let number = batch.header.number;
        let same = self.headers.entry(number).or_default();
        if same.iter().any(|seen| seen.header() == known.header()) {
            return Ok(known);
        }
        let others = same.clone();
        same.push(known);
        if is_aside {
            self.aside.push(known);
        }
        for other in others {
            self.prove(Evidence::ConflictingBatches {
                first: other.evidence(),
                second: known.evidence(),
            });
        }
        self.prove(Evidence::BrokenHeader {
            batch: known.evidence(),
        });
        let neighbour = |number: Option<u64>| {
            let headers = number.and_then(|number| self.headers.get(&number));
            headers.cloned().unwrap_or_default()
        };
        let (before, after) = (
            neighbour(number.checked_sub(1)),
            neighbour(number.checked_add(1)),
        );
        for other in before {
            self.prove(Evidence::BrokenLink {
                before: other.evidence(),
                next: known.evidence(),
            });
        }
        for other in after {
            self.prove(Evidence::BrokenLink {
                before: known.evidence(),
                next: other.evidence(),
            });
        }
        Ok(known)
    }

    /// Accepts a signed checkpoint from any source.
    pub fn checkpoint(&mut self, signed: &SignedCheckpoint) -> Result<(), UnsignedItem> {
        let checkpoint = &signed.checkpoint;
        let last = checkpoint.batches.checked_sub(1).ok_or(UnsignedItem)?;
        let digest = checkpoint.digest(&self.separator);
        let key_index = self.key_of(last, signed.signature.recover(&digest).ok())?;
        let same = self.checkpoints.entry(checkpoint.batches).or_default();
        let says = |known: &SignedCheckpoint| {
            let known = known.checkpoint;
            (known.sequence, known.head, known.history, known.state)
        };
        if same.iter().any(|(known, _)| says(known) == says(signed)) {
            return Ok(());
        }
        let others = same.clone();
        same.push((*signed, key_index));
        self.unreviewed.push((*signed, key_index));
        for (other, other_key) in others {
            self.prove(Evidence::ConflictingCheckpoints {
                first: CheckpointEvidence::of(&other, other_key),
                second: CheckpointEvidence::of(signed, key_index),
            });
        }
        self.compare_roots(signed, key_index);
        Ok(())
    }

    /// Accepts an opened action of a signed batch. `previous` is the integrity value that it extends.
    pub fn action(
        &mut self,
        batch: &SignedBatch,
        leaf: LogLeaf,
        index: u32,
        path: Vec<Hash>,
        previous: Hash,
    ) -> Result<(), UnsignedItem> {
        let shown = LeafEvidence {
            leaf,
            index,
            path,
            batch: self.see(batch, true)?.evidence(),
        };
        let same = self.actions.entry(leaf.sequence).or_default();
        if same.iter().any(|known| known.leaf == leaf) {
            return Ok(());
        }
        same.push(shown.clone());
        self.prove(Evidence::BrokenLeaf {
            action: shown.clone(),
        });
        self.compare_times(&shown);
        if let Some(first) = self.by_content.get(&leaf.content) {
            self.prove(Evidence::ReplayedContent {
                first: first.clone(),
                second: shown.clone(),
            });
        } else {
            self.by_content.insert(leaf.content, shown.clone());
        }
        let extends = chain::next_integrity(&previous, &leaf.content) == leaf.integrity;
        if previous == Hash::ZERO || !extends {
            return Ok(());
        }
        if let Some(first) = self.by_previous.get(&previous) {
            self.prove(Evidence::ForkedIntegrity {
                first: first.clone(),
                second: shown,
                previous,
            });
        } else {
            self.by_previous.insert(previous, shown);
        }
        Ok(())
    }

    /// Accepts a served request with its batch and all of the batch's leaves. A request that does not match these
    /// leaves proves nothing.
    pub fn request(
        &mut self,
        batch: &SignedBatch,
        leaves: &[Hash],
        record: &RequestRecord<'_>,
    ) -> Result<(), UnsignedItem> {
        if leaves.len() != batch.header.count as usize || leaves.is_empty() {
            return Ok(());
        }
        let hashes = record.hashes();
        let is_authorised = record
            .verify_signature_over(&self.separator, &hashes)
            .is_ok()
            && record.timestamp_ms <= record.head.deadline_s.saturating_mul(1_000);
        let tree = BatchTree::new(leaves);
        let shown = self.see(batch, true)?.evidence();
        let placed = record.placed(&hashes).into_iter().zip(&record.actions);
        for (index, (leaf, action)) in (record.first_leaf_index..).zip(placed) {
            let place = index as usize;
            if leaves.get(place) != Some(&leaf.hash()) {
                continue;
            }
            let path = tree.proof(&[place]);
            let placed = LeafEvidence {
                leaf,
                index,
                path: path.clone(),
                batch: shown.clone(),
            };
            if !is_authorised {
                self.unauthorised.push(placed.clone());
            }
            self.open_action((record, action), placed);
            self.action(batch, leaf, index, path, action.previous_integrity)?;
        }
        Ok(())
    }

    fn compare_times(&mut self, shown: &LeafEvidence) {
        let sequence = shown.leaf.sequence;
        let before = self.actions.range(..sequence).next_back();
        let before = before.map(|(_, actions)| actions.clone());
        let after = sequence
            .checked_add(1)
            .and_then(|next| self.actions.range(next..).next());
        let after = after.map(|(_, actions)| actions.clone());
        for earlier in before.unwrap_or_default() {
            self.prove(Evidence::FallingTime {
                earlier,
                later: shown.clone(),
            });
        }
        for later in after.unwrap_or_default() {
            self.prove(Evidence::FallingTime {
                earlier: shown.clone(),
                later,
            });
        }
    }

    /// Index in the contract's list of the key that may have signed a batch.
    fn key_of(
        &self,
        batch: u64,
        signer: Option<kedge_protocol::Address>,
    ) -> Result<u32, UnsignedItem> {
        let signer = signer.ok_or(UnsignedItem)?;
        let place = self
            .trust
            .keys
            .iter()
            .position(|term| term.key == signer && term.from_batch <= batch);
        place
            .and_then(|place| u32::try_from(place).ok())
            .ok_or(UnsignedItem)
    }

    /// Reports the evidence if it proves a fault.
    fn prove(&mut self, evidence: Evidence) {
        let Ok(verdict) = check(&evidence, &self.trust) else {
            return;
        };
        // Once per fault and batch: further evidence adds nothing.
        let name = format!("{} {}", verdict.fault, verdict.batch);
        let id = kedge_protocol::hash::keccak(name.as_bytes());
        self.report(id, Finding::Fault(Box::new(evidence)));
    }

    fn report(&mut self, id: Hash, finding: Finding) {
        if self.reported.insert(id) {
            self.found.push(finding);
        }
    }
}
