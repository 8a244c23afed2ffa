//! A small sequencer without rules: it makes a log that is right in every hash and signature, and
//! the rows that go with it, on a real store.

use std::borrow::Cow;
use std::path::Path;

use kedge_protocol::action::{Kind, RequestHead};
use kedge_protocol::batch::{BatchHeader, SignedBatch};
use kedge_protocol::chain::{Leaf, next_head, next_integrity};
use kedge_protocol::eip712::Domain;
use kedge_protocol::log_tree::{self, Frontier};
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::record::{ActionRecord, FailedAction, RequestRecord};
use kedge_protocol::resource::{Object, ObjectStatus, Trace};
use kedge_protocol::signature::{Signature, SigningKey};
use kedge_protocol::{Address, Hash, Id, Prefix};
use kedge_storage::verify::Plan;
use kedge_storage::{Group, LogHead, OpenError, Options, Store};

/// The time of the first batch.
pub(crate) const START_MS: u64 = 1_790_000_000_000;

pub(crate) fn domain() -> Domain {
    Domain {
        chain_id: 31_337,
        verifying_contract: Address([0xcc; 20]),
    }
}

pub(crate) fn sequencer() -> SigningKey {
    SigningKey::from_bytes(&[0x51; 32]).unwrap()
}

pub(crate) fn signer() -> SigningKey {
    SigningKey::from_bytes(&[0xa1; 32]).unwrap()
}

pub(crate) fn id(prefix: Prefix, number: u64) -> Id {
    Id::of_hash(prefix, &kedge_protocol::hash::keccak(&number.to_be_bytes()))
}

pub(crate) fn options(path: &Path) -> Options {
    Options {
        path: path.to_owned(),
        domain: domain(),
        sequencer: sequencer().address(),
        high_water_path: None,
        block_cache_bytes: 8 << 20,
        memtable_bytes: 16 << 20,
        wal_bytes_max: 32 << 20,
        read_only: false,
    }
}

/// Everything is verified, on more than one thread.
pub(crate) fn plan() -> Plan {
    Plan {
        threads: 2,
        ..Plan::new(domain(), sequencer().address())
    }
}

pub(crate) fn open(path: &Path) -> Result<Store, OpenError> {
    Store::open(options(path))
}

/// What one action is to do.
#[derive(Clone)]
pub(crate) enum Step {
    /// Makes an object, owned by wallet `owner`.
    Mint { owner: u64 },
    /// Changes the object that was minted `object`-th.
    Update { object: usize },
    /// Gives the object that was minted `object`-th to wallet `owner`.
    Transfer { object: usize, owner: u64 },
}

/// Objects after an action, with the owner before where it changed.
type Touched = Vec<(Object, Option<Id>)>;

/// The log so far, and the objects in it.
pub(crate) struct Log {
    pub(crate) head: LogHead,
    pub(crate) tree: Frontier,
    pub(crate) objects: Vec<Object>,
    pub(crate) organization: Id,
    pub(crate) template: Id,
    /// Bytes of each action's payload.
    pub(crate) payload_bytes: usize,
    pub(crate) nonce: u64,
    /// Requests are signed by another key than the one that they name.
    pub(crate) forged: bool,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            head: LogHead::empty(&domain()),
            tree: Frontier::default(),
            objects: Vec::new(),
            organization: id(Prefix::Organization, 1),
            template: id(Prefix::Template, 1),
            payload_bytes: 40,
            nonce: 0,
            forged: false,
        }
    }
}

impl Log {
    fn payload(&self, sequence: u64) -> String {
        let filler = "x".repeat(self.payload_bytes.saturating_sub(24));
        format!("{{\"n\":{sequence:012},\"f\":\"{filler}\"}}")
    }

    /// Records, contents and touched objects (with their owners before) of one request.
    fn request(
        &mut self,
        steps: &[Step],
        first_leaf_index: u32,
    ) -> (RequestRecord<'static>, Vec<Hash>, Touched) {
        self.nonce += 1;
        let timestamp_ms = START_MS + self.head.batches * 10;
        let first_sequence = self.head.sequence + 1 + u64::from(first_leaf_index);
        let mut record = RequestRecord {
            batch_number: self.head.batches,
            first_sequence,
            first_leaf_index,
            timestamp_ms,
            organization_id: self.organization,
            wallet_id: id(Prefix::Wallet, 1),
            head: RequestHead {
                signer: signer().address(),
                nonce: self.nonce,
                deadline_s: timestamp_ms / 1000 + 600,
                atomic: false,
            },
            signature: Signature([0; 65]),
            salt_seed: kedge_protocol::hash::keccak(&self.nonce.to_be_bytes()),
            actions: Vec::new(),
            failed: Vec::new(),
        };
        for (i, step) in steps.iter().enumerate() {
            let sequence = first_sequence + i as u64;
            let (kind, target) = match step {
                Step::Mint { .. } => (Kind::Mint, self.template),
                Step::Update { object } => (Kind::Update, self.objects[*object].id),
                Step::Transfer { object, .. } => (Kind::Transfer, self.objects[*object].id),
            };
            record.actions.push(ActionRecord {
                index: i as u16,
                kind,
                target: Cow::Owned(target.to_string()),
                payload: Cow::Owned(self.payload(sequence)),
                disclosed: None,
                resource: target,
                version: 0,
                previous_integrity: Hash::ZERO,
                previous_sequence: 0,
            });
        }
        record.failed.push(FailedAction {
            index: steps.len() as u16,
            action_hash: kedge_protocol::hash::keccak(b"refused"),
        });
        let digest = record
            .head
            .digest(&domain().separator(), &record.action_hashes().unwrap());
        let key = if self.forged { sequencer() } else { signer() };
        record.signature = key.sign(&digest);
        let contents: Vec<_> = record.actions.iter().map(|a| record.content(a)).collect();
        let mut touched = Vec::new();
        for (i, step) in steps.iter().enumerate() {
            let sequence = first_sequence + i as u64;
            let change = self.apply(step, &contents[i], sequence, timestamp_ms);
            let action = &mut record.actions[i];
            action.resource = change.0.id;
            action.version = change.0.trace.version;
            (action.previous_integrity, action.previous_sequence) = (change.2, change.3);
            touched.push((change.0, change.1));
        }
        (record, contents, touched)
    }

