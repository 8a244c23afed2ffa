//! Starting the engine: what its parts share, then the threads that write, then the actors that decide, then what
//! watches over them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use arc_swap::{ArcSwap, ArcSwapOption};
use kedge_machine::sequencer::Tip;
use kedge_protocol::limits::BATCH_ACTIONS_MAX;
use kedge_protocol::log_tree::Frontier;
use kedge_storage::{LogHead, Mode, Store};
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};

use super::{Engine, Inner, Options, StartError};
use crate::commit::agreement::Sampler;
use crate::commit::committer::{Caches, Committer, CommitterThread};
use crate::commit::disk::{self, Disk};
use crate::commit::pace::Pace;
use crate::commit::signing::Signing;
use crate::commit::writer::{self, Outlet};
use crate::commit::{keeper, store_health};
use crate::events::{Listeners, SideEvents};
use crate::failure::{self, FailureSink};
use crate::pipeline::admission::Bounds;
use crate::pipeline::placed::CommitterMessage;
use crate::pipeline::room::Room;
use crate::pipeline::supervisor::SupervisorOptions;
use crate::pipeline::threads::ActorThreads;
use crate::pipeline::world::{Catalog, Progress, Published, Reader};
use crate::pipeline::{Pipeline, Sizes};

/// Placed units that may wait for the committer.
const WORK_QUEUE: usize = 4_096;

/// What the parts of an engine share.
struct Shared {
    options: Options,
    store: Arc<Store>,
    /// Where the log ends at the start.
    head: LogHead,
    published: Arc<ArcSwap<Published>>,
    signing: Arc<Signing>,
    listeners: Arc<Listeners>,
    room: Arc<Room>,
    disk: Disk,
    disk_full: Arc<AtomicBool>,
    compared: Arc<AtomicU64>,
    committed_ticket: Arc<AtomicU64>,
    ending: Arc<AtomicBool>,
    /// Dropped after the start: once the parts have ended in order, nobody holds one.
    failed: FailureSink,
}

impl Engine {
    /// Starts the engine on an open store.
    pub async fn start(options: Options, store: Arc<Store>) -> Result<Self, StartError> {
        let (failure_sink, failed) = failure::channel();
        let shared = Shared::new(options, store, failure_sink)?;
        let (visible, progress) = watch::channel(shared.head.sequence);
        let progress = Progress::new(progress);
        let (work, placed) = mpsc::channel(WORK_QUEUE);
        let committer = shared.start_committer(visible, placed)?;

        let threads = ActorThreads::start(shared.options.actor_threads)?;
        let catalog = Arc::new(Catalog::new(shared.options.catalog_entries_max));
        let reader = Reader::new(Arc::clone(&shared.published), catalog);
        let pipeline = shared.pipeline(reader.clone(), work.clone(), progress.clone());
        let actors = threads.run(pipeline.spawn()).await??;

        disk::watch(shared.disk.clone(), &shared.disk_full);
        store_health::watch(&shared.store, &work);
        let env = &shared.options.env;
        let (disk, ending) = (&shared.disk, &shared.ending);
        let keepers = keeper::start(&shared.store, disk, env, ending, &shared.failed)?;
        shared.room.watch();
        Ok(Self {
            inner: Arc::new(Inner {
                options: shared.options,
                store: shared.store,
                published: shared.published,
                compared: shared.compared,
                progress,
                listeners: shared.listeners,
                reader,
                directory: actors.directory,
                supervisor: actors.supervisor,
                threads,
                work: Mutex::new(Some(work)),
                committer: Mutex::new(Some(committer)),
                keepers: Mutex::new(Some(keepers)),
                room: shared.room,
                closing: AtomicBool::new(false),
                disk_full: shared.disk_full,
                failed,
                ending: shared.ending,
                checkpoint: Mutex::new(None),
                webhooks: OnceLock::new(),
                anchor: OnceLock::new(),
                signing: shared.signing,
                node: ArcSwapOption::empty(),
                shards: actors.shards,
            }),
        })
    }
}

