//! Destination of an upload's bytes: a temporary file, the digest, and the detected type.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use kedge_protocol::Hash;
use kedge_rules::file::FileMetadata;
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use super::media_type::MediaTypeDetector;
use super::of_disk;
use crate::error::{ApiError, ApiResult};

/// Bytes buffered before they are hashed and written.
const PIECE_BYTES: usize = 256 * 1024;

pub(super) struct UploadSink {
    written: Option<UploadWriter>,
    /// Copied, because a caller may send one byte at a time, and each piece would hold more memory.
    gathered: Vec<u8>,
    size_bytes: u64,
}

/// The part that runs on a blocking thread.
struct UploadWriter {
    content: NamedTempFile,
    hasher: Sha256,
    kind: MediaTypeDetector,
}

impl UploadWriter {
    fn create(folder: &Path) -> io::Result<Self> {
        Ok(Self {
            content: NamedTempFile::new_in(folder)?,
            hasher: Sha256::new(),
            kind: MediaTypeDetector::new(),
        })
    }

    fn write(&mut self, piece: &[u8]) -> io::Result<()> {
        self.hasher.update(piece);
        self.kind.see(piece);
        self.content.write_all(piece)
    }
}

impl UploadSink {
    pub(super) fn new() -> Self {
        Self {
            written: None,
            gathered: Vec::new(),
            size_bytes: 0,
        }
    }

    pub(super) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Adds a piece; waits for the disk now and then.
    pub(super) async fn take(&mut self, piece: &[u8], folder: &Path) -> ApiResult<()> {
        self.size_bytes += piece.len() as u64;
        self.gathered.extend_from_slice(piece);
        if self.gathered.len() >= PIECE_BYTES {
            self.flush(folder).await?;
        }
        Ok(())
    }

    async fn flush(&mut self, folder: &Path) -> ApiResult<()> {
        let piece = std::mem::take(&mut self.gathered);
        let (written, folder): (_, PathBuf) = (self.written.take(), folder.to_owned());
        let work = move || {
            let mut written = match written {
                Some(written) => written,
                None => UploadWriter::create(&folder)?,
            };
            written.write(&piece)?;
            Ok(written)
        };
        let done = tokio::task::spawn_blocking(work).await;
        let done = done.map_err(|error| ApiError::internal(&error))?;
        self.written = Some(done.map_err(|error: io::Error| of_disk(&error))?);
        Ok(())
    }

    /// The finished content and its description.
    pub(super) async fn finish(
        mut self,
        folder: &Path,
    ) -> ApiResult<(NamedTempFile, FileMetadata)> {
        self.flush(folder).await?;
        let written = self.written.take();
        let written = written.ok_or_else(|| ApiError::internal(&"an upload was not written"))?;
        let stored = FileMetadata {
            sha256: Hash(written.hasher.finalize().into()),
            size_bytes: self.size_bytes,
            media_type: written.kind.media_type().to_owned(),
        };
        Ok((written.content, stored))
    }
}
