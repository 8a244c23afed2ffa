//! Start and stop of the edge process.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use hyper::Method;
use kedge_config::Config;
use kedge_config::secrets::{self, SecretError};
use kedge_http::cors::CorsPolicy;
use kedge_http::server::stop_signal::{self, ImmediateExit};
use kedge_http::server::{BoundListener, ServerError};
use kedge_net::shedding::LoadShedder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Semaphore;

use crate::edge::forwarding::RequestForwarder;
use crate::edge::handler::{EdgeHandler, ROOM_BYTES};
use crate::edge::metric_definitions;
use crate::edge::nodes::NodeDirectory;

/// Target of a request.
pub enum ForwardTarget {
    /// Any node, since it changes nothing.
    Node,
    Leader,
}

/// Chooses the target from method and path.
pub type ForwardRule = Box<dyn Fn(&Method, &str) -> ForwardTarget + Send + Sync>;

/// Time that an edge waits for the leader's answer beyond the leader's own limit.
const MARGIN: Duration = Duration::from_secs(2);

#[derive(Debug, thiserror::Error)]
pub enum EdgeError {
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error(transparent)]
    Trust(#[from] kedge_net::trust::TrustError),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error("{0}")]
    System(#[from] std::io::Error),
}

/// Serves until SIGINT or SIGTERM, then lets requests in flight finish for a bounded time.
///
/// # Errors
/// [`EdgeError`], if it cannot start.
pub async fn run(config: Config, route: ForwardRule) -> Result<(), EdgeError> {
    // A SIGHUP during the start must not end the process.
    let hangups = signal(SignalKind::hangup())?;
    let ends_at_once = ImmediateExit::begin()?;
    metric_definitions::describe();
    let name = config.edge_name.clone();
    let bound = BoundListener::bind(&config).await?;
    let http = kedge_cluster::node::node_client()?;
    let nodes = NodeDirectory::new(&config.edge_nodes, http.clone());
    nodes.watch();
    let wait_target = Duration::from_millis(config.wait_target_ms);
    let shedding =
        LoadShedder::start(wait_target, config.requests_min).map_err(ServerError::Probe)?;
    let room = config.body_bytes_total_max / ROOM_BYTES as usize;
    let edge = EdgeHandler {
        passing: RequestForwarder::new(http, &name),
        room: Arc::new(Semaphore::new(room)),
        body_timeout: Duration::from_secs(config.body_timeout_s),
        patience: Duration::from_secs(config.request_timeout_s) + MARGIN,
        name,
        nodes,
        route,
        header_bytes_max: config.header_bytes_max,
        cors: CorsPolicy::new(config.cors_origins.clone()),
        tls: bound.tls().is_some(),
        process: const_hex::encode(secrets::random::<6>()?),
        next_id: AtomicU64::new(1),
    };
    reload_on_hangup(hangups, &bound);
    // Before the announcement, so that a stop right after it is noticed.
    let stop = stop_signal::signal()?;
    drop(ends_at_once);
    announce(&bound.url())?;
    bound.serve(&config, edge, shedding, stop, || ()).await;
    tracing::info!("stopped");
    Ok(())
}

/// Reads the certificate again on SIGHUP; an unreadable one changes nothing.
fn reload_on_hangup(mut hangups: Signal, bound: &BoundListener) {
    let Some(tls) = bound.tls() else {
        return;
    };
    tokio::spawn(async move {
        while hangups.recv().await.is_some() {
            match tls.reload() {
                Ok(()) => tracing::info!("the certificate was reloaded"),
                Err(error) => tracing::error!(%error, "the certificate could not be reloaded"),
            }
        }
    });
}

/// Prints the edge's address.
fn announce(url: &str) -> Result<(), std::io::Error> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(format!("listening on {url}\n").as_bytes())?;
    stdout.flush()
}
