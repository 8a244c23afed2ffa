//! ApiServices that calls borrow: the engine, and what features and requests share. Each part owns its state.
//!
//! - [`access`](CallerAccess): tokens, keys, passwords, signatures; who calls.
//! - [`limits`](RequestLimits), [`reads`](ReadServices), [`changes`](ChangeServices): permits and shared state of
//!   requests.
//! - [`node`](NodeIdentity): this server among others.

mod caller_access;
mod changes;
mod limits;
mod node;
mod reads;

use std::sync::Arc;
use std::time::Duration;

use kedge_actors::{Engine, PublishedState};
use kedge_config::Config;
use kedge_config::secrets::{self, SecretError};
use kedge_http::auth::keys::KeysError;
use kedge_http::auth::password::PasswordError;
use kedge_http::body::BodyReader;
use kedge_http::claims::ClaimChecker;
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::events::EventStreams;
use kedge_http::files::FileContents;
use kedge_http::idempotency::in_flight::KeysInFlight;
use kedge_http::operator::OperatorKey;
use kedge_http::submitter::RequestSubmitter;
use kedge_protocol::signature::SigningKey;
use kedge_telemetry::Tracer;
use kedge_webhooks::WebhookSender;
use kedge_webhooks::delivery::DeliveryService;
use kedge_webhooks::post::PosterError;

use crate::api::disputes::recorder::DisputeRecorder;

pub use caller_access::{CallerAccess, LAG_MAX};
pub use changes::ChangeServices;
pub use limits::RequestLimits;
pub use node::NodeIdentity;
pub use reads::ReadServices;

pub struct ApiServices {
    /// The engine, which accepts changes and answers reads.
    pub engine: Engine,
    pub access: CallerAccess,
    pub limits: RequestLimits,
    pub reads: ReadServices,
    pub changes: ChangeServices,
    pub node: NodeIdentity,
    pub bodies: BodyReader,
    pub files: FileContents,
    pub streams: Arc<EventStreams>,
    pub disputes: DisputeRecorder,
    pub claims: ClaimChecker,
    /// Sends messages to webhooks.
    pub webhooks: Arc<WebhookSender>,
    /// Deliveries of events to webhooks, while this node leads.
    pub deliveries: DeliveryService,
    /// Traces requests, if a collector is configured.
    pub tracer: Option<Tracer>,
    /// Time that the engine has for a change.
    pub request_timeout: Duration,
}

impl ApiServices {
    /// Waits for what a read asked for, but no longer than until the server stops: such a wait has nothing to finish, and
    /// would hold up the stop.
    ///
    /// # Errors
    /// The server stops.
    pub async fn unless_stopping<T>(&self, awaited: impl Future<Output = T>) -> ApiResult<T> {
        tokio::select! {
            came = awaited => Ok(came),
            () = self.streams.stopped() => Err(ApiError::stopping()),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ServicesError {
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Keys(#[from] KeysError),
    #[error(transparent)]
    Webhooks(#[from] PosterError),
    #[error(transparent)]
    Password(#[from] PasswordError),
}

impl ApiServices {
    /// Builds everything around a running engine. Creates the directory of keys if it is missing.
    pub fn new(
        config: &Config,
        engine: Engine,
        operator_key: Option<SigningKey>,
        claims: ClaimChecker,
        (public_url, tracer): (String, Option<Tracer>),
    ) -> Result<Self, ServicesError> {
        let keys_dir = config.keys_dir();
        secrets::make_private_dir(&keys_dir)?;
        let access = CallerAccess::open(config, &engine, &keys_dir, &public_url)?;
        let limits = RequestLimits::new(config, engine.clone());
        let submitter = RequestSubmitter::new(engine.clone(), Arc::clone(&limits.rates));
        let operator = |key| OperatorKey::new(key, submitter.clone(), Arc::clone(&access.verifier));
        let operator = operator_key.map(operator).map(Arc::new);
        Ok(Self {
            reads: ReadServices::open(config, &keys_dir)?,
            bodies: BodyReader::new(config),
            files: FileContents::open(config, engine.clone())?,
            streams: Arc::new(EventStreams::new(config, engine.clone())),
            disputes: DisputeRecorder::new(engine.clone(), operator.clone()),
            webhooks: Arc::new(WebhookSender::new(config, engine.clone())?),
            deliveries: DeliveryService::new(engine.clone()),
            changes: ChangeServices {
                in_progress: KeysInFlight::default(),
                key_lifetime_s: config.idempotency_key_s,
                operator,
                submitter,
            },
            node: NodeIdentity::new(config, public_url),
            request_timeout: Duration::from_secs(config.request_timeout_s),
            access,
            limits,
            claims,
            tracer,
            engine,
        })
    }

    /// The last published state: the log's head, and the store as of that head.
    pub fn published(&self) -> Arc<PublishedState> {
        self.engine.published()
    }
}
