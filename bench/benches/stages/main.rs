//! Stages of an action's path, each on one thread: actions a second that the stage could do alone. `500` is a request
//! of 500 updates of 286 bytes, `1` one of a single update. The store of `commit` and the files of `log` are in the
//! temporary directory, which TMPDIR can move to another disk.

mod log;
mod sample;

use std::time::Duration;

use divan::counter::ItemsCount;
use divan::{AllocProfiler, Bencher, black_box};
use kedge_http::signing::bus;
use kedge_protocol::Hash;
use kedge_protocol::action::hash_actions;
use kedge_protocol::chain::{LogLeaf, next_head};
use kedge_protocol::known_signer::KnownSigner;
use kedge_protocol::merkle::{BatchTree, root_of_proof};
use kedge_rules::object;
use kedge_rules::sequencer::{LogTip, Sequencer, SequencerInput};
use kedge_storage::{Store, WriteGroup};
use mimalloc::MiMalloc;

use crate::sample::{START_MS, Sample};

/// The server's allocator, with its calls counted: the table shows the memory that each stage requests.
#[global_allocator]
static ALLOCATOR: AllocProfiler<MiMalloc> = AllocProfiler::new(MiMalloc);

/// Actions per request.
const SIZES: [usize; 2] = [500, 1];
/// Keys that the sequencer caches.
const RECENT_KEYS_MAX: usize = 1_000_000;

/// Long enough for stable figures.
const MEASURE: Duration = Duration::from_millis(500);

fn main() {
    divan::Divan::default()
        .min_time(MEASURE)
        .config_with_args()
        .main();
}

/// Parses the body's JSON into actions, as the server does.
#[divan::bench(args = SIZES)]
fn a_parse(bencher: Bencher<'_, '_>, actions: usize) {
    let sample = Sample::new(actions);
    bencher
        .counter(ItemsCount::new(actions))
        .with_inputs(|| sample.body.clone())
        .bench_values(|body| match actions {
            1 => bus::single(body).expect("an action"),
            _ => bus::batch(body).expect("a batch"),
        });
}

/// Salts, action hashes and contents of all actions, and the digest that was signed (EIP-712).
#[divan::bench(args = SIZES)]
fn b_digest(bencher: Bencher<'_, '_>, actions: usize) {
    let sample = Sample::new(actions);
    let (separator, head) = (sample::domain().separator(), sample.head);
    bencher.counter(ItemsCount::new(actions)).bench(|| {
        let texts = sample.texts();
        let signature_hash = kedge_protocol::hash::keccak(&sample.signature.0);
        let hashes = hash_actions(&texts, &sample.salt_seed, &head.signer, &signature_hash);
        let action_hashes: Vec<Hash> = hashes.iter().map(|hashes| hashes.action).collect();
        (head.digest(&separator, &action_hashes), hashes)
    });
}

/// The signer's address from signature and digest.
#[divan::bench(args = SIZES)]
fn c_recover(bencher: Bencher<'_, '_>, actions: usize) {
    let sample = Sample::new(actions);
    bencher.counter(ItemsCount::new(actions)).bench(|| {
        let signer = black_box(&sample).signature.recover(&sample.digest);
        assert_eq!(signer, Ok(sample.head.signer));
    });
}

/// The same for a signer with a known key.
#[divan::bench(args = SIZES)]
fn c_recover_known(bencher: Bencher<'_, '_>, actions: usize) {
    let sample = Sample::new(actions);
    let key = sample.signature.recover_key(&sample.digest);
    let signer = KnownSigner::new(&key.expect("the signer's key"));
    bencher.counter(ItemsCount::new(actions)).bench(|| {
        assert!(signer.signed(&sample.digest, black_box(&sample.signature)));
    });
}

/// The rules: each update on its object.
#[divan::bench(args = SIZES)]
fn d_decide(bencher: Bencher<'_, '_>, actions: usize) {
    let sample = Sample::new(actions);
    let state = sample.state();
    let template = sample.template(&state);
    let caller = sample::caller();
    bencher.counter(ItemsCount::new(actions)).bench(|| {
        let inputs = sample.inputs();
        let decided = inputs.map(|(object, input)| {
            object::act(&state, &caller, &state.objects[&object], &template, &input)
                .expect("an allowed update")
        });
        decided.collect::<Vec<_>>()
    });
}

