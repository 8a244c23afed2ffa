//! Sample log: requests of updates, sealed in batches that are signed and chained as the protocol requires.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kedge_protocol::action::{Kind, RequestHead};
use kedge_protocol::batch::{BatchHeader, SignedBatch};
use kedge_protocol::chain::{first_integrity, next_head, next_integrity};
use kedge_protocol::eip712::Domain;
use kedge_protocol::log_tree::{self, TreeFrontier};
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::record::{ActionRecord, RequestRecord};
use kedge_protocol::signature::{Signature, SigningKey};
use kedge_protocol::{Address, Hash, Id, Prefix};

use crate::env::Env;
use crate::env::simulated::SimulatedEnv;
use crate::{
    FileLog, Frame, LogOptions, LogPosition, LogRecovery, ReleaseMark, SegmentCompression,
    SideEntry, SideKeys,
};

pub(crate) const START_MS: u64 = 1_700_000_000_000;

pub(crate) fn domain() -> Domain {
    Domain {
        chain_id: 31337,
        verifying_contract: Address([7; 20]),
    }
}

pub(crate) fn key() -> SigningKey {
    SigningKey::from_bytes(&[1; 32]).unwrap()
}

pub(crate) fn keys() -> SideKeys {
    SideKeys::one(3, [9; 32])
}

pub(crate) fn dir() -> PathBuf {
    PathBuf::from("/log")
}

/// Small segments, so that tests roll often.
pub(crate) fn options() -> LogOptions {
    LogOptions {
        first_segment_bytes: 32 * 1024,
        segment_bytes: 32 * 1024,
        cache_bytes: 64 * 1024,
        compression: SegmentCompression {
            level: 1,
            fast_level: -7,
            block_bytes: 1024,
        },
    }
}

/// Segments that grow from two pages.
pub(crate) fn growing() -> LogOptions {
    LogOptions {
        first_segment_bytes: 8 * 1024,
        ..options()
    }
}

pub(crate) fn open(
    env: &SimulatedEnv,
    released: ReleaseMark,
) -> Result<(FileLog, LogRecovery), crate::LogOpenError> {
    let env: Arc<dyn Env> = Arc::new(env.clone());
    open_at(env, &dir(), released)
}

pub(crate) fn open_at(
    env: Arc<dyn Env>,
    dir: &Path,
    released: ReleaseMark,
) -> Result<(FileLog, LogRecovery), crate::LogOpenError> {
    FileLog::open(env, dir, domain().separator(), &keys(), released, options())
}

fn id(prefix: Prefix, number: u64) -> Id {
    let mut bytes = [0; 16];
    bytes[8..].copy_from_slice(&number.to_be_bytes());
    bytes[0] = 3;
    Id { prefix, bytes }
}

/// Produces frames that continue each other. The same calls give the same frames.
#[derive(Clone)]
pub(crate) struct Writer {
    pub(crate) next_sequence: u64,
    pub(crate) next_batch: u64,
    head: Hash,
    tree: TreeFrontier,
}

impl Writer {
    pub(crate) fn new() -> Self {
        Self {
            next_sequence: 1,
            next_batch: 0,
            head: domain().separator(),
            tree: TreeFrontier::of_peaks(0, Vec::new()).unwrap(),
        }
    }

    /// A request of this many mints, without a valid signature.
    pub(crate) fn request(
        &mut self,
        actions: usize,
        payload: &str,
        first_leaf_index: u32,
    ) -> RequestRecord<'static> {
        let first_sequence = self.next_sequence;
        let template = id(Prefix::Template, 1);
        let mut record = RequestRecord {
            batch_number: self.next_batch,
            first_sequence,
            first_leaf_index,
            timestamp_ms: START_MS + first_sequence,
            organization_id: id(Prefix::Organization, 1),
            wallet_id: id(Prefix::Wallet, 1),
            head: RequestHead {
                signer: key().address(),
                nonce: first_sequence,
                deadline_s: START_MS,
                atomic: false,
            },
            signature: Signature([27; 65]),
            salt_seed: Hash([first_sequence as u8; 32]),
            actions: (0..actions)
                .map(|index| ActionRecord {
                    index: index as u16,
                    kind: Kind::Mint,
                    target: Cow::Owned(template.to_string()),
                    payload: Cow::Owned(
                        payload.replace('#', &(first_sequence + index as u64).to_string()),
                    ),
                    disclosed: None,
                    resource: id(Prefix::Object, 0),
                    version: 1,
                    previous_integrity: Hash::ZERO,
                    previous_sequence: 0,
                })
                .collect(),
            failed: Vec::new(),
        };
        for (action, hashes) in record.hashes().iter().enumerate() {
            record.actions[action].resource = Id::of_hash(
                Prefix::Object,
                &next_integrity(&hashes.content, &Hash::ZERO),
            );
            assert_ne!(first_integrity(&hashes.content, 0), Hash::ZERO);
        }
        let hashes = record.action_hashes().unwrap();
        record.signature = key().sign(&record.head.digest(&domain().separator(), &hashes));
        self.next_sequence += actions as u64;
        record
    }

    /// Seals requests as the next batch.
    pub(crate) fn batch(&mut self, requests: &[RequestRecord<'_>]) -> (SignedBatch, Vec<Hash>) {
        let leaves: Vec<Hash> = requests
            .iter()
            .flat_map(|record| record.leaves(&record.hashes()))
            .collect();
        let previous_head = self.head;
        self.head = leaves
            .iter()
            .fold(self.head, |head, leaf| next_head(&head, leaf));
        let header = BatchHeader {
            number: self.next_batch,
            first_sequence: requests[0].first_sequence,
            count: leaves.len() as u32,
            previous_head,
            head: self.head,
            root: BatchTree::new(&leaves).root(),
            history: self.tree.root(),
            state: Hash::ZERO,
            sealed_at_ms: START_MS + self.next_sequence,
        };
        let batch = header.sign(&domain().separator(), &key());
        self.tree.append(log_tree::leaf(&header.hash()));
        self.next_batch += 1;
        (batch, leaves)
    }

    /// A frame of this many batches of two requests each, with side entries if requested.
    pub(crate) fn frame(&mut self, batches: usize, actions: usize, side: usize) -> Frame {
        let mut frame = Frame::new();
        for _ in 0..batches {
            let one = self.request(actions, r##"{"n":"#","text":"the quick brown fox"}"##, 0);
            let two = self.request(1, r##"{"n":"#"}"##, actions as u32);
            let (batch, leaves) = self.batch(&[one.clone(), two.clone()]);
            frame.push_request(&one).unwrap();
            frame.push_request(&two).unwrap();
            frame.push_batch(&batch, &leaves).unwrap();
        }
        for number in 0..side {
            frame.push_side(entry(self.next_sequence, number));
        }
        frame
    }
}

pub(crate) fn entry(sequence: u64, number: usize) -> SideEntry {
    SideEntry {
        table: number as u16,
        key: sequence.to_be_bytes().to_vec(),
        value: (!number.is_multiple_of(3)).then(|| vec![number as u8; number * 7]),
    }
}

/// The appended frames of a log, for comparison with a reader's.
pub(crate) fn appended_frames(log: &FileLog) -> Vec<(u64, u64, Hash)> {
    log.reader()
        .frames(1)
        .map(|frame| {
            let frame = frame.unwrap();
            let header = frame.header();
            (header.number, header.first_sequence, header.hash())
        })
        .collect()
}

pub(crate) fn start() -> LogPosition {
    LogPosition::start(&domain().separator())
}
