//! Start of the engine: the shared state, the writing threads, the deciding actors, and the watchers.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};

use arc_swap::{ArcSwap, ArcSwapOption};
use kedge_protocol::limits::BATCH_ACTIONS_MAX;
use kedge_protocol::log_tree::TreeFrontier;
use kedge_rules::sequencer::LogTip;
use kedge_runtime::executor::{ActorThreads, EnginePart, EngineRuntime};
use kedge_storage::{LogHead, Store, StoreMode};
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};

use super::leader::LeaderState;
use super::{Engine, EngineInner, EngineOptions, StartError};
use crate::anchor::SeenAnchors;
use crate::commit::agreement::AgreementSampler;
use crate::commit::committer::{Committer, CommitterCaches, CommitterThread};
use crate::commit::disk::{self, StoreDisk};
use crate::commit::pace::GroupPace;
use crate::commit::signing::BatchSigner;
use crate::commit::writer::{self, Publisher};
use crate::commit::{sealer, store_health};
use crate::events::SideEvents;
use crate::failure::{self, EngineFailure, FailureSink};
use crate::pipeline::admission::AdmissionBounds;
use crate::pipeline::admission_pool::AdmissionPool;
use crate::pipeline::catalog::TemplateCatalog;
use crate::pipeline::published_state::{PublishProgress, PublishedState, StateReader};
use crate::pipeline::sequenced_proposal::CommitterMessage;
use crate::pipeline::supervisor::SupervisorOptions;
use crate::pipeline::{PipelineParts, PipelineSizes};
use crate::roots::RootState;

/// Placed proposals that may wait for the committer.
const WORK_QUEUE: usize = 4_096;

impl Engine {
    /// Starts the engine on an open store, as the leader.
    pub async fn start(options: EngineOptions, store: Arc<Store>) -> Result<Self, StartError> {
        let engine = Self::open(options, store)?;
        engine.lead().await?;
        Ok(engine)
    }

    /// Starts an engine that only reads until [`Engine::lead`].
    pub fn open(options: EngineOptions, store: Arc<Store>) -> Result<Self, StartError> {
        let (sink, failed) = failure::channel();
        let snapshot = store.snapshot();
        let head = snapshot.head()?;
        let signing = Arc::new(BatchSigner::new(
            options.keys.clone(),
            options.domain.separator(),
            options.contract.is_some(),
            snapshot.sequencer_keys()?,
        ));
        let env = Arc::clone(&options.env);
        let room = admission(&options);
        let reserve_bytes = options.disk_reserve_bytes;
        let disk = StoreDisk::new(Arc::clone(&env), &options.data_path, reserve_bytes);
        let published = Arc::new(ArcSwap::from_pointee(PublishedState {
            head,
            keys_changed_at: head.sequence,
            snapshot,
        }));
        let catalog = Arc::new(TemplateCatalog::new(
            options.catalog_bytes_max,
            options.recipients_max,
        ));
        let disk_full = Arc::default();
        let ending = Arc::default();
        disk::watch(disk.clone(), &disk_full);
        let keepers = sealer::start(&store, &disk, &env, &ending, &sink, &options.running)?;
        room.watch();
        let roots = RootState::new(options.roots.is_some(), options.replicated);
        let root_options = options.roots;
        let engine = Self {
            inner: Arc::new(EngineInner {
                reader: StateReader::new(Arc::clone(&published), catalog),
                published,
                options,
                store,
                compared: Arc::default(),
                visible: watch::channel(head.sequence).0,
                listeners: Arc::default(),
                leading: ArcSwapOption::empty(),
                keepers: Mutex::new(Some(keepers)),
                root_maker: Mutex::new(None),
                roots: Arc::new(roots),
                room,
                closing: AtomicBool::new(false),
                stalled: ArcSwapOption::empty(),
                overdue: watch::channel(false).0,
                disk,
                disk_full,
                sink,
                failed,
                ending,
                checkpoint: Mutex::new(None),
                signing,
                node: ArcSwapOption::empty(),
                seen_anchors: SeenAnchors::default(),
                anchor_trouble: ArcSwapOption::empty(),
                anchored: OnceLock::new(),
            }),
        };
        if let Some(options) = root_options {
            let maker = crate::roots::start(&engine, options)?;
            *engine.inner.root_maker.lock() = Some(maker);
        }
        Ok(engine)
    }

    /// Starts the write path at the log's end. Only this node may extend the log.
    pub async fn lead(&self) -> Result<(), StartError> {
        let inner = &self.inner;
        let starting = LeaderStartup::new(inner)?;
        let (work, placed) = mpsc::channel(WORK_QUEUE);
        let committer = starting.start_committer(placed)?;
        let threads = ActorThreads::start(&inner.options.running)?;
        let pipeline = starting.pipeline(work.clone());
        let actors = threads.run(pipeline.spawn()).await??;
        store_health::watch(&inner.store, &work);
        let LeaderStartup { ending, failed, .. } = starting;
        let leading = LeaderState::new(actors, threads, work, committer, failed.1, ending);
        inner.leading.store(Some(Arc::new(leading)));
        Ok(())
    }
}

