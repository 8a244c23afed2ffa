//! A node's connection to the servers that carry the log.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::jetstream::kv::Store;
use async_nats::{Client, ConnectErrorKind, ConnectOptions};
use kedge_protocol::Hash;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::error::{ConnectError, StreamError};
use crate::health::{self, ClusterHealth};
use crate::nats::Nats;
use crate::options::ClusterOptions;
use crate::reconnection::{Chooser, ReconnectBackoff};
use crate::servers::ClusterServers;
use crate::sync_reports::SyncedPosition;
use crate::{monitors, settings, sync_reports};

/// A server that leaves two pings unanswered is abandoned: a paused one keeps its connections.
const PING_INTERVAL: Duration = Duration::from_millis(500);
const RECONNECT_DELAY_MAX: Duration = Duration::from_secs(1);

/// A node's connection to the servers that carry a log. Clones share it.
#[derive(Clone)]
pub struct Cluster(pub(crate) Arc<ClusterInner>);

pub(crate) struct ClusterInner {
    pub(crate) options: ClusterOptions,
    pub(crate) identity: Hash,
    /// The runtime of [`Cluster::connect`], for callers on other threads.
    pub(crate) runtime: Handle,
    pub(crate) servers: Arc<dyn ClusterServers>,
    /// The same servers, for features that only NATS has; `None` in a simulator.
    nats: Option<Arc<Nats>>,
    /// A frame's place in the stream minus its number; `None` until a message was read.
    pub(crate) offset: Mutex<Option<i64>>,
    /// How far this node has synced; `None` unless the stream continues its log.
    pub(crate) reported: watch::Sender<Option<SyncedPosition>>,
    /// How far each other node has synced.
    pub(crate) synced: watch::Receiver<BTreeMap<String, SyncedPosition>>,
    pub(crate) roaming: ReconnectBackoff,
    health: watch::Receiver<ClusterHealth>,
    /// Aborted with the last clone.
    _tasks: JoinSet<()>,
}

impl Cluster {
    /// Connects, creates the log's stream and bucket if they are missing, and checks their settings and the servers'.
    /// `identity` is the separator of the log's domain.
    ///
    /// # Errors
    /// [`ConnectError`] if no server answers, or the settings of servers or stream do not suit the log.
    pub async fn connect(options: ClusterOptions, identity: Hash) -> Result<Self, ConnectError> {
        options.check()?;
        let (health, events) = health::channel();
        let client = dial(&options, health).await?;
        monitors::check(&options).await?;
        let server = client.server_info();
        // Only servers that may be unsynced can be this old: see `monitors::check`.
        if !client.is_server_compatible(2, 10, 0) {
            tracing::warn!(
                version = server.version,
                "the NATS servers are older than 2.10: after a loss they may elect no leader, or one that lacks acknowledged frames"
            );
        }
        let needed = options.payload_bytes_max();
        if server.max_payload < needed {
            return Err(ConnectError::Payload {
                server: server.server_name,
                found: server.max_payload,
                needed,
            });
        }
        let context = ContextBuilder::new()
            .timeout(options.publish_timeout)
            .ack_timeout(options.publish_timeout)
            .build(client.clone());
        settings::stream(&context, &options, &identity).await?;
        let bucket = settings::bucket(&context, &options).await?;
        let nats = open(&options, client, context, bucket).await?;
        let servers = Arc::clone(&nats) as _;
        Self::of(options, identity, servers, Some(nats), events).await
    }

    /// Connects to a simulator's servers. They lack NATS's other features: leader requests, file contents, reseeding.
    ///
    /// # Errors
    /// [`ConnectError`] if the options are wrong, or the servers do not answer.
    pub async fn simulated(
        options: ClusterOptions,
        identity: Hash,
        servers: Arc<dyn ClusterServers>,
    ) -> Result<Self, ConnectError> {
        options.check()?;
        Self::of(options, identity, servers, None, health::channel().1).await
    }

