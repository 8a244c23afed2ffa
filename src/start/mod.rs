//! Start and stop: keys, chain, store, engine, anchoring, HTTP, in this order; and back.
//!
//! SIGTERM and SIGINT stop accepting, let requests in flight finish, stop the actors and the committer, and close the
//! store. A failed write, or a failed actor that others depend on, ends the process; everything acknowledged is on
//! disk.

mod anchoring;
mod chain;
mod cluster;
mod edge;
mod sequencer_keys;
mod shared_contents;
mod shared_keys;
mod store;
mod timekeeping;
mod webhooks;

use std::io::Write as _;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use kedge_actors::timekeeper::Timekeeper;
use kedge_actors::{Engine, EngineOptions, HeldKeys};
use kedge_cluster::node::Replica;
use kedge_config::secrets::{self, SecretError};
use kedge_config::{Config, StartAllowances};
use kedge_http::clock::{self, now_s};
use kedge_http::server::stop_signal::{self, ImmediateExit};
use kedge_http::server::{BoundListener, ServerError, open_files, store_failure};
use kedge_net::tls::ServerCertificate;
use kedge_protocol::Address;
use kedge_protocol::signature::SigningKey;
use kedge_runtime::env::{Env, RealEnv};
use kedge_runtime::executor::EngineRuntime;
use kedge_storage::{SideWrite, Store, StoreMode, StoreOpenError};
use kedge_telemetry::logging::{self, LoggingError};
use kedge_telemetry::{Tracer, TracingError};
use kedge_upkeep::archive::{self, ArchiveError};
use kedge_upkeep::private_files::{PrivateFileError, make_private_from_now_on, tighten};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::admin::{self, AdminBackupSource, AdminError};
use crate::api::services::{ApiServices, ServicesError};
use crate::console::socket::OperatorSocket;
use crate::metrics::{self, MetricsError};
use kedge_http::claims::{ClaimChecker, ClaimsKeyError};

pub use anchoring::AnchoringTask;
pub use chain::{ChainConnection, ChainError};
use cluster::{LeaderDuties, StreamConnection};
pub use kedge_http::server::store_failure::exit_at_once;
pub use store::LostKeyError;

/// Cached actors of organizations.
const ORGANIZATIONS_LIVE_MAX: usize = 10_000;
/// Keys whose versions the sequencer caches.
const RECENT_KEYS_MAX: usize = 1 << 20;
/// Bytes of cached templates, with compiled schemas, and variations.
const CATALOG_BYTES_MAX: usize = 512 * 1024 * 1024;
/// Bytes of objects held by decisions in flight.
const DECIDED_BYTES_MAX: usize = 512 * 1024 * 1024;
/// Wallets whose addresses are cached.
const RECIPIENTS_MAX: usize = 100_000;
/// Bytes of texts of one commit group.
const GROUP_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Free bytes of disk below which no write begins.
const DISK_RESERVE_BYTES: u64 = 256 * 1024 * 1024;