/// The pool that admits requests.
fn admission(options: &EngineOptions) -> Arc<AdmissionPool> {
    let bounds = AdmissionBounds {
        requests_min: options.requests_min.min(options.requests_max),
        requests_max: options.requests_max,
        wait_target: options.wait_target,
    };
    let actions_max = options.actions_max.max(BATCH_ACTIONS_MAX);
    let maxima = (actions_max, options.decided_bytes_max);
    let (share_percent, env) = (options.organization_share_percent, Arc::clone(&options.env));
    Arc::new(AdmissionPool::new(bounds, share_percent, maxima, env))
}

/// Shared state of the write path during its start.
struct LeaderStartup<'a> {
    inner: &'a EngineInner,
    published: Arc<PublishedState>,
    /// The log's head.
    head: LogHead,
    committed_ticket: Arc<AtomicU64>,
    ending: Arc<AtomicBool>,
    failed: (FailureSink, EngineFailure),
}

impl<'a> LeaderStartup<'a> {
    /// Reads the committed state, and sets clock and keys by it.
    fn new(inner: &'a EngineInner) -> Result<Self, StartError> {
        let published = inner.published.load_full();
        let head = published.head;
        inner.signing.reset(published.snapshot.sequencer_keys()?);
        if inner.store.mode() == StoreMode::ReadWrite {
            inner.signing.begin(head.batches);
        }
        let last_ms = (head.batches > 0).then_some(head.last_sealed_at_ms);
        inner.options.time.log_ends_at(last_ms);
        let failed = if inner.options.replicated {
            failure::channel()
        } else {
            (inner.sink.clone(), inner.failed.clone())
        };
        Ok(Self {
            inner,
            published,
            head,
            committed_ticket: Arc::default(),
            ending: Arc::default(),
            failed,
        })
    }

    /// Starts the committer's thread and the ones after it.
    fn start_committer(
        &self,
        work: mpsc::Receiver<CommitterMessage>,
    ) -> Result<EnginePart, StartError> {
        let committer = self.committer()?;
        let inner = self.inner;
        let compared = Arc::clone(&inner.compared);
        let sampler = AgreementSampler::new(inner.options.compare_groups_every, compared);
        let running = &inner.options.running;
        let (writing, threads) = writer::start(self.outlet(), sampler, running)?;
        let runtime = match running {
            EngineRuntime::Threads { .. } => Some(
                tokio::runtime::Builder::new_current_thread()
                    .enable_time()
                    .build()?,
            ),
            EngineRuntime::Tasks(_) => None,
        };
        let committer = CommitterThread {
            committer,
            work,
            runtime,
            writing,
        };
        let run = move |waits| committer.run(threads, waits);
        Ok(self.failed.0.start(running, "committer", run)?)
    }

    fn outlet(&self) -> Publisher {
        let inner = self.inner;
        Publisher {
            env: Arc::clone(&inner.options.env),
            store: Arc::clone(&inner.store),
            published: Arc::clone(&inner.published),
            visible: inner.visible.clone(),
            committed_ticket: Arc::clone(&self.committed_ticket),
            disk_full: Arc::clone(&inner.disk_full),
            ending: Arc::clone(&self.ending),
            disk: inner.disk.clone(),
            listeners: Arc::clone(&inner.listeners),
            roots: Arc::clone(&inner.roots),
            failed: self.failed.0.clone(),
        }
    }

    fn committer(&self) -> Result<Committer, StartError> {
        let inner = self.inner;
        let options = &inner.options;
        let snapshot = &self.published.snapshot;
        let permits = inner.room.requests();
        Ok(Committer {
            env: Arc::clone(&options.env),
            domain_separator: options.domain.separator(),
            signing: Arc::clone(&inner.signing),
            parked: VecDeque::new(),
            time: Arc::clone(&options.time),
            published: Arc::clone(&inner.published),
            side_events: SideEvents::load(snapshot)?,
            head: self.head,
            keys_changed_at: self.head.sequence,
            frontier: TreeFrontier::load(self.head.batches, snapshot)?,
            caches: CommitterCaches::default(),
            pace: GroupPace::new(permits, options.requests_max, options.env.now()),
            group_bytes: 0,
            group_bytes_max: options.group_bytes_max,
        })
    }

    fn pipeline(&self, committer: mpsc::Sender<CommitterMessage>) -> PipelineParts {
        let inner = self.inner;
        let options = &inner.options;
        PipelineParts {
            env: Arc::clone(&options.env),
            time: Arc::clone(&options.time),
            sizes: PipelineSizes {
                shards: options.shards.max(1),
                objects_live_max: options.objects_live_max,
                organizations_live_max: options.organizations_live_max,
                recent_keys_max: options.recent_keys_max,
            },
            tip: LogTip {
                sequence: self.head.sequence,
                head: self.head.head,
                timestamp_ms: self.head.last_sealed_at_ms,
            },
            reader: inner.reader.clone(),
            committer,
            turns: options.running.turns(),
            committed_ticket: Arc::clone(&self.committed_ticket),
            progress: PublishProgress::new(inner.visible.subscribe(), options.running.turns()),
            supervision: SupervisorOptions {
                failed: self.failed.0.clone(),
                ending: Arc::clone(&self.ending),
            },
        }
    }
}
