//! What every request works with.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::HeaderMap;
use kedge_actors::api::{ActionOutcome, Made, Outcome, Submission, SubmitError};
use kedge_actors::{Engine, Published};
use kedge_machine::image::Image;
use kedge_protocol::Address;
use tokio::sync::Semaphore;

use crate::auth::api_key::ApiKeys;
use crate::auth::bearer::AccessTokens;
use crate::auth::code::{InvitationCodes, MacKey};
use crate::auth::keys::KeysError;
use crate::auth::password::{PasswordError, Passwords};
use crate::auth::session::Sessions;
use crate::auth::{self, Session};
use crate::batches::Batches;
use crate::body;
use crate::claims::Claims;
use crate::config::Config;
use crate::config::secrets::{self, SecretError};
use crate::cors::Cors;
use crate::cursor::Cursors;
use crate::disputes::Recorder;
use crate::error::{ApiError, NONCE_HIGHEST};
use crate::events::Streams;
use crate::files::Files;
use crate::idempotency::InProgress;
use crate::limits::RateLimits;
use crate::operator::Operator;
use crate::signing::{Request, Verifier};
use crate::v2;
use crate::webhooks::Sender;
use crate::webhooks::post::PosterError;

/// Requests whose text is longer are hashed on a thread of their own: the smaller ones take less
/// time than handing them over, and the runtime's few workers are a bounded pool already.
const INLINE_BYTES_MAX: usize = 256 * 1024;

/// The server's parts.
pub struct App {
    /// Where changes go and what is read.
    pub engine: Engine,
    /// Checks signatures.
    pub verifier: Arc<Verifier>,
    /// Access tokens.
    pub access: AccessTokens,
    /// API keys.
    pub api_keys: ApiKeys,
    /// Codes of invitations.
    pub invitations: InvitationCodes,
    /// Refresh tokens.
    pub sessions: Sessions,
    /// Password hashes.
    pub passwords: Passwords,
    /// Rate limits.
    pub limits: RateLimits,
    /// Cursors of lists.
    pub cursors: Cursors,
    /// Sealed batches at hand.
    pub batches: Batches,
    /// Reads bodies.
    pub bodies: body::Reader,
    /// Contents of files.
    pub files: Files,
    /// Permits for contents and exports that are being sent.
    pub downloads: Arc<Semaphore>,
    /// How long a caller may leave a piece of an answer untaken.
    pub write_timeout: Duration,
    /// Streams of events.
    pub streams: Arc<Streams>,
    /// Permits for requests under way.
    pub requests: Arc<Semaphore>,
    /// Idempotency keys of requests under way.
    pub idempotency: InProgress,
    /// Records verdicts.
    pub disputes: Recorder,
    /// Checks claims.
    pub claims: Claims,
    /// Seconds that a key is remembered.
    pub idempotency_key_s: u64,
    /// Signs the operator's actions, where there is a key for that.
    pub operator: Option<Operator>,
    /// Answers v2 paths.
    pub v2: v2::Layer,
    /// Pages of which origins may call.
    pub cors: Cors,
    /// Sends to webhooks.
    pub webhooks: Sender,
    /// The URL that callers know.
    pub public_url: String,
    large_hashes: Arc<Semaphore>,
    long_reads: Arc<Semaphore>,
    request_timeout: Duration,
}

