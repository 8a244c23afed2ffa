//! What reads share: permits for long ones and for pages, downloads, cursors, and caches of sealed batches and proofs.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kedge_actors::fair::{FairPermit, FairQueue, share};
use kedge_config::Config;
use kedge_config::secrets::{self, SecretError};
use kedge_http::batches::BatchCache;
use kedge_http::cursor::CursorCodec;
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::limits::{ClientAddress, ShareHolder, ShareKind, SharePool, ShareSlot};
use kedge_upkeep::archive::KeyProofFiles;

/// Long reads of one organization that may run or wait.
const LONG_READS_LINE: usize = 64;
/// Concurrent reads of list pages per core; they wait for the disk too.
const PAGES_PER_CORE: usize = 4;
/// Page reads of one organization that may run or wait.
const PAGES_LINE: usize = 256;
/// Time for which a download is sure of its slot while its caller holds no more than others.
const DOWNLOAD_PATIENCE: Duration = Duration::from_secs(10);

pub struct ReadServices {
    pub cursors: CursorCodec,
    pub batches: BatchCache,
    /// Proof files of archived actions that name sequencer keys.
    pub key_proofs: KeyProofFiles,
    /// Time limit for a caller to read a piece of an answer.
    pub write_timeout: Duration,
    /// Slots for file contents and exports being sent.
    downloads: SharePool,
    long_reads: Arc<FairQueue<ShareHolder>>,
    pages: Arc<FairQueue<ShareHolder>>,
    request_timeout: Duration,
}

impl ReadServices {
    /// Creates the key of cursors in `keys_dir` if it is missing.
    ///
    /// # Errors
    /// The key cannot be read or written.
    pub fn open(config: &Config, keys_dir: &Path) -> Result<Self, SecretError> {
        let percent = config.organization_share_percent;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let queue = |all, line_max| FairQueue::new(all, share(all, percent), line_max);
        let downloads = config.downloads_max;
        Ok(Self {
            cursors: CursorCodec::new(secrets::read_or_make_32(&keys_dir.join("cursor.key"))?),
            batches: BatchCache::default(),
            key_proofs: KeyProofFiles::default(),
            write_timeout: Duration::from_secs(config.write_timeout_s),
            downloads: SharePool::new(
                ShareKind::Downloads,
                downloads,
                share(downloads, percent),
                DOWNLOAD_PATIENCE,
            ),
            long_reads: queue(cores, LONG_READS_LINE),
            pages: queue(PAGES_PER_CORE * cores, PAGES_LINE),
            request_timeout: Duration::from_secs(config.request_timeout_s),
        })
    }

    /// Runs a long read on a separate thread. As many run at a time as there are cores, each holder with at most its
    /// share; the others wait.
    pub async fn read_long<T: Send + 'static>(
        &self,
        holder: ShareHolder,
        read: impl FnOnce() -> ApiResult<T> + Send + 'static,
    ) -> ApiResult<T> {
        let permit = self
            .permit(&self.long_reads, holder, ShareKind::LongReads)
            .await?;
        on_a_thread(permit, read).await
    }

    /// Reads a list page or a piece of an export on a separate thread, with permits like [`Self::read_long`].
    pub async fn read_page<T: Send + 'static>(
        &self,
        holder: ShareHolder,
        read: impl FnOnce() -> ApiResult<T> + Send + 'static,
    ) -> ApiResult<T> {
        let permit = self.permit(&self.pages, holder, ShareKind::Pages).await?;
        on_a_thread(permit, read).await
    }

    /// Begins a download, which lasts until the slot is dropped or reassigned.
    pub fn download(&self, holder: ShareHolder, address: ClientAddress) -> ApiResult<ShareSlot> {
        self.downloads.take(holder, address)
    }

    async fn permit(
        &self,
        queue: &Arc<FairQueue<ShareHolder>>,
        holder: ShareHolder,
        share: ShareKind,
    ) -> ApiResult<FairPermit<ShareHolder>> {
        match tokio::time::timeout(self.request_timeout, queue.take(holder)).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) => Err(share.refused(queue.line_max())),
            Err(_) => Err(ApiError::overloaded()),
        }
    }
}

/// Runs work on a separate thread while holding a permit.
async fn on_a_thread<T: Send + 'static>(
    permit: FairPermit<ShareHolder>,
    read: impl FnOnce() -> ApiResult<T> + Send + 'static,
) -> ApiResult<T> {
    // Log lines of the thread belong to the request.
    let span = tracing::Span::current();
    tokio::task::spawn_blocking(move || {
        let _permit = permit;
        span.in_scope(read)
    })
    .await
    .map_err(|error| ApiError::internal(&error))?
}
