//! Contents of files: received into a temporary file, stored once under their digest. An upload is the one body that is
//! no text.
//!
//! `<data_dir>/files/ab/cdef…` holds the content whose SHA-256 begins with `ab`; `files/tmp` holds incomplete contents
//! and is emptied at every start. An upload is hashed as it arrives, counted against its organization's quota, and its
//! bytes are inspected for its type. Once the signature over digest and name holds, the content is synced and moved to
//! its place. Then the action that names it is submitted like any other, so a row of the log never names a missing
//! content.
//!
//! Everything from there to the log runs in a separate task, so a caller that disconnects stops nothing halfway.
//! Refused contents are removed, unless another upload has the same content. If the outcome is unknown, the content
//! stays, as after a crash, and the next start's [`sweep`] removes what no row names.

mod claims;
mod media_type;
mod multipart;
mod quota;
mod sink;
mod sweep;
mod upload;

use std::fs::File;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use kedge_actors::Engine;
use kedge_config::Config;
use kedge_config::secrets::{SecretError, make_private_dir};
use kedge_protocol::Hash;
use kedge_rules::file::FileMetadata;
use kedge_storage::{CONTENTS_FOLDER, content_path};
use rustix::io::Errno;
use tempfile::NamedTempFile;

use crate::error::{ApiError, ApiResult};
use claims::{ContentClaim, ContentClaims};
use quota::{QuotaReservation, UploadQuotas};

/// Folder of incomplete contents, inside that.
const RECEIVED_FOLDER: &str = "tmp";
/// `Retry-After` when the content could not be shared.
const RETRY_SHARED_S: u64 = 2;
/// `Retry-After` when the disk is full.
const RETRY_DISK_S: u64 = 60;

pub type ContentFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Shared storage of contents for several nodes: the log names contents but does not hold them.
pub trait SharedContents: Send + Sync {
    /// Stores a content, before the log names it.
    fn put(&self, sha256: Hash, from: PathBuf) -> ContentFuture<io::Result<()>>;

    /// Writes a content to a new file; false if it is not in the storage.
    fn fetch(&self, sha256: Hash, to: PathBuf) -> ContentFuture<io::Result<bool>>;
}

pub struct FileContents {
    /// Shared storage, if there are several nodes.
    pub shared: OnceLock<Arc<dyn SharedContents>>,
    engine: Engine,
    folder: PathBuf,
    bytes_max: u64,
    timeout: Duration,
    quotas: Arc<UploadQuotas>,
    claims: ContentClaims,
}

/// A received file that is not stored yet; deleted on drop.
pub struct FileUpload {
    /// The caller's name for it.
    pub name: String,
    /// Digest and description.
    pub stored: FileMetadata,
    content: NamedTempFile,
    reservation: QuotaReservation,
}

impl std::fmt::Debug for FileUpload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upload")
            .field("name", &self.name)
            .field("stored", &self.stored)
            .finish_non_exhaustive()
    }
}

/// An upload whose content is in its place while the log may or may not name it.
pub struct PendingContent {
    claim: ContentClaim,
    reservation: QuotaReservation,
}

/// Outcome of the action that names a content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NamingOutcome {
    /// The log names it.
    Named,
    /// The log will never name it, so it can be removed.
    Refused,
    /// Unknown; the next start checks.
    Unknown,
}

impl PendingContent {
    /// Keeps the content, or removes it if nothing else needs it.
    pub fn settle(self, fate: NamingOutcome) {
        if fate == NamingOutcome::Named {
            self.reservation.keep();
        }
        self.claim.settle(fate);
    }
}