/// The sequencer's step: checks the versions that the request is based on, and assigns a sequence.
#[divan::bench(args = SIZES)]
fn e_sequence(bencher: Bencher<'_, '_>, actions: usize) {
    let sample = Sample::new(actions);
    let tip = LogTip {
        sequence: 0,
        head: Hash::ZERO,
        timestamp_ms: START_MS,
    };
    let to_place: Vec<SequencerInput> = sample
        .contents
        .iter()
        .map(|content| SequencerInput {
            content: *content,
            integrity: Hash([7; 32]),
        })
        .collect();
    let mut sequencer = Sequencer::new(tip, RECENT_KEYS_MAX);
    let mut version = 1;
    bencher.counter(ItemsCount::new(actions)).bench_local(|| {
        let writes = sample.writes(version);
        version += 1;
        sequencer.check(&writes, 0).expect("nobody else writes");
        sequencer.place(START_MS, &to_place, &writes)
    });
}

/// Leaves in parallel, heads one after the other.
#[divan::bench(args = SIZES)]
fn f_chain(bencher: Bencher<'_, '_>, actions: usize) {
    let sample = Sample::new(actions);
    let leaves: Vec<LogLeaf> = sample.leaves();
    bencher.counter(ItemsCount::new(actions)).bench(|| {
        let hashes = LogLeaf::hash_each(black_box(&leaves));
        hashes
            .iter()
            .fold(Hash::ZERO, |head, leaf| next_head(&head, leaf))
    });
}

/// The root of a batch's tree.
#[divan::bench(args = SIZES)]
fn g_merkle(bencher: Bencher<'_, '_>, actions: usize) {
    let sample = Sample::new(actions);
    let leaves = LogLeaf::hash_each(&sample.leaves());
    bencher
        .counter(ItemsCount::new(actions))
        .bench(|| BatchTree::new(black_box(&leaves)).root());
}

/// A commit group of one request: the record and the objects after it.
#[divan::bench(args = SIZES)]
fn h_encode(bencher: Bencher<'_, '_>, actions: usize) {
    let sample = Sample::new(actions);
    bencher
        .counter(ItemsCount::new(actions))
        .bench(|| sample.group(1));
}

/// Commits a group of this many actions to the store, with one write and one sync.
#[divan::bench(args = [8_000, 500, 1], sample_size = 1, sample_count = 200)]
fn i_commit(bencher: Bencher<'_, '_>, actions: usize) {
    let sample = Sample::new(actions.min(500));
    let directory = tempfile::tempdir().expect("a directory");
    let store = Store::open(sample::store(directory.path())).expect("a store");
    let mut sequence = 1;
    bencher
        .counter(ItemsCount::new(actions))
        .with_inputs(|| {
            let mut group = WriteGroup::new();
            for _ in 0..actions.div_ceil(sample.actions) {
                sample.put(&mut group, sequence);
                sequence += sample.actions as u64;
            }
            group
        })
        .bench_local_values(|group| store.commit(group).expect("room on the disk"));
}

/// The path of one action in a batch of this size, and its verification.
#[divan::bench(args = [500])]
fn j_proof(bencher: Bencher<'_, '_>, actions: usize) {
    let sample = Sample::new(actions);
    let leaves = LogLeaf::hash_each(&sample.leaves());
    let tree = BatchTree::new(&leaves);
    let mut index = 0;
    bencher.counter(ItemsCount::new(1_usize)).bench_local(|| {
        index = (index + 1) % actions;
        let path = tree.proof(&[index]);
        let root = root_of_proof(actions as u64, &[index as u64], &[leaves[index]], &path);
        assert_eq!(root, Ok(tree.root()));
    });
}

/// Applies a request from the log to the state, under the rules, as `verify` does.
#[divan::bench(args = SIZES)]
fn k_replay(bencher: Bencher<'_, '_>, actions: usize) {
    let sample = Sample::new(actions);
    let record = sample.record(1);
    bencher
        .counter(ItemsCount::new(actions))
        .with_inputs(|| sample.state())
        .bench_local_values(|mut state| {
            let images = state.apply(&record).expect("what the rules made");
            (images, state)
        });
}
