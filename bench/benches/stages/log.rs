//! Benches of the log alone: appending a frame of 500 updates, reading a request from an open and from a sealed
//! segment, checking batches. The files are in the temporary directory, which TMPDIR can move to another disk.

use std::sync::Arc;

use divan::Bencher;
use divan::counter::ItemsCount;
use kedge_log::env::RealEnv;
use kedge_log::verify::{LogVerifyPlan, verify};
use kedge_log::{FileLog, Frame, Log, LogOptions, LogReader, ReleaseMark, SideKeys};
use kedge_protocol::Hash;
use kedge_protocol::batch::{BatchHeader, SignedBatch};
use kedge_protocol::chain::next_head;
use kedge_protocol::log_tree::{self, TreeFrontier};
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::record::RequestRecord;
use tempfile::TempDir;

use crate::sample::{self, START_MS, Sample};

/// Actions per frame.
const ACTIONS: usize = 500;
/// Frames in the log that is read.
const FRAMES: usize = 64;
/// Cache for a few decompressed blocks only, so that most reads decompress.
const FEW_BLOCKS: u64 = 1024 * 1024;
/// Small enough to fill several segments.
const SEGMENT_BYTES: u64 = 4 * 1024 * 1024;

fn open(directory: &TempDir, options: LogOptions) -> FileLog {
    let opened = FileLog::open(
        Arc::new(RealEnv),
        directory.path(),
        sample::domain().separator(),
        &SideKeys::none(),
        ReleaseMark::default(),
        options,
    );
    opened.expect("a log").0
}

/// Requests of the sample, sealed in consecutive batches.
struct Chain<'s> {
    sample: &'s Sample,
    number: u64,
    head: Hash,
    tree: TreeFrontier,
}

/// The content of a frame.
type Sealed<'s> = (RequestRecord<'s>, SignedBatch, Vec<Hash>);

impl<'s> Chain<'s> {
    fn new(sample: &'s Sample) -> Self {
        Self {
            sample,
            number: 0,
            head: sample::domain().separator(),
            tree: TreeFrontier::of_peaks(0, Vec::new()).expect("an empty tree"),
        }
    }

    fn next(&mut self) -> Sealed<'s> {
        let first_sequence = 1 + self.number * ACTIONS as u64;
        let record = self.sample.record(first_sequence);
        let leaves = record.leaves(&record.hashes());
        let previous_head = self.head;
        let heads = leaves.iter();
        self.head = heads.fold(previous_head, |head, leaf| next_head(&head, leaf));
        let header = BatchHeader {
            number: self.number,
            first_sequence,
            count: ACTIONS as u32,
            previous_head,
            head: self.head,
            root: BatchTree::new(&leaves).root(),
            history: self.tree.root(),
            state: Hash::ZERO,
            sealed_at_ms: START_MS,
        };
        self.tree.append(log_tree::leaf(&header.hash()));
        self.number += 1;
        let batch = header.sign(&sample::domain().separator(), &sample::key());
        (record, batch, leaves)
    }
}

fn append(log: &mut FileLog, (record, batch, leaves): &Sealed<'_>) {
    let mut frame = Frame::new();
    frame.push_request(record).expect("the next request");
    frame.push_batch(batch, leaves).expect("the next batch");
    log.append(&frame).expect("room on the disk");
}

/// Packs a request and writes its frame, without a sync.
#[divan::bench(sample_size = 1, sample_count = 200)]
fn append_frame(bencher: Bencher<'_, '_>) {
    appended(bencher, false);
}

/// Packs a request, writes its frame, and syncs.
#[divan::bench(sample_size = 1, sample_count = 200)]
fn append_frame_and_sync(bencher: Bencher<'_, '_>) {
    appended(bencher, true);
}

fn appended(bencher: Bencher<'_, '_>, sync: bool) {
    let sample = Sample::new(ACTIONS);
    let directory = tempfile::tempdir().expect("a directory");
    let mut log = open(&directory, LogOptions::default());
    let (durability, maintenance) = (log.durability(), log.maintenance());
    let mut chain = Chain::new(&sample);
    bencher
        .counter(ItemsCount::new(ACTIONS))
        .with_inputs(|| {
            maintenance.prepare().expect("room on the disk");
            chain.next()
        })
        .bench_local_values(|sealed| {
            append(&mut log, &sealed);
            if sync {
                durability.sync().expect("a disk that syncs");
            }
        });
}

/// A log with sealed segments, and the number of actions in these.
fn written(directory: &TempDir, cache_bytes: u64) -> (FileLog, u64) {
    let sample = Sample::new(ACTIONS);
    let options = LogOptions {
        segment_bytes: SEGMENT_BYTES,
        cache_bytes,
        ..LogOptions::default()
    };
    let mut log = open(directory, options);
    let mut chain = Chain::new(&sample);
    for _ in 0..FRAMES {
        append(&mut log, &chain.next());
    }
    log.durability().sync().expect("a disk that syncs");
    let mut actions = 0;
    while let Some(sealed) = log.maintenance().seal_next().expect("room on the disk") {
        actions += sealed.actions;
    }
    (log, actions)
}

/// Reads a request by the sequence of one of its actions, from the open segment.
#[divan::bench]
fn read_from_open_segment(bencher: Bencher<'_, '_>) {
    let directory = tempfile::tempdir().expect("a directory");
    let (log, sealed) = written(&directory, FEW_BLOCKS);
    let count = log.position().next_sequence - 1 - sealed;
    read(bencher, &log.reader(), sealed + 1, count);
}

/// The same from sealed segments, with a block cache of so many bytes.
#[divan::bench(args = [FEW_BLOCKS, 64 * 1024 * 1024])]
fn read_from_sealed_segments(bencher: Bencher<'_, '_>, cache_bytes: u64) {
    let directory = tempfile::tempdir().expect("a directory");
    let (log, sealed) = written(&directory, cache_bytes);
    read(bencher, &log.reader(), 1, sealed);
}

fn read(bencher: Bencher<'_, '_>, reader: &LogReader, first: u64, count: u64) {
    let mut place = 0;
    bencher.counter(ItemsCount::new(1_usize)).bench_local(|| {
        place = (place + 7_919) % count;
        let request = reader.request_at(first + place);
        request.expect("a log that holds").expect("a request")
    });
}

/// Checks batches in sealed segments on one thread: everything except the signatures of requests.
#[divan::bench]
fn verify_batches(bencher: Bencher<'_, '_>) {
    let directory = tempfile::tempdir().expect("a directory");
    let (log, _) = written(&directory, FEW_BLOCKS);
    let reader = log.reader();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let pool = pool.expect("a thread");
    bencher
        .counter(ItemsCount::new(FRAMES * ACTIONS))
        .bench_local(|| {
            let summary = pool.install(|| verify(&reader, &LogVerifyPlan::default(), |_| {}));
            assert_eq!(summary.expect("a log that holds").batches, FRAMES as u64);
        });
}
