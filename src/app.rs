//! Shared services of the server, used by all requests.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use kedge_actors::api::{Principal, Submission, SubmissionOutcome};
use kedge_actors::fair::{FairPermit, FairQueue, QueueFull, share};
use kedge_actors::{Engine, PublishedState};
use kedge_cluster::node::{Replica, lease};
use kedge_config::Config;
use kedge_config::secrets::{self, SecretError};
use kedge_http::auth::api_key::ApiKeys;
use kedge_http::auth::bearer::AccessTokens;
use kedge_http::auth::code::{InvitationCodes, MacKey};
use kedge_http::auth::keys::KeysError;
use kedge_http::auth::one_time_secrets::OneTimeSecrets;
use kedge_http::auth::password::{PasswordChecker, PasswordError};
use kedge_http::auth::session::RefreshSessions;
use kedge_http::body;
use kedge_http::cors::CorsPolicy;
use kedge_http::cursor::CursorCodec;
use kedge_http::error::ApiError;
use kedge_http::events::EventStreams;
use kedge_http::files::FileContents;
use kedge_http::limits::budget::ANSWER_BYTES;
use kedge_http::limits::{
    ClientAddress, RateLimits, ShareHolder, ShareKind, SharePool, ShareSlot, SharedBudget,
};
use kedge_http::signing::{RequestVerifier, SignatureHeaders, SignedTexts};
use kedge_http::v2;
use kedge_protocol::signature::SigningKey;
use kedge_telemetry::Tracer;
use kedge_upkeep::archive::KeyProofFiles;
use kedge_webhooks::WebhookSender;
use kedge_webhooks::post::PosterError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::disputes::DisputeRecorder;
use kedge_http::batches::BatchCache;
use kedge_http::claims::ClaimChecker;
use kedge_http::idempotency::in_flight::KeysInFlight;
use kedge_http::operator::OperatorKey;
use kedge_http::submitter::RequestSubmitter;

/// Longer request texts are parsed and hashed on separate threads. Shorter ones take less time than handing them over,
/// and the runtime's few workers bound them already.
const INLINE_BYTES_MAX: usize = 256 * 1024;

/// Long reads of one organization that may run or wait.
const LONG_READS_LINE: usize = 64;
/// Concurrent reads of list pages per core; they wait for the disk too.
const PAGES_PER_CORE: usize = 4;
/// Page reads of one organization that may run or wait.
const PAGES_LINE: usize = 256;

/// Time for which a download is sure of its place while its caller holds no more than others.
const DOWNLOAD_PATIENCE: Duration = Duration::from_secs(10);

pub struct ServerApp {
    /// The engine, which accepts changes and answers reads.
    pub engine: Engine,
    pub verifier: Arc<RequestVerifier>,
    pub access: AccessTokens,
    pub api_keys: Arc<ApiKeys>,
    pub shown_once: OneTimeSecrets,
    pub invitations: InvitationCodes,
    /// Refresh tokens.
    pub sessions: RefreshSessions,
    pub passwords: PasswordChecker,
    pub limits: Arc<RateLimits>,
    submitter: RequestSubmitter,
    pub cursors: CursorCodec,
    pub batches: BatchCache,
    /// Proof files of archived actions that name sequencer keys.
    pub key_proofs: KeyProofFiles,
    pub bodies: body::BodyReader,
    /// Budget for bytes of unsent answers.
    pub answers: Arc<SharedBudget>,
    pub files: FileContents,
    /// Places for file contents and exports being sent.
    downloads: SharePool,
    /// Time limit for a caller to read a piece of an answer.
    pub write_timeout: Duration,
    pub streams: Arc<EventStreams>,
    /// Permits for requests in flight.
    requests: Arc<FairQueue<ShareHolder>>,
    /// Idempotency keys of requests in flight.
    pub idempotency: KeysInFlight,
    pub disputes: DisputeRecorder,
    pub claims: ClaimChecker,
    /// Lifetime of idempotency keys, in seconds.
    pub idempotency_key_s: u64,
    /// Signs the operator's actions, if there is a key for it.
    pub operator: Option<Arc<OperatorKey>>,
    pub v2: v2::LegacyLayer,
    pub cors: CorsPolicy,
    pub webhooks: WebhookSender,
    /// Whether several nodes share the log.
    pub is_shared: bool,
    /// This node's part in a cluster. A node whose store is read-only has none.
    pub replica: OnceLock<Replica>,
    /// Time after which a silent leader of a cluster is replaced.
    pub lease: Duration,
    /// The URL that callers use.
    pub public_url: String,
    /// Traces requests, if a collector is configured.
    pub tracer: Option<Tracer>,
    large_texts: Arc<Semaphore>,
    waits: Arc<FairQueue<ShareHolder>>,
    long_reads: Arc<FairQueue<ShareHolder>>,
    pages: Arc<FairQueue<ShareHolder>>,
    request_timeout: Duration,
}

