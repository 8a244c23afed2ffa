//! A small sequencer without rules: it makes a log with valid hashes and signatures, and its rows, on a real store.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use kedge_protocol::action::{Kind, RequestHead};
use kedge_protocol::batch::{BatchHeader, SignedBatch};
use kedge_protocol::chain::{LogLeaf, next_head, next_integrity};
use kedge_protocol::eip712::Domain;
use kedge_protocol::log_tree::{self, TreeFrontier};
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::record::{ActionRecord, FailedAction, RequestRecord};
use kedge_protocol::resource::{Object, ObjectStatus, ResourceTrace};
use kedge_protocol::signature::{Signature, SigningKey};
use kedge_protocol::{Address, Hash, Id, Prefix};
use kedge_storage::verify::StoreVerifyPlan;
use kedge_storage::{LogHead, LogOptions, SideKeys, Store, StoreOptions, WriteGroup};

pub(crate) use crate::replay::{apply_frames, open, open_where, open_with};

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

/// Directory of the rows in a data directory.
pub(crate) fn rows_path(data: &Path) -> PathBuf {
    data.join("store")
}

/// Directory of the log in a data directory.
pub(crate) fn log_path(data: &Path) -> PathBuf {
    data.join("log")
}

/// Options for a store with rows and log in one data directory. The log's segments are small, so that there are
/// several.
pub(crate) fn options(data: &Path) -> StoreOptions {
    let mut segments = LogOptions {
        segment_bytes: 64 << 10,
        ..LogOptions::default()
    };
    segments.compression.block_bytes = 8 << 10;
    StoreOptions {
        side_keys: SideKeys::one(1, [1; 32]),
        memtable_bytes: 16 << 20,
        segments,
        ..StoreOptions::of_store(&rows_path(data), domain(), sequencer().address())
    }
}

/// Options for a full verification on more than one thread.
pub(crate) fn plan() -> StoreVerifyPlan {
    StoreVerifyPlan {
        threads: 2,
        ..StoreVerifyPlan::new(domain(), sequencer().address())
    }
}

/// Step of one action.
#[derive(Clone)]
pub(crate) enum Step {
    /// Mints an object, owned by wallet `owner`.
    Mint { owner: u64 },
    /// Changes the `object`-th minted object.
    Update { object: usize },
    /// Gives the `object`-th minted object to wallet `owner`.
    Transfer { object: usize, owner: u64 },
}

impl Step {
    /// The number of the object's wallet afterwards; 0 if that does not change.
    fn owner(&self) -> u64 {
        match self {
            Self::Mint { owner } | Self::Transfer { owner, .. } => *owner,
            Self::Update { .. } => 0,
        }
    }
}

/// Objects after an action, with the previous owner if it changed.
pub(crate) type Touched = Vec<(Object, Option<Id>)>;

/// An object's last action before this one: its integrity, and its sequence.
pub(crate) type Before = (Hash, u64);