impl Shared {
    /// Reads the committed state, and sets the clock and the keys to it.
    fn new(options: Options, store: Arc<Store>, failed: FailureSink) -> Result<Self, StartError> {
        let snapshot = store.snapshot();
        let head = snapshot.head()?;
        let signing = Arc::new(Signing::new(
            options.keys.clone(),
            options.domain.separator(),
            options.contract.is_some(),
            snapshot.sequencer_keys()?,
        ));
        if store.mode() == Mode::ReadWrite {
            signing.begin(head.batches);
        }
        let last_ms = (head.batches > 0).then_some(head.last_sealed_at_ms);
        options.time.log_ends_at(last_ms);
        let env = &options.env;
        let actions_max = options.actions_max.max(BATCH_ACTIONS_MAX);
        let bounds = Bounds {
            requests_min: options.requests_min.min(options.requests_max),
            requests_max: options.requests_max,
            wait_target: options.wait_target,
        };
        let share_percent = options.organization_share_percent;
        let room = Room::new(bounds, share_percent, actions_max, Arc::clone(env));
        let reserve_bytes = options.disk_reserve_bytes;
        Ok(Self {
            disk: Disk::new(Arc::clone(env), &options.data_path, reserve_bytes),
            room: Arc::new(room),
            options,
            store,
            head,
            published: Arc::new(ArcSwap::from_pointee(Published {
                head,
                keys_changed_at: head.sequence,
                snapshot,
            })),
            signing,
            listeners: Arc::default(),
            disk_full: Arc::default(),
            compared: Arc::default(),
            committed_ticket: Arc::default(),
            ending: Arc::default(),
            failed,
        })
    }

    /// Starts the threads that write: the committer's, and those after it. `visible` gets how far can be read.
    fn start_committer(
        &self,
        visible: watch::Sender<u64>,
        work: mpsc::Receiver<CommitterMessage>,
    ) -> Result<JoinHandle<()>, StartError> {
        let committer = self.committer()?;
        let options = &self.options;
        let sampler = Sampler::new(options.compare_groups_every, Arc::clone(&self.compared));
        let (writing, threads) = writer::start(self.outlet(visible), sampler)?;
        let committer = CommitterThread {
            committer,
            work,
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build()?,
            writing,
        };
        let failed = self.failed.clone();
        let thread = std::thread::Builder::new().name("committer".into());
        Ok(thread.spawn(move || failed.watch("committer", || committer.run(threads)))?)
    }

    fn outlet(&self, visible: watch::Sender<u64>) -> Outlet {
        Outlet {
            env: Arc::clone(&self.options.env),
            store: Arc::clone(&self.store),
            published: Arc::clone(&self.published),
            visible,
            committed_ticket: Arc::clone(&self.committed_ticket),
            disk_full: Arc::clone(&self.disk_full),
            disk: self.disk.clone(),
            listeners: Arc::clone(&self.listeners),
            failed: self.failed.clone(),
        }
    }

    fn committer(&self) -> Result<Committer, StartError> {
        let options = &self.options;
        let snapshot = &self.published.load().snapshot;
        let permits = self.room.requests();
        Ok(Committer {
            env: Arc::clone(&options.env),
            domain_separator: options.domain.separator(),
            signing: Arc::clone(&self.signing),
            parked: VecDeque::new(),
            time: Arc::clone(&options.time),
            published: Arc::clone(&self.published),
            side_events: SideEvents::load(snapshot)?,
            head: self.head,
            keys_changed_at: self.head.sequence,
            frontier: Frontier::load(self.head.batches, snapshot)?,
            caches: Caches::default(),
            pace: Pace::new(permits, options.requests_max, options.env.now()),
            group_bytes: 0,
        })
    }

    fn pipeline(
        &self,
        reader: Reader,
        committer: mpsc::Sender<CommitterMessage>,
        progress: Progress,
    ) -> Pipeline {
        let options = &self.options;
        Pipeline {
            env: Arc::clone(&options.env),
            time: Arc::clone(&options.time),
            sizes: Sizes {
                shards: options.shards.max(1),
                objects_live_max: options.objects_live_max,
                organizations_live_max: options.organizations_live_max,
                recent_keys_max: options.recent_keys_max,
            },
            tip: Tip {
                sequence: self.head.sequence,
                head: self.head.head,
                timestamp_ms: self.head.last_sealed_at_ms,
            },
            reader,
            committer,
            committed_ticket: Arc::clone(&self.committed_ticket),
            progress,
            supervision: SupervisorOptions {
                failed: self.failed.clone(),
                ending: Arc::clone(&self.ending),
            },
        }
    }
}
