//! A random honest log, with all permitted behaviour of a sequencer.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kedge_protocol::action::{Kind, RequestHead};
use kedge_protocol::batch::{BatchHeader, SignedBatch};
use kedge_protocol::chain::{self, LogLeaf};
use kedge_protocol::checkpoint::{Checkpoint, SignedCheckpoint};
use kedge_protocol::eip712::Domain;
use kedge_protocol::evidence::{ContractView, KeyTerm};
use kedge_protocol::hash::keccak;
use kedge_protocol::limits::BATCH_ACTIONS_MAX;
use kedge_protocol::log_tree::{self, TreeFrontier};
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::record::{ActionRecord, FailedAction, RequestRecord};
use kedge_protocol::signature::{Signature, SigningKey};
use kedge_protocol::{Address, Hash, Id, Prefix};

use crate::rng::Rng;

const START_MS: u64 = 1_790_000_000_000;
/// How long evidence about a replaced key counts.
const EVIDENCE_AGE_S: u64 = 1_000;

/// A batch with its contents.
pub(crate) struct Batch {
    pub(crate) signed: SignedBatch,
    pub(crate) leaves: Vec<Hash>,
    pub(crate) records: Vec<RequestRecord<'static>>,
}

impl Batch {
    /// A random action as in a receipt: leaf, index, path, previous integrity.
    pub(crate) fn opened(&self, rng: &mut Rng) -> (LogLeaf, u32, Vec<Hash>, Hash) {
        let record = &rng.pick(&self.records);
        let placed = record.placed(&record.hashes());
        let place = usize::try_from(rng.below(placed.len() as u64)).unwrap();
        let index = record.first_leaf_index + u32::try_from(place).unwrap();
        let path = BatchTree::new(&self.leaves).proof(&[index as usize]);
        let previous = record.actions[place].previous_integrity;
        (placed[place], index, path, previous)
    }
}

#[derive(Clone, Copy)]
struct Object {
    id: Id,
    integrity: Hash,
    version: u64,
    sequence: u64,
}

pub(crate) struct Honest {
    rng: Rng,
    pub(crate) batches: Vec<Batch>,
    keys: Vec<(SigningKey, KeyTerm)>,
    anchored: BTreeMap<u64, Hash>,
    /// Anchored checkpoints that the watchtower has not read yet.
    news: Vec<SignedCheckpoint>,
    frontier: TreeFrontier,
    /// Roots of the log tree, by batch count.
    roots: Vec<Hash>,
    objects: Vec<Object>,
    sequence: u64,
    head: Hash,
    time_ms: u64,
    sealed_at_ms: u64,
}

fn domain() -> Domain {
    Domain {
        chain_id: 31_337,
        verifying_contract: Address([0xcc; 20]),
    }
}

impl Honest {
    pub(crate) fn new(mut rng: Rng) -> Self {
        let key = rng.key();
        let frontier = TreeFrontier::default();
        let roots = vec![frontier.root()];
        Self {
            keys: vec![(key.clone(), KeyTerm::only(key.address()))],
            anchored: BTreeMap::from([(0, roots[0])]),
            rng,
            batches: Vec::new(),
            news: Vec::new(),
            frontier,
            roots,
            objects: Vec::new(),
            sequence: 0,
            head: domain().separator(),
            time_ms: START_MS,
            sealed_at_ms: START_MS,
        }
    }

    pub(crate) fn batch(&self, number: u64) -> &Batch {
        &self.batches[usize::try_from(number).unwrap()]
    }

    /// State of the contract.
    pub(crate) fn trust(&self) -> ContractView {
        ContractView {
            keys: self.keys.iter().map(|(_, term)| *term).collect(),
            anchored: self.anchored.clone(),
            evidence_age_s: EVIDENCE_AGE_S,
            now_s: self.time_ms / 1_000,
            ..ContractView::new(domain(), Address::ZERO)
        }
    }

    pub(crate) fn take_anchored(&mut self) -> Vec<SignedCheckpoint> {
        std::mem::take(&mut self.news)
    }

    /// The checkpoint over the first `batches` batches, signed now.
    pub(crate) fn checkpoint(&self, batches: u64) -> SignedCheckpoint {
        let last = self.batch(batches - 1).signed.header;
        let checkpoint = Checkpoint {
            batches,
            sequence: last.last_sequence(),
            head: last.head,
            history: self.roots[usize::try_from(batches).unwrap()],
            state: Hash::ZERO,
            issued_at_ms: self.time_ms.max(last.sealed_at_ms),
        };
        checkpoint.sign(&domain().separator(), self.key_of(batches - 1))
    }

    fn key_of(&self, batch: u64) -> &SigningKey {
        let mut keys = self.keys.iter().rev();
        &keys.find(|(_, term)| term.from_batch <= batch).unwrap().0
    }

    /// One step of a sequencer or its operator.
    pub(crate) fn go_on(&mut self) {
        self.time_ms += self.rng.below(3) * self.rng.below(90_000);
        match self.rng.below(8) {
            0 => self.rotate(),
            1 | 2 => self.anchor(),
            _ => self.batch_of_random_size(),
        }
    }

    /// Rotates to a new key, from the next unsigned batch on.
    fn rotate(&mut self) {
        let next = self.batches.len() as u64;
        let now_s = self.time_ms / 1_000;
        let (_, last) = self.keys.last_mut().unwrap();
        if last.from_batch >= next {
            return;
        }
        last.until_batch = next;
        last.replaced_at_s = now_s;
        let key = self.rng.key();
        let term = KeyTerm {
            from_batch: next,
            ..KeyTerm::only(key.address())
        };
        self.keys.push((key, term));
    }

