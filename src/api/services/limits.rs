//! Permits and budgets of requests: how many are in flight, wait, or work on long texts, and how many bytes of answers
//! are unsent.

use std::sync::Arc;
use std::time::Duration;

use kedge_actors::Engine;
use kedge_actors::fair::{FairPermit, FairQueue, QueueFull, share};
use kedge_config::Config;
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::limits::budget::ANSWER_BYTES;
use kedge_http::limits::{RateLimits, ShareHolder, ShareKind, SharedBudget};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Longer request texts are parsed and hashed on separate threads. Shorter ones take less time than handing them over,
/// and the runtime's few workers bound them already.
const INLINE_BYTES_MAX: usize = 256 * 1024;

pub struct RequestLimits {
    pub rates: Arc<RateLimits>,
    /// Budget for bytes of unsent answers.
    pub answers: Arc<SharedBudget>,
    /// Permits for requests in flight.
    requests: Arc<FairQueue<ShareHolder>>,
    waits: Arc<FairQueue<ShareHolder>>,
    /// Waits of callers without credentials: a few addresses must not hold the organizations' places.
    public_waits: Arc<FairQueue<ShareHolder>>,
    large_texts: Arc<Semaphore>,
    request_timeout: Duration,
}

impl RequestLimits {
    pub fn new(config: &Config, engine: Engine) -> Self {
        let percent = config.organization_share_percent;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let requests = config.requests_max;
        // Half of the requests in flight may wait for a sequence. A wait may last for a minute, so a few callers must not
        // hold all of these.
        let waits = (requests / 2).max(1);
        let public_waits = (waits / 4).max(1);
        Self {
            rates: Arc::new(RateLimits::new(config, engine)),
            answers: SharedBudget::new(
                ANSWER_BYTES,
                config.answer_bytes_total_max,
                config.answer_bytes_per_caller,
            ),
            requests: FairQueue::new(requests, share(requests, percent), usize::MAX),
            waits: FairQueue::leaving_room(waits - waits / 4, share(requests, percent), usize::MAX),
            public_waits: FairQueue::leaving_room(
                public_waits,
                share(public_waits, percent),
                usize::MAX,
            ),
            // One core is left to requests with short texts.
            large_texts: Arc::new(Semaphore::new(cores.saturating_sub(1).max(1))),
            request_timeout: Duration::from_secs(config.request_timeout_s),
        }
    }

    /// Refuses if the limit of requests in flight has been reached.
    pub fn check_room(&self) -> ApiResult<()> {
        if self.requests.is_full() {
            return Err(ApiError::overloaded());
        }
        Ok(())
    }

    /// Admits a request, which is in flight until the permit is dropped.
    pub fn enter(&self, holder: ShareHolder) -> ApiResult<FairPermit<ShareHolder>> {
        permit(&self.requests, holder)
    }

    /// Admits a read that waits for a sequence.
    pub fn wait(&self, holder: ShareHolder) -> ApiResult<FairPermit<ShareHolder>> {
        let waits = match holder {
            ShareHolder::Organization(_) => &self.waits,
            ShareHolder::Address(_) => &self.public_waits,
        };
        permit(waits, holder)
    }

    /// Runs work on a request's text of `bytes` bytes: here, or on a separate thread.
    pub async fn compute<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> ApiResult<T> {
        if bytes <= INLINE_BYTES_MAX {
            return Ok(work());
        }
        let turn = self.large_text().await?;
        tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work()
        })
        .await
        .map_err(|error| ApiError::internal(&error))
    }

    /// Runs work on a request's text of `bytes` bytes here. For a long text, other threads take over this one's
    /// connections.
    pub async fn work_in_place<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> ApiResult<T> {
        if bytes <= INLINE_BYTES_MAX {
            return Ok(work());
        }
        let _turn = self.large_text().await?;
        Ok(tokio::task::block_in_place(work))
    }

    /// A permit for work on a long text.
    async fn large_text(&self) -> ApiResult<OwnedSemaphorePermit> {
        let turn = Arc::clone(&self.large_texts).acquire_owned();
        let turn = tokio::time::timeout(self.request_timeout, turn).await;
        turn.ok()
            .and_then(Result::ok)
            .ok_or_else(ApiError::overloaded)
    }
}

/// Takes a permit now, or returns why there is none.
fn permit(
    queue: &Arc<FairQueue<ShareHolder>>,
    holder: ShareHolder,
) -> ApiResult<FairPermit<ShareHolder>> {
    queue.try_take(holder).map_err(|full| match full {
        QueueFull::Share => ShareKind::Requests.refused(queue.share()),
        QueueFull::All => ApiError::overloaded(),
    })
}