#[derive(Debug, thiserror::Error)]
pub enum AppError {
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Keys(#[from] KeysError),
    #[error(transparent)]
    Webhooks(#[from] PosterError),
    #[error(transparent)]
    Password(#[from] PasswordError),
}

impl ServerApp {
    /// Builds everything around a running engine. Creates the directory of keys if it is missing.
    pub fn new(
        config: &Config,
        engine: Engine,
        operator_key: Option<SigningKey>,
        claims: ClaimChecker,
        (public_url, tracer): (String, Option<Tracer>),
    ) -> Result<Self, AppError> {
        let keys_dir = config.keys_dir();
        secrets::make_private_dir(&keys_dir)?;
        let api_key = secrets::read_or_make_32(&keys_dir.join("api-key.key"))?;
        let api_keys = ApiKeys::new(api_key, config.token_cache_entries, engine.clone());
        let invitation_key = secrets::read_or_make_32(&keys_dir.join("invitation.key"))?;
        let per_caller = config.answer_bytes_per_caller;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let percent = config.organization_share_percent;
        let turns = |all, line_max| FairQueue::new(all, share(all, percent), line_max);
        let verifier = Arc::new(RequestVerifier::new(*engine.domain()));
        let limits = Arc::new(RateLimits::new(config, engine.clone()));
        let submitter = RequestSubmitter::new(engine.clone(), Arc::clone(&limits));
        let operator = |key| OperatorKey::new(key, submitter.clone(), Arc::clone(&verifier));
        let operator = operator_key.map(operator).map(Arc::new);
        Ok(Self {
            verifier,
            access: AccessTokens::open(
                keys_dir.clone(),
                public_url.clone(),
                config.access_token_s,
                config.token_cache_entries,
            )?,
            api_keys: Arc::new(api_keys),
            shown_once: OneTimeSecrets::new(api_key),
            invitations: InvitationCodes::new(MacKey::new(invitation_key)),
            sessions: RefreshSessions::new(config.refresh_token_s),
            passwords: PasswordChecker::new(config.password_hashes_max)?,
            limits,
            submitter,
            cursors: CursorCodec::new(secrets::read_or_make_32(&keys_dir.join("cursor.key"))?),
            batches: BatchCache::default(),
            key_proofs: KeyProofFiles::default(),
            bodies: body::BodyReader::new(config),
            answers: SharedBudget::new(ANSWER_BYTES, config.answer_bytes_total_max, per_caller),
            files: FileContents::open(config, engine.clone())?,
            downloads: downloads(config.downloads_max, percent),
            write_timeout: Duration::from_secs(config.write_timeout_s),
            streams: Arc::new(EventStreams::new(config, engine.clone())),
            requests: turns(config.requests_max, usize::MAX),
            waits: waits(config.requests_max, percent),
            // One core is left to requests with short texts.
            large_texts: Arc::new(Semaphore::new(cores.saturating_sub(1).max(1))),
            long_reads: turns(cores, LONG_READS_LINE),
            pages: turns(PAGES_PER_CORE * cores, PAGES_LINE),
            request_timeout: Duration::from_secs(config.request_timeout_s),
            idempotency: KeysInFlight::default(),
            disputes: DisputeRecorder::new(engine.clone(), operator.clone()),
            claims,
            idempotency_key_s: config.idempotency_key_s,
            webhooks: WebhookSender::new(config, engine.clone())?,
            operator,
            v2: v2::LegacyLayer::new(config),
            cors: CorsPolicy::new(config.cors_origins.clone()),
            is_shared: !config.cluster_servers.is_empty(),
            replica: OnceLock::new(),
            lease: lease(config),
            public_url,
            tracer,
            engine,
        })
    }

    /// The last published state: the log's head, and the store as of that head.
    pub fn published(&self) -> Arc<PublishedState> {
        self.engine.published()
    }

    /// Hashes and checks a signed request.
    pub async fn check(
        &self,
        asker: Principal,
        headers: SignatureHeaders,
        signed: SignedTexts,
    ) -> Result<Submission, ApiError> {
        let expires_at = Instant::now() + self.request_timeout;
        let verifier = Arc::clone(&self.verifier);
        let bytes = signed.text.len();
        self.compute(bytes, move || {
            verifier.check(asker, &headers, signed, expires_at)
        })
        .await?
    }

    /// Runs work on a request's text of `bytes` bytes: here, or on a separate thread.
    pub async fn compute<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        if bytes <= INLINE_BYTES_MAX {
            return Ok(work());
        }
        let turn = self.large_turn().await?;
        tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work()
        })
        .await
        .map_err(|error| ApiError::internal(&error))
    }

