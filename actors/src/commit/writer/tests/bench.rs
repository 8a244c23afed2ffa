//! Test bench for the path from the committer to the answer on one thread: rows in a directory, the log on a simulated
//! disk, and requests decided and placed without actors.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use kedge_protocol::action::{ActionWords, Kind, RequestHead, salt};
use kedge_protocol::eip712::Domain;
use kedge_protocol::hash::keccak;
use kedge_protocol::log_tree::TreeFrontier;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash, chain};
use kedge_rules::sequencer::{LogTip, Sequencer, SequencerInput};
use kedge_runtime::env::Env;
use kedge_runtime::env::simulated::SimulatedEnv;
use kedge_storage::{SideKeys, Store, StoreSnapshot, WriteGroup};
use tokio::sync::{mpsc, oneshot, watch};

use super::super::appender::LogAppender;
use super::super::publisher::PublishQueue;
use super::super::{Publisher, WriterLink};
use crate::api::{Principal, Submission, SubmissionError, SubmissionOutcome, SubmittedAction};
use crate::commit::agreement::AgreementSampler;
use crate::commit::committer::{ClosedGroup, Committer, CommitterCaches};
use crate::commit::disk::StoreDisk;
use crate::commit::group::CommitGroup;
use crate::commit::pace::GroupPace;
use crate::commit::signing::{BatchSigner, HeldKeys};
use crate::events::SideEvents;
use crate::failure;
use crate::pipeline::admission::AdmissionBounds;
use crate::pipeline::admission_pool::AdmissionPool;
use crate::pipeline::catalog::TemplateCatalog;
use crate::pipeline::proposal::Proposal;
use crate::pipeline::published_state::{PublishedState, StateReader};
use crate::pipeline::resources::ResourceOverlays;
use crate::pipeline::sequenced_proposal::{CommitterMessage, SequencedProposal};
use crate::pipeline::shard_split::ShardSplit;
use crate::roots::RootState;
use crate::timekeeper::{Timekeeper, wall_clock};
use kedge_replay::catch_up::open_store;

const DOMAIN: Domain = Domain {
    chain_id: 31_337,
    verifying_contract: Address([7; 20]),
};

const NOW_MS: u64 = 1_800_000_000_000;

/// Receiver of a request's outcome.
pub(crate) type Reply = oneshot::Receiver<Result<SubmissionOutcome, SubmissionError>>;

pub(crate) struct Bench {
    pub(super) env: SimulatedEnv,
    pub(crate) store: Arc<Store>,
    pub(super) published: Arc<ArcSwap<PublishedState>>,
    pub(super) disk_full: Arc<AtomicBool>,
    pub(super) ending: Arc<AtomicBool>,
    /// Number of groups compared with their records.
    pub(super) compared: Arc<AtomicU64>,
    pub(crate) committer: Committer,
    pub(super) writer: LogAppender,
    pub(super) publisher: PublishQueue,
    room: Arc<AdmissionPool>,
    reader: StateReader,
    sequencer: Sequencer,
    tickets: u64,
}

fn key() -> SigningKey {
    SigningKey::from_bytes(&[0x5e; 32]).unwrap()
}

/// Opens the store with rows in `place` and the log on the disk of `env`.
pub(super) fn open(place: &Path, env: &SimulatedEnv) -> Store {
    let mut options =
        kedge_storage::StoreOptions::of_store(&place.join("store"), DOMAIN, key().address());
    options.env = Arc::new(env.clone());
    options.side_keys = SideKeys::one(1, [1; 32]);
    options.memtable_bytes = 4 << 20;
    open_store(options).unwrap()
}

fn signing(snapshot: &StoreSnapshot) -> BatchSigner {
    let keys = snapshot.sequencer_keys().unwrap();
    let held = HeldKeys::new(key(), []);
    BatchSigner::new(held, DOMAIN.separator(), false, keys)
}

