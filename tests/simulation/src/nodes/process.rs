//! Process of a node: the production engine, log and replica, started as the server starts them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kedge_actors::{Engine, EngineOptions};
use kedge_cluster::node::{
    Duties, Fingerprints, Replica, ReplicaFuture, ReplicaOptions, ReplicaParts,
};
use kedge_cluster::{Cluster, ClusterOptions, LeadSwitch, ReplicatedLog};
use kedge_log::frame::SectionKind;
use kedge_log::{LogReader, StoredFrame};
use kedge_replay::catch_up::open_store;
use kedge_runtime::env::Env;
use kedge_runtime::executor::{EngineRuntime as RunsOn, StepDelay, StepSchedule};
use kedge_storage::{LogReplicator, Store, StoreMode, StoreOptions};
use parking_lot::Mutex;
use tokio::runtime::Handle;

use super::anchoring::SharedContract;
use super::callers::NodesCallers;
use super::link::ServersLink;
use super::servers::SimulatedServers;
use crate::audit;
use crate::client::{self, DOMAIN};
use crate::directory::SEQUENCER;
use crate::ledger::LedgerExtent;
use crate::machine::SimulatedMachine;
use crate::options::options;
use crate::plan::Violation;
use crate::random::SimulationRandom;
use crate::schedule::SeededSchedule;

/// Pause before a node tries again to connect.
const AGAIN: Duration = Duration::from_millis(200);
/// Time for requests in flight when leadership is handed over.
const DRAIN: Duration = Duration::from_secs(2);

/// Parts of a running process.
#[derive(Clone)]
pub(super) struct NodeProcess {
    pub(super) engine: Engine,
    pub(super) store: Arc<Store>,
    pub(super) replica: Replica,
    pub(super) leading: LeadSwitch,
    log: std::path::PathBuf,
    env: Arc<dyn Env>,
}

/// Reason why a process did not start.
#[derive(Clone)]
pub(super) enum NodeStartError {
    /// It found a violation.
    Wrong(Violation),
    /// It could not start.
    Not(String),
}

/// Settings of all nodes of a run.
#[derive(Clone)]
pub(super) struct NodeSettings {
    pub(super) lease: Duration,
    pub(super) publish_timeout: Duration,
    pub(super) replicas_synced: usize,
}

/// Schedule of a node: as of any simulated engine, but the writer may wait for the stream within a step.
struct NodeSchedule(Arc<SeededSchedule>);

impl StepSchedule for NodeSchedule {
    fn before(&self, part: &'static str) -> StepDelay {
        self.0.before(part)
    }

    fn may_block(&self, part: &'static str) -> bool {
        part == "writer"
    }
}

/// Leader duties: none here.
struct NoDuties;

impl Duties for NoDuties {
    fn begin(&self) -> ReplicaFuture<Result<(), String>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn ended(&self) {}
}

impl NodeSettings {
    pub(super) fn of(random: &mut SimulationRandom, nodes: usize) -> Self {
        Self {
            lease: Duration::from_millis(800 + random.below(1_200)),
            publish_timeout: Duration::from_millis(500 + random.below(1_500)),
            replicas_synced: random.below(nodes.min(2) as u64) as usize,
        }
    }

    /// Engine options of a node.
    pub(super) fn engine(
        random: &mut SimulationRandom,
        machine: &SimulatedMachine,
        schedule: &Arc<SeededSchedule>,
    ) -> Result<EngineOptions, Violation> {
        let running = RunsOn::Tasks(Arc::new(NodeSchedule(Arc::clone(schedule))));
        Ok(EngineOptions {
            replicated: true,
            group_bytes_max: 1 << 20,
            ..options(random, machine, running, 3)?
        })
    }

    fn cluster(&self, node: &str) -> ClusterOptions {
        let servers = vec!["simulated".to_owned()];
        ClusterOptions {
            lease: self.lease,
            publish_timeout: self.publish_timeout,
            replicas_synced: self.replicas_synced,
            ..ClusterOptions::new(servers, "log", node)
        }
    }
}

