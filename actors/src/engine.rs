//! The engine: everything between a verified request and its durable outcome. [`Engine::start`] spawns the actors and
//! the committer; the handle is cheap to clone.
//!
//! Reading needs only the store and works as long as the process runs. The write path (`leader.rs`) is separate: a
//! single node always has it, a node of a cluster only while it leads the log. A node that follows applies the leader's
//! frames with [`LogFollower`](follower::LogFollower).

mod clock;
pub(crate) mod follower;
mod leader;
pub(crate) mod preview;
mod shutdown;
mod start;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::timing::RequestStage;
use arc_swap::{ArcSwap, ArcSwapOption};
use kedge_protocol::checkpoint::SignedCheckpoint;
use kedge_protocol::eip712::Domain;
use kedge_protocol::{Address, Id, SequencerKeys};
use kedge_rules::World;
use kedge_runtime::env::Env;
use kedge_runtime::executor::{EnginePart, EngineRuntime};
use kedge_storage::{EventRow, SideWrite, Store, StoreMode, StoreReadError};
use parking_lot::Mutex;
use ractor::{Actor, ActorRef, SpawnErr};
use tokio::sync::{oneshot, watch};

use crate::anchor::{AnchorObstacles, AnchorSource, SeenAnchors};
use crate::api::{Submission, SubmissionError, SubmissionOutcome};
use crate::commit::disk::StoreDisk;
use crate::commit::sealer::StoreThreads;
use crate::commit::signing::{BatchSigner, HeldKeys};
use crate::events::{EventListener, EventListeners};
use crate::failure::{EngineFailure, FailureSink};
use crate::messages::NodeHealth;
use crate::pipeline::admission_pool::AdmissionPool;
use crate::pipeline::messages::DirectoryMessage;
use crate::pipeline::proposal::Proposal;
use crate::pipeline::published_state::{PublishProgress, PublishedState, StateReader};
use crate::pipeline::sequenced_proposal::CommitterMessage;
use crate::pipeline::shard_split::ShardSplit;
use crate::roots::{RootOptions, RootState};
use crate::timekeeper::Timekeeper;

use self::leader::LeaderState;

/// What became of side writes when their caller stopped waiting.
pub(crate) enum SideOutcome {
    /// They are published.
    Done,
    /// They may be in the log, and their rows wait for room on the disk. Resolves when these are published.
    Open(oneshot::Receiver<()>),
}