fn room(env: &Arc<dyn Env>) -> Arc<AdmissionPool> {
    let bounds = AdmissionBounds {
        requests_min: 1_000,
        requests_max: 1_000,
        wait_target: Duration::from_secs(1),
    };
    Arc::new(AdmissionPool::new(
        bounds,
        100,
        (1_000, 1 << 30),
        Arc::clone(env),
    ))
}

impl Bench {
    /// On a new or existing store; every `compare_every`-th group is compared.
    pub(crate) fn new(place: &Path, env: &SimulatedEnv, compare_every: u64) -> Self {
        env.set_unix_ms(NOW_MS);
        let store = Arc::new(open(place, env));
        let snapshot = store.snapshot();
        let head = snapshot.head().unwrap();
        let frontier = TreeFrontier::load(head.batches, &snapshot).unwrap();
        let signing = Arc::new(signing(&snapshot));
        let side_events = SideEvents::load(&snapshot).unwrap();
        let published = Arc::new(ArcSwap::from_pointee(PublishedState {
            head,
            keys_changed_at: head.sequence,
            snapshot,
        }));
        let (dyn_env, disk_full) = (Arc::new(env.clone()) as Arc<dyn Env>, Arc::default());
        let room = room(&dyn_env);
        let committer = Committer {
            env: Arc::clone(&dyn_env),
            domain_separator: DOMAIN.separator(),
            signing,
            parked: VecDeque::new(),
            time: Arc::new(Timekeeper::unbounded(wall_clock(&dyn_env))),
            published: Arc::clone(&published),
            side_events,
            head,
            keys_changed_at: head.sequence,
            frontier,
            caches: CommitterCaches::default(),
            pace: GroupPace::new(room.requests(), 1_000, env.now()),
            group_bytes: 0,
            group_bytes_max: 32 << 20,
        };
        let outlet = Publisher {
            env: Arc::clone(&dyn_env),
            store: Arc::clone(&store),
            published: Arc::clone(&published),
            visible: watch::channel(head.sequence).0,
            committed_ticket: Arc::default(),
            disk_full: Arc::clone(&disk_full),
            ending: Arc::default(),
            disk: StoreDisk::new(dyn_env, place, 0),
            listeners: Arc::default(),
            roots: Arc::new(RootState::new(false, false)),
            failed: failure::channel().0,
        };
        let compared = Arc::new(AtomicU64::new(0));
        let sampler = AgreementSampler::new(compare_every, Arc::clone(&compared));
        let tip = LogTip {
            sequence: head.sequence,
            head: head.head,
            timestamp_ms: head.last_sealed_at_ms,
        };
        Self {
            env: env.clone(),
            store,
            reader: StateReader::new(
                Arc::clone(&published),
                Arc::new(TemplateCatalog::new(1 << 20, 10)),
            ),
            published,
            disk_full,
            ending: Arc::clone(&outlet.ending),
            compared,
            committer,
            writer: LogAppender::new(&outlet, sampler),
            publisher: PublishQueue::new(outlet),
            room,
            sequencer: Sequencer::new(tip, 1_000),
            tickets: 0,
        }
    }

    /// A decided and placed registration.
    pub(crate) fn registration(&mut self, number: u16) -> (CommitterMessage, Reply) {
        let submission = Arc::new(registration(number, &self.env));
        let place = self.room.enter(&submission).unwrap();
        let (reply, answer) = oneshot::channel();
        let unit = Arc::new(Proposal::new(
            Arc::clone(&submission),
            ShardSplit::default(),
            place,
            reply,
        ));
        self.tickets += 1;
        let decided = ResourceOverlays::default().decide(&unit, self.tickets, 0, &self.reader);
        let decided = decided.map_err(|refused| refused.refusal).unwrap();
        let mut writes = Vec::new();
        decided.add_writes(&mut writes);
        let (_, _, integrity) = decided.resource();
        let content = submission.actions[0].content;
        let to_place = [SequencerInput { content, integrity }];
        let placed = self.sequencer.place(NOW_MS, &to_place, &writes);
        let previous = decided.previous_sequence().unwrap();
        decided.set_sequence(placed[0].sequence);
        let work = CommitterMessage::Placed(SequencedProposal {
            ticket: self.tickets,
            unit,
            decisions: vec![(0, Ok(decided))],
            placed,
            previous_sequences: vec![previous],
            timestamp_ms: NOW_MS,
            nonce_highest: 0,
        });
        (work, answer)
    }