    fn anchor(&mut self) {
        let anchored = *self.anchored.last_key_value().unwrap().0;
        let left = self.batches.len() as u64 - anchored;
        if left == 0 {
            return;
        }
        let batches = anchored + 1 + self.rng.below(left);
        let signed = self.checkpoint(batches);
        self.anchored.insert(batches, signed.checkpoint.history);
        self.news.push(signed);
        let now_s = self.time_ms / 1_000;
        for (_, term) in &mut self.keys {
            // The contract may record that all of a key's batches are anchored.
            if term.until_batch <= batches && term.closed_at_s == 0 && self.rng.below(2) == 0 {
                term.closed_at_s = now_s;
            }
        }
    }

    pub(crate) fn batch_of_random_size(&mut self) {
        let most = BATCH_ACTIONS_MAX as u64;
        let count = match self.rng.below(12) {
            0 => most,
            1 => 1 + self.rng.below(most),
            2 => 1,
            _ => 1 + self.rng.below(40),
        };
        let number = self.batches.len() as u64;
        let first_sequence = self.sequence + 1;
        let mut records = Vec::new();
        let mut leaves = Vec::new();
        while (leaves.len() as u64) < count {
            self.time_ms += self.rng.below(3);
            let actions = 1 + self.rng.below(count - leaves.len() as u64);
            let record = self.request(number, leaves.len(), actions);
            leaves.extend(record.leaves(&record.hashes()));
            records.push(record);
        }
        let previous_head = self.head;
        self.head = leaves
            .iter()
            .fold(previous_head, |head, leaf| chain::next_head(&head, leaf));
        self.sealed_at_ms = self.sealed_at_ms.max(self.time_ms + self.rng.below(3));
        let header = BatchHeader {
            number,
            first_sequence,
            count: u32::try_from(count).unwrap(),
            previous_head,
            head: self.head,
            root: BatchTree::new(&leaves).root(),
            history: self.frontier.root(),
            state: Hash::ZERO,
            sealed_at_ms: self.sealed_at_ms,
        };
        let signed = header.sign(&domain().separator(), self.key_of(number));
        // A sequencer that proves nothing does not need the nodes.
        drop(self.frontier.append(log_tree::leaf(&header.hash())));
        self.roots.push(self.frontier.root());
        self.batches.push(Batch {
            signed,
            leaves,
            records,
        });
    }

    /// A signed request with `done` successful actions, and some failed ones between them.
    fn request(&mut self, number: u64, first_leaf: usize, done: u64) -> RequestRecord<'static> {
        let signer = self.rng.key();
        let mut record = RequestRecord {
            batch_number: number,
            first_sequence: self.sequence + 1,
            first_leaf_index: u32::try_from(first_leaf).unwrap(),
            timestamp_ms: self.time_ms,
            organization_id: self.id(Prefix::Organization),
            wallet_id: self.id(Prefix::Wallet),
            head: RequestHead {
                signer: signer.address(),
                nonce: self.rng.below(1_000_000),
                deadline_s: self.time_ms.div_ceil(1_000) + self.rng.below(3),
                atomic: false,
            },
            signature: Signature([0; 65]),
            salt_seed: keccak(&self.rng.next().to_be_bytes()),
            actions: Vec::new(),
            failed: Vec::new(),
        };
        let mut index = 0;
        while (record.actions.len() as u64) < done {
            if self.rng.below(5) == 0 {
                let action_hash = keccak(&self.rng.next().to_be_bytes());
                record.failed.push(FailedAction { index, action_hash });
            } else {
                record.actions.push(self.action(index));
            }
            index += 1;
        }
        let hashes = record.action_hashes().unwrap();
        let digest = record.head.digest(&domain().separator(), &hashes);
        record.signature = signer.sign(&digest);
        self.place(&mut record);
        record
    }

    /// A mint, or an action on an existing object.
    fn action(&mut self, index: u16) -> ActionRecord<'static> {
        let is_mint = self.objects.is_empty() || self.rng.below(3) == 0;
        let (kind, resource) = if is_mint {
            let id = self.id(Prefix::Object);
            self.objects.push(Object {
                id,
                integrity: Hash::ZERO,
                version: 0,
                sequence: 0,
            });
            (Kind::Mint, id)
        } else {
            (Kind::Update, self.rng.pick(&self.objects).id)
        };
        let payload = format!("{{\"n\":{}}}", self.rng.next());
        ActionRecord {
            index,
            kind,
            target: Cow::Owned(resource.to_string()),
            payload: Cow::Owned(payload),
            disclosed: None,
            resource,
            version: 0,
            previous_integrity: Hash::ZERO,
            previous_sequence: 0,
        }
    }

    /// Executes the request: each action extends its object in turn.
    fn place(&mut self, record: &mut RequestRecord<'static>) {
        let hashes = record.hashes();
        for (action, hashes) in record.actions.iter_mut().zip(hashes) {
            self.sequence += 1;
            let mut objects = self.objects.iter_mut();
            let object = objects.find(|object| object.id == action.resource).unwrap();
            action.previous_integrity = object.integrity;
            action.previous_sequence = object.sequence;
            action.version = object.version + 1;
            object.integrity = chain::next_integrity(&object.integrity, &hashes.content);
            object.version = action.version;
            object.sequence = self.sequence;
        }
    }

    fn id(&mut self, prefix: Prefix) -> Id {
        Id::of_hash(prefix, &keccak(&self.rng.next().to_be_bytes()))
    }
}