    /// Runs work on a request's text of `bytes` bytes here. For a long text, other threads take over this one's
    /// connections.
    pub async fn work_in_place<T>(
        &self,
        bytes: usize,
        work: impl FnOnce() -> T,
    ) -> Result<T, ApiError> {
        if bytes <= INLINE_BYTES_MAX {
            return Ok(work());
        }
        let _turn = self.large_turn().await?;
        Ok(tokio::task::block_in_place(work))
    }

    /// A permit for work on a long text.
    async fn large_turn(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        let turn = Arc::clone(&self.large_texts).acquire_owned();
        let turn = tokio::time::timeout(self.request_timeout, turn).await;
        turn.ok()
            .and_then(Result::ok)
            .ok_or_else(ApiError::overloaded)
    }

    /// Runs a long read on a separate thread. As many run at a time as there are cores, each holder with at most its
    /// share; the others wait.
    pub async fn read_long<T: Send + 'static>(
        &self,
        holder: ShareHolder,
        read: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let turn = self
            .turn(&self.long_reads, holder, ShareKind::LongReads)
            .await?;
        on_a_thread(turn, read).await
    }

    /// Reads a list page or a piece of an export on a separate thread, with permits like [`Self::read_long`].
    pub async fn read_page<T: Send + 'static>(
        &self,
        holder: ShareHolder,
        read: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let turn = self.turn(&self.pages, holder, ShareKind::Pages).await?;
        on_a_thread(turn, read).await
    }

    async fn turn(
        &self,
        turns: &Arc<FairQueue<ShareHolder>>,
        holder: ShareHolder,
        share: ShareKind,
    ) -> Result<FairPermit<ShareHolder>, ApiError> {
        let turn = tokio::time::timeout(self.request_timeout, turns.take(holder)).await;
        match turn {
            Ok(Ok(turn)) => Ok(turn),
            Ok(Err(_)) => Err(share.refused(turns.line_max())),
            Err(_) => Err(ApiError::overloaded()),
        }
    }

    /// Refuses if the limit of requests in flight has been reached.
    pub fn check_room(&self) -> Result<(), ApiError> {
        if self.requests.is_full() {
            return Err(ApiError::overloaded());
        }
        Ok(())
    }

    /// Admits a request, which is in flight until the permit is dropped.
    pub fn enter(&self, holder: ShareHolder) -> Result<FairPermit<ShareHolder>, ApiError> {
        taken(&self.requests, holder, ShareKind::Requests)
    }

    /// Admits a read that waits for a sequence: half of the requests in flight may.
    pub fn wait(&self, holder: ShareHolder) -> Result<FairPermit<ShareHolder>, ApiError> {
        taken(&self.waits, holder, ShareKind::Requests)
    }

    /// Begins a download, which lasts until the place is dropped or reassigned.
    pub fn download(
        &self,
        holder: ShareHolder,
        address: ClientAddress,
    ) -> Result<ShareSlot, ApiError> {
        self.downloads.take(holder, address)
    }

    /// See [`RequestSubmitter::submit`].
    pub async fn submit(&self, submission: Arc<Submission>) -> Result<SubmissionOutcome, ApiError> {
        self.submitter.submit(submission).await
    }
}

/// Places for file contents and exports being sent.
fn downloads(all: usize, percent: u8) -> SharePool {
    let share = share(all, percent);
    SharePool::new(ShareKind::Downloads, all, share, DOWNLOAD_PATIENCE)
}

/// Permits for reads that wait for a sequence: half of the requests' permits, with the same share.
fn waits(requests_max: usize, percent: u8) -> Arc<FairQueue<ShareHolder>> {
    let half = (requests_max / 2).max(1);
    FairQueue::new(half, share(requests_max, percent), usize::MAX)
}

/// Takes a permit now, or returns why there is none.
fn taken(
    turns: &Arc<FairQueue<ShareHolder>>,
    holder: ShareHolder,
    share: ShareKind,
) -> Result<FairPermit<ShareHolder>, ApiError> {
    turns.try_take(holder).map_err(|full| match full {
        QueueFull::Share => share.refused(turns.share()),
        QueueFull::All => ApiError::overloaded(),
    })
}

/// Runs work on a separate thread while holding a permit.
async fn on_a_thread<T: Send + 'static>(
    turn: FairPermit<ShareHolder>,
    read: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    // Log lines of the thread belong to the request.
    let span = tracing::Span::current();
    tokio::task::spawn_blocking(move || {
        let _turn = turn;
        span.in_scope(read)
    })
    .await
    .map_err(|error| ApiError::internal(&error))?
}