    /// A group of this work.
    pub(super) fn form(&mut self, work: impl IntoIterator<Item = CommitterMessage>) -> ClosedGroup {
        let mut forming = self.committer.begin(WriteGroup::new());
        for work in work {
            self.committer.add(&mut forming, work).unwrap();
        }
        self.committer.close(forming).unwrap()
    }

    /// A group of one registration.
    pub(crate) fn group(&mut self, number: u16) -> (CommitGroup, Reply) {
        let (work, reply) = self.registration(number);
        match self.form([work]) {
            ClosedGroup::Whole(formed) => (formed, reply),
            ClosedGroup::Unpruned(_) | ClosedGroup::Nothing => {
                panic!("a registration makes a group")
            }
        }
    }

    /// Another outlet of the same store, for threads.
    pub(super) fn outlet(&self) -> Publisher {
        let env: Arc<dyn Env> = Arc::new(self.env.clone());
        Publisher {
            store: Arc::clone(&self.store),
            published: Arc::clone(&self.published),
            visible: watch::channel(0).0,
            committed_ticket: Arc::default(),
            disk_full: Arc::clone(&self.disk_full),
            ending: Arc::clone(&self.ending),
            disk: StoreDisk::new(Arc::clone(&env), Path::new("/"), 0),
            listeners: Arc::default(),
            roots: Arc::new(RootState::new(false, false)),
            failed: failure::channel().0,
            env,
        }
    }

    /// How many batches can be read.
    pub(super) fn published_batches(&self) -> u64 {
        self.published.load().head.batches
    }

    pub(super) fn is_disk_full(&self) -> bool {
        self.disk_full.load(Ordering::Relaxed)
    }
}

/// The committer's end without threads behind it, the groups that it hands over, and the counter of published groups.
pub(crate) fn writing() -> (
    WriterLink,
    mpsc::UnboundedReceiver<CommitGroup>,
    watch::Sender<u64>,
) {
    let (groups, handed_over) = mpsc::unbounded_channel();
    let (count, published) = watch::channel(0);
    let writing = WriterLink {
        groups,
        handed_over: 0,
        published,
        spent: mpsc::unbounded_channel().1,
    };
    (writing, handed_over, count)
}

fn registration(number: u16, env: &SimulatedEnv) -> Submission {
    let mut secret = [1; 32];
    secret[30..].copy_from_slice(&number.to_be_bytes());
    let key = SigningKey::from_bytes(&secret).unwrap();
    let signer = key.address();
    let text = format!(r#"{{"email":"user{number}@example.com","address":"{signer}"}}"#);
    let head = RequestHead {
        signer,
        nonce: 1,
        deadline_s: NOW_MS / 1_000 + 300,
        atomic: false,
    };
    let seed = keccak(&number.to_be_bytes());
    let salt = salt(&seed, 0);
    let kind = Kind::of_text("wallet.register").unwrap();
    let words = ActionWords::of(&kind, "", text.as_bytes());
    let action_hash = words.action_hash(&salt);
    let digest: Hash = head.digest(&DOMAIN.separator(), &[action_hash]);
    let signature = key.sign(&digest);
    let authority = chain::authority(&signature, &salt);
    Submission {
        asker: Principal::Registration,
        head,
        signature,
        digest,
        salt_seed: seed,
        actions: vec![SubmittedAction {
            kind,
            target: 0..0,
            payload: 0..text.len(),
            disclosed: None,
            action_hash,
            content: chain::content(&words, &signer, &authority),
        }],
        text,
        secret: None,
        expected: None,
        keep: None,
        expires_at: env.now() + Duration::from_secs(20),
        timing: None,
    }
}