    fn apply(
        &mut self,
        step: &Step,
        content: &Hash,
        sequence: u64,
        timestamp_ms: u64,
    ) -> (Object, Option<Id>, Hash, u64) {
        let (place, owner) = match step {
            Step::Mint { owner } => {
                self.objects.push(Object {
                    id: Id::made_by(Prefix::Object, content, 0),
                    organization_id: self.organization,
                    template_id: self.template,
                    variation_id: None,
                    owner_id: id(Prefix::Wallet, *owner),
                    owner_address: signer().address(),
                    properties: self.payload(sequence),
                    status: ObjectStatus::Active,
                    trace: Trace::NEW,
                });
                (self.objects.len() - 1, None)
            }
            Step::Update { object } => (*object, None),
            Step::Transfer { object, owner } => (*object, Some(id(Prefix::Wallet, *owner))),
        };
        let object = &mut self.objects[place];
        let before = object.trace;
        let owner_before = owner.map(|owner| std::mem::replace(&mut object.owner_id, owner));
        object.trace = before.next(content);
        object.trace.place(sequence, timestamp_ms);
        (
            object.clone(),
            owner_before,
            before.integrity,
            before.sequence,
        )
    }

    /// One batch of these requests, in a group with everything that belongs to it.
    pub(crate) fn batch(&mut self, requests: &[Vec<Step>]) -> (Group, SignedBatch) {
        let mut group = Group::new();
        let mut leaves = Vec::new();
        let mut head = self.head.head;
        for steps in requests {
            let (record, contents, touched) = self.request(steps, leaves.len() as u32);
            group.put_request(&record, &contents);
            for ((action, content), sequence) in record
                .actions
                .iter()
                .zip(&contents)
                .zip(record.first_sequence..)
            {
                let leaf = Leaf {
                    sequence,
                    timestamp_ms: record.timestamp_ms,
                    content: *content,
                    integrity: next_integrity(&action.previous_integrity, content),
                }
                .hash();
                head = next_head(&head, &leaf);
                leaves.push(leaf);
            }
            for (object, owner_before) in touched {
                group.put_object(&object, owner_before);
            }
        }
        let header = BatchHeader {
            number: self.head.batches,
            first_sequence: self.head.sequence + 1,
            count: leaves.len() as u32,
            previous_head: self.head.head,
            head,
            root: BatchTree::new(&leaves).root(),
            history: self.tree.root(),
            state: Hash::ZERO,
            sealed_at_ms: START_MS + self.head.batches * 10 + 5,
        };
        let batch = header.sign(&domain().separator(), &sequencer());
        group.put_batch(&batch, &leaves);
        for node in self.tree.append(log_tree::leaf(&header.hash())) {
            group.put_node(&node);
        }
        self.head = LogHead {
            batches: header.number + 1,
            sequence: header.last_sequence(),
            head,
            last_sealed_at_ms: header.sealed_at_ms,
        };
        group.put_head(&self.head);
        (group, batch)
    }

    /// Makes a batch and commits and releases it.
    pub(crate) fn commit(&mut self, store: &Store, requests: &[Vec<Step>]) -> SignedBatch {
        let (group, batch) = self.batch(requests);
        store.commit(group).unwrap();
        store.release(&self.head).unwrap();
        batch
    }

    /// `count` batches, each with a request that mints two objects and one that changes the first.
    pub(crate) fn commit_many(&mut self, store: &Store, count: u64) {
        for _ in 0..count {
            let mints = vec![Step::Mint { owner: 1 }, Step::Mint { owner: 2 }];
            let object = 0;
            let changes = vec![
                Step::Update { object },
                Step::Transfer {
                    object,
                    owner: self.head.sequence % 3,
                },
            ];
            self.commit(store, &[mints, changes]);
        }
    }
}

/// The store's files through RocksDB itself, as somebody who tampers would open them.
pub(crate) fn raw(path: &Path) -> rocksdb::DB {
    let options = rocksdb::Options::default();
    let names = rocksdb::DB::list_cf(&options, path).unwrap();
    rocksdb::DB::open_cf(&options, path, names).unwrap()
}

/// Changes one stored row.
pub(crate) fn tamper(path: &Path, table: &str, key: &[u8], change: impl FnOnce(&mut Vec<u8>)) {
    let db = raw(path);
    let family = db.cf_handle(table).unwrap();
    let mut value = db.get_cf(family, key).unwrap().unwrap();
    change(&mut value);
    db.put_cf(family, key, value).unwrap();
}

/// Copies a directory of plain files. A file that goes meanwhile is one that a living store has
/// no use for any more.
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        match std::fs::copy(entry.path(), to.join(entry.file_name())) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            copied => {
                copied.unwrap();
            }
        }
    }
}