/// Starts a process, as `src/start` does: connects, opens the store with its log in the stream, and takes part.
pub(super) async fn begin(
    setting: NodeSettings,
    (number, servers): (usize, Arc<Mutex<SimulatedServers>>),
    (options, store_options): (EngineOptions, StoreOptions),
    (callers, contract): (Arc<NodesCallers>, Option<Arc<SharedContract>>),
) -> Result<NodeProcess, NodeStartError> {
    let name = format!("node-{number}");
    let cluster = loop {
        let link = Arc::new(ServersLink::new(&servers, number, setting.publish_timeout));
        let connected = Cluster::simulated(setting.cluster(&name), DOMAIN.separator(), link);
        match connected.await {
            Ok(cluster) => break cluster,
            Err(_) => tokio::time::sleep(AGAIN).await,
        }
    };
    let leading = Arc::new(Mutex::new(None));
    let replicate = {
        let (cluster, leading) = (cluster.clone(), Arc::clone(&leading));
        let runtime = Handle::current();
        LogReplicator(Arc::new(move |file| {
            let (log, leads) = ReplicatedLog::new(file, cluster.clone(), runtime.clone());
            *leading.lock() = Some(leads);
            Box::new(log)
        }))
    };
    let (log_path, env) = (store_options.log_path.clone(), Arc::clone(&options.env));
    let not = |error: &dyn std::fmt::Display| NodeStartError::Not(error.to_string());
    let store = open_store(StoreOptions {
        replicate: Some(replicate),
        ..store_options
    });
    let store = Arc::new(store.map_err(|error| not(&error))?);
    if let StoreMode::ReadOnly(why) = store.mode() {
        return Err(NodeStartError::Not(why));
    }
    let log = leading.lock().take();
    let log = log.ok_or_else(|| NodeStartError::Not("the log is not shared".to_owned()))?;
    let checked = check_part(&store, &log_path, &env, &servers, &callers);
    checked.map_err(NodeStartError::Wrong)?;
    let engine = Engine::open(options, Arc::clone(&store)).map_err(|error| not(&error))?;
    if let Some(contract) = contract {
        let engine = engine.clone();
        tokio::spawn(async move { engine.watch_anchored(contract).await });
    }
    let options = ReplicaOptions {
        url: format!("http://{name}"),
        node: name,
        lease: setting.lease,
        drain: DRAIN,
        first_key: client::key(SEQUENCER)
            .map_err(NodeStartError::Wrong)?
            .address(),
    };
    let parts = ReplicaParts {
        engine: engine.clone(),
        store: Arc::clone(&store),
        cluster,
        log: log.clone(),
        duties: Arc::new(NoDuties),
        keys: Arc::new(Fingerprints::new),
    };
    Ok(NodeProcess {
        engine,
        store,
        replica: Replica::start(options, parts),
        leading: log,
        log: log_path,
        env,
    })
}

/// Checks the log of a node that may have less than the others.
fn check_part(
    store: &Store,
    log: &Path,
    env: &Arc<dyn Env>,
    servers: &Mutex<SimulatedServers>,
    callers: &NodesCallers,
) -> Result<(), Violation> {
    let snapshot = store.snapshot();
    audit::audit_to(&snapshot, &callers.ledger.lock(), LedgerExtent::Part)?;
    audit::verify(&snapshot, &client::key(SEQUENCER)?, None)?;
    same_frames(log, env, &servers.lock())
}

/// Checks a node that has everything.
pub(super) fn check_whole(
    running: &NodeProcess,
    servers: &Mutex<SimulatedServers>,
    callers: &NodesCallers,
    made: &Path,
) -> Result<(), Violation> {
    let snapshot = running.store.snapshot();
    audit::audit(&snapshot, &callers.ledger.lock())?;
    audit::verify(&snapshot, &client::key(SEQUENCER)?, Some(made))?;
    same_frames(&running.log, &running.env, &servers.lock())
}

/// Whether a node's frame is the stream's. A closed segment may lack sections that can be rebuilt; the frame's hash
/// covers their digests.
fn is_same(frame: &StoredFrame, stream: &StoredFrame) -> bool {
    let same = |kind| match frame.section(kind) {
        Some(section) => stream.section(kind) == Some(section),
        None => true,
    };
    frame.header().number == stream.header().number
        && frame.header().hash() == stream.header().hash()
        && SectionKind::ALL.into_iter().all(same)
}

/// Compares each frame of a node's log with the stream, byte for byte.
fn same_frames(
    log: &Path,
    env: &Arc<dyn Env>,
    servers: &SimulatedServers,
) -> Result<(), Violation> {
    let unread = |error: &dyn std::fmt::Display| Violation::new("a log cannot be read", error);
    let opened = LogReader::open(Arc::clone(env), log, None, 64 << 10);
    let (reader, _) = opened.map_err(|error| unread(&error))?;
    let mut stream = servers.frames();
    for frame in reader.frames(1) {
        let frame = frame.map_err(|error| unread(&error))?;
        let own = stream.next().map(|bytes| StoredFrame::read(bytes.to_vec()));
        let same = own.is_some_and(|own| own.is_ok_and(|own| is_same(&frame, &own)));
        if !same {
            let what = "a node's log holds a frame that is not the stream's";
            return Err(Violation::new(what, frame.header().number));
        }
    }
    Ok(())
}