/// Reason why the server does not start or ended: the part that failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Logging(#[from] LoggingError),
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    #[error(transparent)]
    Tracing(#[from] TracingError),
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error("{0}")]
    SequencerKey(#[from] sequencer_keys::WrongKeyError),
    #[error(transparent)]
    LostKey(#[from] LostKeyError),
    /// A new key cannot seal side entries.
    #[error(transparent)]
    SealKey(#[from] kedge_storage::SealError),
    /// Other users can read the data directory.
    #[error(transparent)]
    Private(#[from] PrivateFileError),
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error(transparent)]
    Cluster(#[from] kedge_cluster::ConnectError),
    /// The system allows too few open files.
    #[error(transparent)]
    OpenFiles(#[from] open_files::OpenFilesError),
    #[error(transparent)]
    Edge(#[from] crate::edge::EdgeError),
    #[error(transparent)]
    Store(#[from] StoreOpenError),
    #[error(transparent)]
    Engine(#[from] kedge_actors::StartError),
    #[error("anchoring: {0}")]
    Anchoring(#[from] kedge_chain::sender::AnchorSenderError),
    /// The store could not be read.
    #[error("the store could not be read: {0}")]
    Read(#[from] kedge_storage::StoreReadError),
    /// The list of archived segments.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error(transparent)]
    Claims(#[from] ClaimsKeyError),
    #[error(transparent)]
    App(#[from] ServicesError),
    /// The operator's socket.
    #[error(transparent)]
    Admin(#[from] AdminError),
    #[error("{0}")]
    System(#[from] std::io::Error),
    /// A task of the start panicked.
    #[error("starting: {0}")]
    Task(#[from] tokio::task::JoinError),
    /// Not everything was written at the stop.
    #[error(
        "the store did not write everything within drain_timeout_s; unanswered requests may be lost"
    )]
    NotWritten,
}

/// Makes private directories.
fn make_directories(config: &Config) -> Result<(), RunError> {
    secrets::make_private_dir(&config.data_dir)?;
    tighten(&config.data_dir)?;
    secrets::make_private_dir(&config.keys_dir())?;
    Ok(())
}

/// A server or an edge until it ends, or the message of its error. In a box, it is compiled with this library, and not
/// with the program.
pub type ProgramFuture = Pin<Box<dyn Future<Output = Result<(), String>>>>;

/// The server, as the program runs it.
pub fn server(config: Config, allowances: StartAllowances) -> ProgramFuture {
    boxed(run(config, allowances))
}

/// An edge, as the program runs it.
pub fn edge(config: Config) -> ProgramFuture {
    boxed(edge::run(config))
}

fn boxed(work: impl Future<Output = Result<(), RunError>> + 'static) -> ProgramFuture {
    Box::pin(async move { work.await.map_err(|error| error.to_string()) })
}

/// Serves until SIGINT or SIGTERM. If the engine cannot continue, the process ends instead.
async fn run(config: Config, allowances: StartAllowances) -> Result<(), RunError> {
    logging::init(&config)?;
    // A SIGHUP during the start must not end the process; it is handled at the end of the start.
    let hangups = signal(SignalKind::hangup())?;
    let ends_at_once = ImmediateExit::begin()?;
    make_private_from_now_on();
    open_files::allow(&config)?;
    let env: Arc<dyn Env> = Arc::new(RealEnv);
    let time = timekeeping::timekeeper(&config, &env);
    clock::keep(Arc::clone(&time));
    let handle = metrics::install()?;
    let tracer = Tracer::start(&config, &metrics::SECONDS)?;
    if let Some(address) = config.metrics_listen {
        let bound = metrics::serve(address, handle, tracer.clone()).await?;
        tracing::info!(url = %format_args!("http://{bound}/metrics"), "metrics");
    }
    let bound = BoundListener::bind(&config).await?;
    make_directories(&config)?;
    let (first_key, keys) = sequencer_keys::held(&config)?;
    let operator_key = operator_key(&config)?;
    let chain = ChainConnection::open(&config, first_key).await?;
    chain.check_new(&config).await?;
    let claims = ClaimChecker::open(&config, chain.domain().chain_id)?;
    let connected = StreamConnection::connect(&config, &chain.domain(), &bound).await?;
    let replicate = connected.as_ref().map(StreamConnection::replicate);
    let opened = store::open(&config, &env, &chain, first_key, allowances, replicate).await?;
    open_files::check()?;
    sequencer_keys::check(&opened.store, &keys, connected.is_some())?;
    let archived = archive::announce(&opened.store, &config.data_dir)?;
    let store = Arc::clone(&opened.store);
    let options = engine_options(&config, &env, &chain, (keys, time), connected.is_some());
    let engine = match &connected {
        None => Engine::start(options, store).await?,
        Some(_) => Engine::open(options, store)?,
    };
    store_failure::end_process(engine.failure())?;
    let parts = StartParts {
        env,
        chain: &chain,
        opened,
        archived,
        operator_key,
        claims,
        bound,
        connected,
        first_key,
        tracer: tracer.clone(),
        hangups,
        ends_at_once,
    };
    let served = serve(&config, &engine, parts).await;
    // Even if serving never began: no thread of the engine outlives the store.
    let patience = Duration::from_secs(config.drain_timeout_s);
    let is_written = engine.shutdown(patience).await;
    if engine.failure().reason().is_some() {
        // The failure is already ending the process.
        std::future::pending::<()>().await;
    }
    chain.shutdown().await;
    if let Some(tracer) = &tracer {
        tracer.stop().await;
    }
    served?;
    if is_written {
        Ok(())
    } else {
        Err(RunError::NotWritten)
    }
}

/// Everything opened before the engine started.
struct StartParts<'a> {
    env: Arc<dyn Env>,
    chain: &'a ChainConnection,
    opened: store::OpenedStore,
    archived: archive::ArchiveRecord,
    operator_key: Option<SigningKey>,
    claims: ClaimChecker,
    bound: BoundListener,
    connected: Option<StreamConnection>,
    first_key: Address,
    tracer: Option<Tracer>,
    hangups: Signal,
    ends_at_once: ImmediateExit,
}

/// Serves until SIGINT or SIGTERM, and stops everything that depends on the engine.
async fn serve(config: &Config, engine: &Engine, parts: StartParts<'_>) -> Result<(), RunError> {
    let StartParts { chain, bound, .. } = parts;
    timekeeping::watch(engine.clone(), &*parts.env, chain.second_source()).await;
    sequencer_keys::ask_contract(chain, engine).await;
    let anchoring = AnchoringTask::new(config, chain, engine, parts.tracer.as_ref());
    let is_single = parts.connected.is_none();
    if is_single {
        engine.await_first_root(FIRST_ROOT_PATIENCE).await?;
        anchoring.begin().await?;
    }
    let url = bound.url();
    let public_url = config.public_url.clone().unwrap_or_else(|| url.clone());
    let operator = cluster::address_of(parts.operator_key.as_ref());
    let operator_key = if is_single {
        stored(parts.operator_key, engine).await?
    } else {
        parts.operator_key
    };
    let services = ApiServices::new(
        config,
        engine.clone(),
        operator_key,
        parts.claims,
        (public_url, parts.tracer),
    )?;
    services.reads.key_proofs.replace(parts.archived.key_proofs);
    // A store that is read-only, or that the chain may still contradict, may lack rows that a newer copy of it has. So
    // may that of a cluster's node.
    if is_single && parts.opened.chain_agrees && engine.mode() == StoreMode::ReadWrite {
        services.files.sweep()?;
    }
    let services = Arc::new(services);
    if let Some(overdue) = kedge_http::v2::LegacyLayer::new(config).overdue(now_s()) {
        tracing::warn!("{overdue}");
    }
    let duties = LeaderDuties {
        config: config.clone(),
        services: Arc::clone(&services),
        anchoring: anchoring.clone(),
        operator,
    };
    let shared = (Arc::clone(&parts.opened.store), parts.first_key);
    let joined = parts.connected.map(|log| (log, shared));
    // Boxed because it is large, and awaited only once.
    let replica = Box::pin(take_part(joined, &url, duties)).await?;
    let store = parts.opened.store;
    let socket = administer(config, store, &services, &anchoring).await?;
    reload_on_hangup(parts.hangups, bound.tls(), Arc::clone(&services));
    let counting = Arc::clone(&services);
    tokio::spawn(async move { counting.limits.rates.keep_stored().await });
    // Before the announcement, so that a stop right after it is noticed.
    let stop = stop_signal::signal()?;
    drop(parts.ends_at_once);
    announce(&url, chain, config)?;
    crate::server::serve(bound, config, Arc::clone(&services), stop).await?;

    tracing::info!("stopping");
    services.limits.rates.store().await;
    if let Some(replica) = &replica {
        replica.stop().await;
    }
    drop(socket);
    anchor_before_stop(config, engine, &anchoring).await;
    Ok(())
}

/// Opens the admin socket, and the operator's page if it is configured.
async fn administer(
    config: &Config,
    store: Arc<Store>,
    services: &Arc<ApiServices>,
    anchoring: &AnchoringTask,
) -> Result<OperatorSocket, RunError> {
    let copied = AdminBackupSource {
        store,
        data: config.data_dir.clone(),
    };
    let page = operator_page(config)?;
    let (path, services) = (config.admin_socket(), Arc::clone(services));
    Ok(admin::serve(&path, services, anchoring.clone(), copied, page).await?)
}

/// Address of the operator's page, and the token of its commands.
fn operator_page(config: &Config) -> Result<Option<(SocketAddr, String)>, SecretError> {
    let Some(address) = config.operator_page_listen else {
        return Ok(None);
    };
    let token = secrets::read_or_make_32(&config.keys_dir().join("operator-page.token"))?;
    Ok(Some((address, const_hex::encode(token))))
}

/// Anchors before the stop, if that is configured and this node may.
async fn anchor_before_stop(config: &Config, engine: &Engine, anchoring: &AnchoringTask) {
    if config.anchor_on_shutdown && engine.mode() == StoreMode::ReadWrite {
        let limit = Duration::from_secs(config.anchor_on_shutdown_timeout_s);
        anchoring.anchor_before_stop(limit).await;
    }
}

/// Joins the cluster or, on a single node, starts the leader's duties.
async fn take_part(
    joined: Option<(StreamConnection, (Arc<Store>, Address))>,
    url: &str,
    duties: LeaderDuties,
) -> Result<Option<Replica>, RunError> {
    let (config, services) = (duties.config.clone(), Arc::clone(&duties.services));
    let Some((connected, (store, first_key))) = joined else {
        webhooks::start(&config, &services).await?;
        return Ok(None);
    };
    let replica = connected.start(&config, url, first_key, store, duties);
    if let Some(replica) = &replica {
        // This runs once.
        let _ = services.node.replica.set(replica.clone());
    }
    Ok(replica)
}

fn operator_key(config: &Config) -> Result<Option<SigningKey>, SecretError> {
    let file = config.operator_key_file.as_deref();
    let variable = "KEDGE_OPERATOR_KEY";
    let named = file.is_some() || std::env::var_os(variable).is_some();
    if named {
        secrets::signing_key(file, "operator_key_file", variable).map(Some)
    } else if config.dev {
        secrets::development_key(&config.keys_dir().join("operator.key")).map(Some)
    } else {
        Ok(None)
    }
}

/// Stores the operator key's address before the key is used: now, or on a store that accepts no writes, with the
/// operator's first action.
async fn stored(key: Option<SigningKey>, engine: &Engine) -> Result<Option<SigningKey>, RunError> {
    let Some(key) = key else {
        return Ok(None);
    };
    let mut known = engine.published().snapshot.operators()?;
    if !known.contains(&key.address()) {
        known.push(key.address());
        if let Err(error) = engine.side_write(SideWrite::Operators(known)).await {
            tracing::warn!(%error, "the operator's address could not be stored yet");
        }
    }
    Ok(Some(key))
}

/// The only place where the configuration becomes an engine.
fn engine_options(
    config: &Config,
    env: &Arc<dyn Env>,
    chain: &ChainConnection,
    (keys, time): (HeldKeys, Arc<Timekeeper>),
    replicated: bool,
) -> EngineOptions {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    EngineOptions {
        env: Arc::clone(env),
        domain: chain.domain(),
        keys,
        contract: Some(chain.contract()),
        time,
        running: EngineRuntime::Threads {
            actors: if config.actor_threads == 0 {
                (cores / 2).max(1)
            } else {
                config.actor_threads
            },
        },
        shards: if config.shards == 0 {
            cores
        } else {
            config.shards
        },
        objects_live_max: config.objects_live_max,
        organizations_live_max: ORGANIZATIONS_LIVE_MAX,
        requests_max: config.requests_max,
        requests_min: config.requests_min,
        wait_target: Duration::from_millis(config.wait_target_ms),
        actions_max: config.actions_max,
        compare_groups_every: config.compare_groups_every,
        organization_share_percent: config.organization_share_percent,
        recent_keys_max: RECENT_KEYS_MAX,
        decided_bytes_max: DECIDED_BYTES_MAX,
        catalog_bytes_max: CATALOG_BYTES_MAX,
        recipients_max: RECIPIENTS_MAX,
        data_path: config.data_dir.clone(),
        disk_reserve_bytes: DISK_RESERVE_BYTES,
        replicated,
        group_bytes_max: if replicated {
            kedge_cluster::node::GROUP_BYTES_MAX
        } else {
            GROUP_BYTES_MAX
        },
        roots: Some(kedge_actors::RootOptions {
            interval: Duration::from_secs(config.checkpoint_interval_s),
            kept: Duration::from_secs(config.state_proofs_kept_days * DAY_S),
            kept_bytes: config.state_proofs_kept_bytes,
        }),
    }
}

const DAY_S: u64 = 24 * 60 * 60;
/// How long the start of a new log waits for its first checkpoint, so that no caller finds none.
const FIRST_ROOT_PATIENCE: Duration = Duration::from_secs(5);

/// Reads certificate and token keys again on SIGHUP; unreadable ones change nothing.
fn reload_on_hangup(
    mut hangups: Signal,
    tls: Option<Arc<ServerCertificate>>,
    services: Arc<ApiServices>,
) {
    tokio::spawn(async move {
        while hangups.recv().await.is_some() {
            match tls.as_ref().map(|tls| tls.reload()) {
                Some(Ok(())) => tracing::info!("the certificate was reloaded"),
                Some(Err(error)) => {
                    tracing::error!(%error, "the certificate could not be reloaded");
                }
                None => {}
            }
            match services.access.tokens.reload() {
                Ok(()) => tracing::info!("the token keys were reloaded"),
                Err(error) => tracing::error!(%error, "the token keys could not be reloaded"),
            }
        }
    });
}

/// Prints where the server is and what to try.
fn announce(url: &str, chain: &ChainConnection, config: &Config) -> Result<(), std::io::Error> {
    let domain = chain.domain();
    let socket = config.admin_socket();
    let socket = socket.display();
    let rpc = chain.url().unwrap_or("<chain_rpc_url>");
    let console = crate::console::announcement(config.console, url);
    let text = format!(
        "listening on {url}\n\
         chain id     {}\n\
         contract     {}\n\
         console      {console}\n\
         \n\
         Try:\n  \
           curl {url}/.well-known/eip712-domain.json\n  \
           kedge demo --url {url} --socket {socket} --rpc {rpc}\n  \
           curl {url}/batches\n",
        domain.chain_id,
        chain.contract(),
    );
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