/// The log so far, and the objects in it.
#[derive(Clone)]
pub(crate) struct Log {
    pub(crate) head: LogHead,
    pub(crate) tree: TreeFrontier,
    pub(crate) objects: Vec<Object>,
    pub(crate) organization: Id,
    pub(crate) template: Id,
    /// Bytes of each action's payload.
    pub(crate) payload_bytes: usize,
    pub(crate) nonce: u64,
    /// Requests are signed by another key than the stated one.
    pub(crate) forged: bool,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            head: LogHead::empty(&domain()),
            tree: TreeFrontier::default(),
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
    fn payload(&self, sequence: u64, owner: u64) -> String {
        let filler = "x".repeat(self.payload_bytes.saturating_sub(31));
        format!("{{\"n\":{sequence:012},\"o\":{owner},\"f\":\"{filler}\"}}")
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
                payload: Cow::Owned(self.payload(sequence, step.owner())),
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
            let (object, owner_before, before) = self.apply(step, &record, i, &contents[i]);
            let action = &mut record.actions[i];
            action.resource = object.id;
            action.version = object.trace.version;
            (action.previous_integrity, action.previous_sequence) = before;
            touched.push((object, owner_before));
        }
        (record, contents, touched)
    }

    /// Applies the step of a request's `i`-th action.
    pub(crate) fn apply(
        &mut self,
        step: &Step,
        record: &RequestRecord<'_>,
        i: usize,
        content: &Hash,
    ) -> (Object, Option<Id>, Before) {
        let (place, owner) = match step {
            Step::Mint { owner } => {
                self.objects.push(Object {
                    id: Id::made_by(Prefix::Object, content, 0),
                    organization_id: record.organization_id,
                    template_id: self.template,
                    variation_id: None,
                    owner_id: id(Prefix::Wallet, *owner),
                    owner_address: signer().address(),
                    properties: record.actions[i].payload.to_string(),
                    status: ObjectStatus::Active,
                    trace: ResourceTrace::NEW,
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
        let sequence = record.first_sequence + i as u64;
        object.trace.place(sequence, record.timestamp_ms);
        (
            object.clone(),
            owner_before,
            (before.integrity, before.sequence),
        )
    }

    /// One batch of these requests, in a group with all its writes.
    pub(crate) fn batch(&mut self, requests: &[Vec<Step>]) -> (WriteGroup, SignedBatch) {
        let mut group = WriteGroup::new();
        let mut leaves = Vec::new();
        let mut head = self.head.head;
        for steps in requests {
            let (record, contents, touched) = self.request(steps, leaves.len() as u32);
            for leaf in put_request(&mut group, &record, &contents, touched) {
                head = next_head(&head, &leaf);
                leaves.push(leaf);
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
        self.put_batch(&mut group, &batch, &leaves);
        (group, batch)
    }

    /// Adds a sealed batch, and the log's head after it.
    pub(crate) fn put_batch(
        &mut self,
        group: &mut WriteGroup,
        batch: &SignedBatch,
        leaves: &[Hash],
    ) {
        let header = &batch.header;
        group.put_batch(batch, leaves);
        for node in self.tree.append(log_tree::leaf(&header.hash())) {
            group.put_node(&node);
        }
        self.head = LogHead {
            batches: header.number + 1,
            sequence: header.last_sequence(),
            head: header.head,
            last_sealed_at_ms: header.sealed_at_ms,
        };
        group.put_head(&self.head);
    }

    /// Makes a batch and commits and releases it.
    pub(crate) fn commit(&mut self, store: &Store, requests: &[Vec<Step>]) -> SignedBatch {
        let (group, batch) = self.batch(requests);
        store.commit(group).unwrap();
        store.release(&self.head).unwrap();
        batch
    }

    /// A request that mints two objects, and one that changes the first.
    pub(crate) fn two_requests(&self) -> [Vec<Step>; 2] {
        let mints = vec![Step::Mint { owner: 1 }, Step::Mint { owner: 2 }];
        let object = 0;
        let changes = vec![
            Step::Update { object },
            Step::Transfer {
                object,
                owner: self.head.sequence % 3,
            },
        ];
        [mints, changes]
    }

    /// `count` batches, each of [`Self::two_requests`].
    pub(crate) fn commit_many(&mut self, store: &Store, count: u64) {
        for _ in 0..count {
            let requests = self.two_requests();
            self.commit(store, &requests);
        }
    }
}

/// Adds a request with all its writes; returns the leaves of its actions.
pub(crate) fn put_request(
    group: &mut WriteGroup,
    record: &RequestRecord<'_>,
    contents: &[Hash],
    touched: Touched,
) -> Vec<Hash> {
    group.put_request(record, contents);
    for (object, owner_before) in touched {
        // A log of one template, whose objects are minted one after the other.
        match object.trace.version {
            1 => group.put_mint(&object, &object.trace, object.trace.created_sequence),
            _ => group.put_object(&object, &object.trace, owner_before),
        }
    }
    let actions = record.actions.iter().zip(contents);
    let leaf = |((action, content), sequence): ((&ActionRecord<'_>, &Hash), u64)| LogLeaf {
        sequence,
        timestamp_ms: record.timestamp_ms,
        content: *content,
        integrity: next_integrity(&action.previous_integrity, content),
    };
    let leaves = actions.zip(record.first_sequence..).map(leaf);
    leaves.map(|leaf| leaf.hash()).collect()
}

/// The rows through RocksDB itself, as an attacker would open them.
pub(crate) fn raw(data: &Path) -> rocksdb::DB {
    let options = rocksdb::Options::default();
    let path = rows_path(data);
    let names = rocksdb::DB::list_cf(&options, &path).unwrap();
    rocksdb::DB::open_cf(&options, &path, names).unwrap()
}

/// Changes one stored row.
pub(crate) fn tamper(data: &Path, table: &str, key: &[u8], change: impl FnOnce(&mut Vec<u8>)) {
    let db = raw(data);
    let family = db.cf_handle(table).unwrap();
    let mut value = db.get_cf(family, key).unwrap().unwrap();
    change(&mut value);
    db.put_cf(family, key, value).unwrap();
}

/// Copies a directory and its subdirectories. A file that vanishes meanwhile is one that a running store no longer
/// needs.
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for (path, _) in files(from) {
        let target = to.join(&path);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        match std::fs::copy(from.join(&path), target) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            copied => {
                copied.unwrap();
            }
        }
    }
}

/// The files in a directory and its subdirectories, by their relative paths, with their sizes.
pub(crate) fn files(of: &Path) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    let mut folders = vec![of.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            // The file has vanished meanwhile.
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            if metadata.is_dir() {
                folders.push(entry.path());
            } else {
                let path = entry.path().strip_prefix(of).unwrap().to_owned();
                found.push((path, metadata.len()));
            }
        }
    }
    found.sort();
    found
}

/// Every file with its bytes, except RocksDB's own info log.
pub(crate) fn contents(of: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let is_diary = |path: &Path| {
        let name = path.file_name().unwrap();
        name.to_string_lossy().starts_with("LOG")
    };
    let files = files(of).into_iter().filter(|(path, _)| !is_diary(path));
    files
        .map(|(path, _)| (path.clone(), std::fs::read(of.join(path)).unwrap()))
        .collect()
}

/// Ends a store like a killed process: rows that RocksDB has not written to its files are gone.
pub(crate) fn kill(store: Store, data: &Path) {
    let place = tempfile::tempdir().unwrap();
    let living = place.path().join("living");
    // Copies its files as they were at one moment; retried if the store tidied them meanwhile.
    loop {
        let before = files(data);
        copy(data, &living);
        if files(data) == before {
            break;
        }
        std::fs::remove_dir_all(&living).unwrap();
    }
    drop(store);
    std::fs::remove_dir_all(data).unwrap();
    copy(&living, data);
}