    async fn of(
        options: ClusterOptions,
        identity: Hash,
        servers: Arc<dyn ClusterServers>,
        nats: Option<Arc<Nats>>,
        health: watch::Receiver<ClusterHealth>,
    ) -> Result<Self, ConnectError> {
        let mut tasks = JoinSet::new();
        let reported = watch::channel(None).0;
        sync_reports::spawn_reporting(&mut tasks, &servers, &options, reported.subscribe());
        let synced = sync_reports::spawn_hearing(&mut tasks, &servers, &options).await;
        let synced = synced.map_err(|error| engine("the nodes' subject cannot be read", &error))?;
        Ok(Self(Arc::new(ClusterInner {
            options,
            identity,
            runtime: Handle::current(),
            servers,
            nats,
            offset: Mutex::new(None),
            reported,
            synced,
            roaming: ReconnectBackoff::default(),
            health,
            _tasks: tasks,
        })))
    }

    /// The options given to [`Cluster::connect`].
    pub fn options(&self) -> &ClusterOptions {
        &self.0.options
    }

    /// State of the connection.
    pub fn health(&self) -> watch::Receiver<ClusterHealth> {
        self.0.health.clone()
    }
}

impl ClusterInner {
    /// The NATS connection, for features that only NATS has.
    pub(crate) fn nats(&self) -> Result<&Nats, StreamError> {
        let missing = || StreamError::Unreachable("these servers are not NATS".to_owned());
        self.nats.as_deref().ok_or_else(missing)
    }
}

fn engine(what: &str, error: &dyn std::fmt::Display) -> ConnectError {
    ConnectError::Engine {
        what: what.to_owned(),
        why: error.to_string(),
    }
}

/// Opens the log's existing stream.
async fn open(
    options: &ClusterOptions,
    client: Client,
    context: Context,
    bucket: Store,
) -> Result<Arc<Nats>, ConnectError> {
    let stream = context.get_stream_no_info(options.stream()).await;
    let stream = stream.map_err(|error| engine("the stream cannot be read", &error))?;
    Ok(Arc::new(Nats {
        options: options.clone(),
        client,
        context,
        stream,
        bucket,
    }))
}

async fn dial(
    options: &ClusterOptions,
    health: watch::Sender<ClusterHealth>,
) -> Result<Client, ConnectError> {
    let health = Arc::new(health);
    let chooser = Chooser::default();
    let mut connecting = ConnectOptions::new()
        .name(format!("kedge {} {}", options.name, options.node))
        .custom_inbox_prefix(options.inbox_prefix())
        .ping_interval(PING_INTERVAL)
        .connection_timeout(Duration::from_secs(2))
        .request_timeout(Some(options.publish_timeout))
        .reconnect_delay_callback(|attempts| {
            let delay = Duration::from_millis(50 << attempts.min(5));
            delay.min(RECONNECT_DELAY_MAX)
        })
        .reconnect_to_server_callback(move |pool, before| {
            std::future::ready(chooser.choose(&pool, &before))
        })
        .event_callback(move |event| {
            let health = Arc::clone(&health);
            async move { health::note(&health, &event) }
        })
        .require_tls(options.require_tls);
    if let Some(file) = &options.ca_file {
        connecting = connecting.add_root_certificates(file.clone());
    }
    if let (Some(certificate), Some(key)) = (&options.certificate_file, &options.key_file) {
        connecting = connecting.add_client_certificate(certificate.clone(), key.clone());
    }
    if let Some(file) = &options.credentials_file {
        let read = connecting.credentials_file(file).await;
        connecting = read.map_err(|error| ConnectError::File {
            path: file.clone(),
            why: error.to_string(),
        })?;
    }
    let connected = connecting.connect(options.servers.clone()).await;
    connected.map_err(|error| ConnectError::Servers {
        servers: options.servers.join(", "),
        why: error.to_string(),
        refused: matches!(
            error.kind(),
            ConnectErrorKind::ServerParse
                | ConnectErrorKind::Authentication
                | ConnectErrorKind::AuthorizationViolation
                | ConnectErrorKind::Tls
        ),
    })
}