impl FileContents {
    /// Creates the folders, and empties the one of incomplete contents.
    pub fn open(config: &Config, engine: Engine) -> Result<Self, SecretError> {
        let folder = config.data_dir.join(CONTENTS_FOLDER);
        make_private_dir(&folder)?;
        let received = folder.join(RECEIVED_FOLDER);
        if let Err(error) = std::fs::remove_dir_all(&received)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "the remains of earlier uploads could not be removed");
        }
        make_private_dir(&received)?;
        Ok(Self {
            shared: OnceLock::new(),
            engine,
            bytes_max: config.file_bytes_max,
            timeout: Duration::from_secs(config.body_timeout_s),
            quotas: Arc::new(UploadQuotas::new(config.file_quota_bytes)),
            claims: ContentClaims::new(folder.clone()),
            folder,
        })
    }

    /// Moves a content to its place, durably.
    pub async fn keep(&self, upload: FileUpload) -> ApiResult<PendingContent> {
        let FileUpload {
            stored,
            content,
            reservation,
            ..
        } = upload;
        let folder = self.folder.clone();
        let claims = self.claims.clone();
        let task = tokio::task::spawn_blocking(move || {
            content.as_file().sync_all()?;
            let claim = claims.claim(stored.sha256);
            put(content, &folder, &stored.sha256).map(|()| claim)
        });
        let placed = task.await.map_err(|error| ApiError::internal(&error))?;
        let claim = placed.map_err(|error| of_disk(&error))?;
        if let Some(shared) = self.shared.get() {
            let from = content_path(&self.folder, &stored.sha256);
            if let Err(error) = shared.put(stored.sha256, from).await {
                tracing::warn!(%error, "a content could not be shared with the other nodes");
                claim.settle(NamingOutcome::Refused);
                let message = "the content could not be shared with the other nodes; try again";
                return Err(ApiError::unavailable(message, RETRY_SHARED_S));
            }
        }
        Ok(PendingContent { claim, reservation })
    }

    /// Opens a content; one that another node accepted is fetched first.
    pub async fn content(&self, sha256: &Hash) -> io::Result<tokio::fs::File> {
        let at = content_path(&self.folder, sha256);
        match (tokio::fs::File::open(&at).await, self.shared.get()) {
            (Err(error), Some(shared)) if error.kind() == io::ErrorKind::NotFound => {
                self.fetch(&**shared, *sha256).await?;
                tokio::fs::File::open(at).await
            }
            (opened, _) => opened,
        }
    }

    async fn fetch(&self, shared: &dyn SharedContents, sha256: Hash) -> io::Result<()> {
        let received = NamedTempFile::new_in(self.folder.join(RECEIVED_FOLDER))?;
        if !shared.fetch(sha256, received.path().to_owned()).await? {
            return Err(io::ErrorKind::NotFound.into());
        }
        let folder = self.folder.clone();
        let placed = tokio::task::spawn_blocking(move || {
            received.as_file().sync_all()?;
            put(received, &folder, &sha256)
        });
        placed.await.map_err(io::Error::other)?
    }

    /// Removes what a crash left, in the background. Must be called before anything is received.
    pub fn sweep(&self) -> io::Result<()> {
        sweep::start(
            self.folder.clone(),
            self.claims.clone(),
            self.engine.published().snapshot.clone(),
        )
    }
}

/// Moves a content to its place and makes its name durable. An existing content is replaced by the same bytes, which
/// repairs a damaged one.
fn put(content: NamedTempFile, folder: &Path, sha256: &Hash) -> io::Result<()> {
    let place = content_path(folder, sha256);
    let shelf = place.parent().unwrap_or(folder);
    match std::fs::create_dir(shelf) {
        Ok(()) => File::open(folder)?.sync_all()?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    content.persist(&place).map_err(|error| error.error)?;
    File::open(shelf)?.sync_all()
}

/// Whether file descriptors or memory are scarce for now.
fn is_scarce(error: &io::Error) -> bool {
    let scarce = [Errno::MFILE, Errno::NFILE, Errno::NOMEM];
    Errno::from_io_error(error).is_some_and(|errno| scarce.contains(&errno))
}

/// The caller's error for a failed disk.
fn of_disk(error: &io::Error) -> ApiError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            ApiError::unavailable("the disk is full; files are not accepted now", RETRY_DISK_S)
        }
        _ if is_scarce(error) => ApiError::unavailable(
            "the server lacks open files or memory for now; try again",
            RETRY_DISK_S,
        ),
        _ => ApiError::internal(error),
    }
}