/// Options of the engine.
#[derive(Clone)]
pub struct EngineOptions {
    /// Clock and disk.
    pub env: Arc<dyn Env>,
    /// The EIP-712 domain that the log is bound to.
    pub domain: Domain,
    /// Keys that sign batches and checkpoints; each key signs only its own batches.
    pub keys: HeldKeys,
    /// Contract that anchors the log. A new log signs nothing until the contract has named the first key.
    pub contract: Option<Address>,
    /// The time source, which also reports when the time cannot be trusted.
    pub time: Arc<Timekeeper>,
    /// Threads, or a simulator's tasks.
    pub running: EngineRuntime,
    /// Shards that host object actors.
    pub shards: usize,
    /// Object actors that may be live, over all shards.
    pub objects_live_max: usize,
    pub organizations_live_max: usize,
    pub requests_max: usize,
    /// Requests that may always be in flight, however long they take.
    pub requests_min: usize,
    /// If more than a tenth of the requests take longer than this for half a second, fewer are admitted.
    pub wait_target: Duration,
    pub actions_max: usize,
    /// Bound on the bytes of all objects that decisions in flight produce; more are refused.
    pub decided_bytes_max: usize,
    /// Every n-th commit group is compared with the rows that its records give; 0 compares none.
    pub compare_groups_every: u64,
    /// Largest part of the requests in flight that one organization may have, percent.
    pub organization_share_percent: u8,
    /// Keys whose versions the sequencer remembers.
    pub recent_keys_max: usize,
    /// Bytes of templates, with their schemas compiled, and of variations that are cached.
    pub catalog_bytes_max: usize,
    /// Wallets whose addresses are cached.
    pub recipients_max: usize,
    /// Data directory; the free space of its disk is watched.
    pub data_path: PathBuf,
    /// Free bytes below which no write begins.
    pub disk_reserve_bytes: u64,
    /// Whether other nodes share the log. If so, losing leadership ends the write path but not the process.
    pub replicated: bool,
    /// Bound on the bytes of texts in one commit group.
    pub group_bytes_max: usize,
    /// When roots of the state are made; `None` makes none.
    pub roots: Option<RootOptions>,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("the store could not be read: {0}")]
    Read(#[from] StoreReadError),
    #[error("an actor did not start: {0}")]
    Spawn(#[from] SpawnErr),
    #[error("a thread or its runtime did not start: {0}")]
    Thread(#[from] std::io::Error),
}

pub(crate) struct EngineInner {
    pub(crate) options: EngineOptions,
    pub(crate) store: Arc<Store>,
    published: Arc<ArcSwap<PublishedState>>,
    pub(crate) compared: Arc<AtomicU64>,
    /// Sequence up to which reads see the log.
    visible: watch::Sender<u64>,
    listeners: Arc<EventListeners>,
    reader: StateReader,
    /// The write path, while this node leads.
    pub(crate) leading: ArcSwapOption<LeaderState>,
    keepers: Mutex<Option<StoreThreads>>,
    root_maker: Mutex<Option<EnginePart>>,
    room: Arc<AdmissionPool>,
    closing: AtomicBool,
    /// Why writes are refused for now.
    stalled: ArcSwapOption<String>,
    /// True while callers must not wait any longer for requests in flight.
    overdue: watch::Sender<bool>,
    disk: StoreDisk,
    disk_full: Arc<AtomicBool>,
    pub(crate) sink: FailureSink,
    failed: EngineFailure,
    /// Set while the maintenance threads are being stopped.
    pub(crate) ending: Arc<AtomicBool>,
    pub(crate) checkpoint: Mutex<Option<SignedCheckpoint>>,
    pub(crate) signing: Arc<BatchSigner>,
    pub(crate) roots: Arc<RootState>,
    pub(crate) node: ArcSwapOption<NodeHealth>,
    /// Checkpoints that the contract was seen to hold.
    pub(crate) seen_anchors: SeenAnchors,
    /// What stands in the way of anchors, if anything.
    pub(crate) anchor_trouble: ArcSwapOption<AnchorObstacles>,
    /// Source of the newest anchor for a node that follows.
    pub(crate) anchored: OnceLock<Arc<dyn AnchorSource>>,
}

#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: Arc<EngineInner>,
}

impl Engine {
    /// Carries out a request; the result is durable. After an error nothing was done and nothing will be, except for
    /// [`SubmissionError::Unknown`]: then the request's nonce shows the outcome.
    pub async fn submit(
        &self,
        submission: impl Into<Arc<Submission>>,
    ) -> Result<SubmissionOutcome, SubmissionError> {
        let submission = submission.into();
        let inner = &self.inner;
        self.check_writable()?;
        let leading = self.leading()?;
        let expires_at = submission.expires_at;
        let place = inner.room.enter(&submission)?;
        if let Some(timing) = &submission.timing {
            timing.note(RequestStage::Sent, inner.options.env.now());
        }
        let parts = ShardSplit::of(&submission, leading.shards, &inner.reader);
        let (reply, mut answer) = oneshot::channel();
        let unit = Box::new(Proposal::new(submission, parts, place, reply));
        let fate = Arc::clone(&unit.fate);
        // If the caller goes away or its time runs out, work that has not begun ends.
        let waiter = unit.waiter();
        let sent = leading
            .directory
            .send_message(DirectoryMessage::Request(unit));
        sent.map_err(|_| SubmissionError::Unavailable)?;
        let mut failed = leading.failed.clone();
        drop(leading);
        // A commit may wait for disk space for any length of time; the caller need not wait for it.
        let answered = tokio::select! {
            biased;
            answered = &mut answer => answered.ok(),
            () = tokio::time::sleep_until(expires_at.into()) => None,
            () = self.unanswered(&mut failed) => None,
        };
        if let Some(answered) = answered {
            return answered;
        }
        if waiter.0.give_up() {
            return Err(SubmissionError::Waited);
        }
        // If it is not placed by now, it never will be.
        let nothing_done = fate.abandon();
        let last_moment = answer.try_recv().ok();
        last_moment.unwrap_or(Err(if nothing_done {
            SubmissionError::Unavailable
        } else {
            SubmissionError::Unknown
        }))
    }

    /// Refuses if the clock is not believed, or if too many requests are in flight. Called before any other work for a
    /// request, so that a refusal is as cheap as possible.
    pub fn check_room(&self) -> Result<(), SubmissionError> {
        self.check_clock()?;
        self.inner.room.check()
    }

    fn check_writable(&self) -> Result<(), SubmissionError> {
        let inner = &self.inner;
        if let StoreMode::ReadOnly(why) = self.mode() {
            return Err(SubmissionError::ReadOnly(why));
        }
        if inner.disk_full.load(Ordering::Relaxed) {
            let why = "the server's disk is full; it continues when there is room again";
            return Err(SubmissionError::ReadOnly(why.into()));
        }
        self.check_clock()?;
        if inner.failed.reason().is_some() || inner.closing.load(Ordering::Relaxed) {
            return Err(SubmissionError::Unavailable);
        }
        match inner.stalled.load().as_deref() {
            Some(why) => Err(SubmissionError::ReadOnly(why.clone())),
            None => Ok(()),
        }
    }

    /// Stores a row outside the log; durable when it returns.
    pub async fn side_write(&self, write: SideWrite) -> Result<(), SubmissionError> {
        self.side_writes(vec![write]).await
    }

    /// Stores several rows outside the log in one commit; durable when it returns.
    pub async fn side_writes(&self, writes: Vec<SideWrite>) -> Result<(), SubmissionError> {
        match self.begin_side_writes(writes, Vec::new()).await? {
            SideOutcome::Done => Ok(()),
            SideOutcome::Open(_) => Err(SubmissionError::Unknown),
        }
    }

    /// Stores several rows outside the log in one commit; [`SideOutcome::Open`] if they wait for room on the disk too long.
    pub(crate) async fn begin_side_writes(
        &self,
        writes: Vec<SideWrite>,
        events: Vec<EventRow>,
    ) -> Result<SideOutcome, SubmissionError> {
        if let StoreMode::ReadOnly(why) = self.inner.store.mode() {
            return Err(SubmissionError::ReadOnly(why));
        }
        if self.inner.stalled.load().is_some() {
            return Err(SubmissionError::Unavailable);
        }
        let leading = self.leading()?;
        let work = leading.work().ok_or(SubmissionError::Unavailable)?;
        let (done, mut acknowledged) = oneshot::channel();
        let side = CommitterMessage::Side {
            writes,
            events,
            done,
        };
        let sent = work.send(side).await;
        sent.map_err(|_| SubmissionError::Unavailable)?;
        drop(work);
        let mut failed = leading.failed.clone();
        drop(leading);
        tokio::select! {
            biased;
            acknowledged = &mut acknowledged => {
                acknowledged.map_err(|_| SubmissionError::Unknown)?;
                return Ok(SideOutcome::Done);
            }
            () = self.unanswered(&mut failed) => {}
        }
        Ok(SideOutcome::Open(acknowledged))
    }

    /// The newest committed state.
    pub fn published(&self) -> Arc<PublishedState> {
        self.inner.published.load_full()
    }

    /// The committed wallets, templates and variations that decisions look up.
    pub fn world(&self) -> impl World + use<> {
        self.inner.reader.clone()
    }

    /// Waits until everything up to `sequence` can be read; false after `timeout`.
    pub async fn wait_for(&self, sequence: u64, timeout: Duration) -> bool {
        let progress = PublishProgress::new(
            self.inner.visible.subscribe(),
            self.inner.options.running.turns(),
        );
        progress.wait_for(sequence, timeout).await
    }

    /// A listener for an organization's events.
    pub fn listen(&self, organization: Id) -> EventListener {
        let turns = self.inner.options.running.turns();
        self.inner.listeners.join(organization, turns)
    }

    /// Calls `changed` with every webhook that a later commit creates, changes or ends, once the published snapshot holds
    /// it. The call is on the path of all commits, so it must not wait. A new callback replaces an earlier one.
    pub fn watch_webhooks(&self, changed: impl Fn(Id) + Send + Sync + 'static) {
        self.inner.listeners.watch_webhooks(Box::new(changed));
    }

    pub fn running(&self) -> &EngineRuntime {
        &self.inner.options.running
    }

    /// The EIP-712 domain that the log is bound to.
    pub fn domain(&self) -> &Domain {
        &self.inner.options.domain
    }

    /// The sequencer's keys that the committed log names, each with its first batch.
    pub fn sequencer_keys(&self) -> Result<SequencerKeys, StoreReadError> {
        self.published().snapshot.sequencer_keys()
    }

    pub fn contract(&self) -> Option<Address> {
        self.inner.options.contract
    }

    /// Whether this server holds the sequencer key with this address.
    pub fn holds(&self, key: Address) -> bool {
        self.inner.options.keys.get(key).is_some()
    }

    /// The server's time, Unix milliseconds.
    pub fn now_ms(&self) -> u64 {
        self.inner.options.time.now_ms()
    }

    /// Whether changes are accepted: the store accepts them and batches can be signed.
    pub fn mode(&self) -> StoreMode {
        match (self.inner.store.mode(), self.inner.signing.stopped()) {
            (StoreMode::ReadWrite, Some(why)) => StoreMode::ReadOnly(why.to_string()),
            (mode, _) => mode,
        }
    }

    /// Makes the store read-only until the process ends.
    pub fn set_read_only(&self, why: &str) {
        self.inner.store.set_read_only(why);
    }

    /// Free bytes on the data directory's disk.
    pub fn disk_free_bytes(&self) -> u64 {
        self.inner.disk.last_free_bytes()
    }

    /// True while the disk has too little free space to accept writes.
    pub fn disk_full(&self) -> bool {
        self.inner.disk_full.load(Ordering::Relaxed)
    }

    /// The present limit on requests in flight.
    pub fn requests_max(&self) -> usize {
        self.inner.options.requests_max
    }

    pub fn requests_under_way(&self) -> usize {
        self.inner.room.in_flight()
    }

    /// How many groups have been compared with the rows of their records since the start.
    pub fn groups_compared(&self) -> u64 {
        self.inner.compared.load(Ordering::Relaxed)
    }

    /// Accepts writes again, unless the store was opened for reading.
    pub(crate) fn resume(&self) {
        self.inner.store.resume();
    }

    /// Spawns an actor on the caller's runtime. It is killed when the write path ends, and the write path ends with an error
    /// if the actor fails.
    ///
    /// # Errors
    /// [`SpawnErr`] if the actor did not start, or this node does not lead the log.
    pub async fn spawn_linked<A: Actor>(
        &self,
        actor: A,
        arguments: A::Arguments,
    ) -> Result<ActorRef<A::Msg>, SpawnErr> {
        let leading = self.inner.leading.load_full();
        let Some(leading) = leading else {
            return Err(SpawnErr::StartupFailed(
                "this node does not lead the log".into(),
            ));
        };
        let supervisor = leading.supervisor.get_cell();
        let (actor, _) = Actor::spawn_linked(None, actor, arguments, supervisor).await?;
        Ok(actor)
    }

    pub(crate) fn reader(&self) -> &StateReader {
        &self.inner.reader
    }

    /// A watch on the first failure of the engine.
    pub fn failure(&self) -> EngineFailure {
        self.inner.failed.clone()
    }
}