/// Why the parts could not be made.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// A secret.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The keys of access tokens.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// Sending to webhooks.
    #[error(transparent)]
    Webhooks(#[from] PosterError),
    /// Password hashing.
    #[error(transparent)]
    Password(#[from] PasswordError),
}

impl App {
    /// Makes the parts around an engine that runs. The directory of keys is made if it is not there.
    pub fn new(
        config: &Config,
        engine: Engine,
        operator: Option<Operator>,
        claims: Claims,
        public_url: String,
    ) -> Result<Self, AppError> {
        let keys_dir = config.keys_dir();
        secrets::make_private_dir(&keys_dir)?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Self {
            verifier: Arc::new(Verifier::new(*engine.domain())),
            access: AccessTokens::open(
                keys_dir.clone(),
                public_url.clone(),
                config.access_token_s,
                config.token_cache_entries,
            )?,
            api_keys: ApiKeys::new(
                secrets::read_or_make_32(&keys_dir.join("api-key.key"))?,
                config.token_cache_entries,
                engine.clone(),
            ),
            invitations: InvitationCodes::new(MacKey::new(secrets::read_or_make_32(
                &keys_dir.join("invitation.key"),
            )?)),
            sessions: Sessions::new(config.refresh_token_s),
            passwords: Passwords::new(config.password_hashes_max)?,
            limits: RateLimits::new(config, engine.clone()),
            cursors: Cursors::new(secrets::read_or_make_32(&keys_dir.join("cursor.key"))?),
            batches: Batches::default(),
            bodies: body::Reader::new(
                config.body_bytes_max,
                config.body_bytes_total_max,
                Duration::from_secs(config.body_timeout_s),
            ),
            files: Files::open(config, engine.clone())?,
            downloads: Arc::new(Semaphore::new(config.downloads_max)),
            write_timeout: Duration::from_secs(config.write_timeout_s),
            streams: Arc::new(Streams::new(config, engine.clone())),
            requests: Arc::new(Semaphore::new(config.requests_max)),
            large_hashes: Arc::new(Semaphore::new(cores)),
            long_reads: Arc::new(Semaphore::new(cores)),
            request_timeout: Duration::from_secs(config.request_timeout_s),
            idempotency: InProgress::default(),
            disputes: Recorder::default(),
            claims,
            idempotency_key_s: config.idempotency_key_s,
            webhooks: Sender::new(config)?,
            operator,
            v2: v2::Layer::new(config),
            cors: Cors::new(config.cors_origins.clone()),
            public_url,
            engine,
        })
    }

    /// What was published last: the log's head, and the store as it stood then.
    pub fn published(&self) -> Arc<Published> {
        self.engine.published()
    }

    /// Who shows these headers: an access token, an API key, or both.
    pub fn authenticate(&self, headers: &HeaderMap, now_s: u64) -> Result<Session, ApiError> {
        let published = self.published();
        auth::authenticate(&self.access, &self.api_keys, &published, headers, now_s)
    }

    /// Hashes and checks a signed request.
    pub async fn check(&self, request: Request) -> Result<Submission, ApiError> {
        let expires_at = Instant::now() + self.request_timeout;
        let verifier = Arc::clone(&self.verifier);
        let bytes = request.text.len();
        self.compute(bytes, move || verifier.check(request, expires_at))
            .await?
    }

    /// Does some work on a request's text, `bytes` long: here, or on a thread of its own.
    pub async fn compute<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        if bytes <= INLINE_BYTES_MAX {
            return Ok(work());
        }
        let turn = Arc::clone(&self.large_hashes).acquire_owned();
        let turn = tokio::time::timeout(self.request_timeout, turn)
            .await
            .ok()
            .and_then(Result::ok)
            .ok_or_else(ApiError::overloaded)?;
        tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work()
        })
        .await
        .map_err(|error| ApiError::internal(&error))
    }

    /// Reads what may take long on a thread of its own, so that other requests go on meanwhile. As
    /// many at a time as there are cores; the others wait their turn.
    pub async fn read_long<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let turn = Arc::clone(&self.long_reads).acquire_owned();
        let turn = tokio::time::timeout(self.request_timeout, turn)
            .await
            .ok()
            .and_then(Result::ok)
            .ok_or_else(ApiError::overloaded)?;
        // What is logged on the way belongs to the request.
        let span = tracing::Span::current();
        tokio::task::spawn_blocking(move || {
            let _turn = turn;
            span.in_scope(read)
        })
        .await
        .map_err(|error| ApiError::internal(&error))?
    }

    /// Submits a checked request; an error that came from the signer's organization tells the
    /// signer's highest nonce.
    pub async fn submit(&self, submission: Arc<Submission>) -> Result<Outcome, ApiError> {
        let (signer, nonce) = (submission.head.signer, submission.head.nonce);
        let submitted = self.engine.submit(submission).await;
        if let Ok(outcome) = &submitted {
            self.follow_tier(outcome);
        }
        submitted.map_err(|error| {
            if error == SubmitError::Unknown {
                return ApiError::unknown(Some((signer, nonce)));
            }
            let error = ApiError::from(error);
            let told = error.headers.iter().any(|(name, _)| *name == NONCE_HIGHEST);
            match self.nonce_highest(signer) {
                Some(highest) if !told && error.code.status() < 500 => {
                    error.with_header(NONCE_HIGHEST, highest.to_string())
                }
                _ => error,
            }
        })
    }

    /// Puts a tier in force as soon as it is stored. What sets one is a request of one action.
    fn follow_tier(&self, outcome: &Outcome) {
        let Some(ActionOutcome::Done(done)) = outcome.actions.first() else {
            return;
        };
        if let Made::Resources(images) = &done.made {
            for image in images.iter() {
                if let Image::Organization(organization) = image {
                    self.limits.tier_changed(organization);
                }
            }
        }
    }

    fn nonce_highest(&self, signer: Address) -> Option<u64> {
        let window = self.published().snapshot.nonces(signer).ok()?;
        Some(window.highest())
    }
}
