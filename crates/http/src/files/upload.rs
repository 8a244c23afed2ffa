//! Uploads: a multipart body with a `file`, and its `name` if the file's part has none.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::HeaderMap;
use hyper::header::CONTENT_TYPE;
use kedge_protocol::Code;
use kedge_protocol::limits::FILE_NAME_CHARS_MAX;
use kedge_protocol::payload::digest_text;
use kedge_protocol::{Hash, Id};
use kedge_rules::FieldError;
use multer::{Field, Multipart};

use super::multipart::MultipartInput;
use super::quota::QuotaReservation;
use super::sink::UploadSink;
use super::{FileContents, FileUpload, RECEIVED_FOLDER, RETRY_DISK_S};
use crate::body::{self, FRAME_BYTES_MAX, IncomingBody, escape};
use crate::error::{ApiError, ApiResult};

/// Bytes of the longest accepted name, in the widest characters.
const NAME_BYTES_MAX: usize = 4 * FILE_NAME_CHARS_MAX;

/// Whether more of an upload may be written now.
pub(super) type WritePermission<'a> = &'a (dyn Fn() -> ApiResult<()> + Sync);

/// Parts received so far.
#[derive(Default)]
struct UploadParts {
    name: Option<String>,
    file: Option<UploadSink>,
    /// The name given by the file's part.
    file_name: Option<String>,
}

impl FileContents {
    /// Receives an upload. Its headers are checked before any byte is read, and the permission to write before each
    /// piece.
    pub async fn receive(
        &self,
        headers: &HeaderMap,
        arriving: &mut IncomingBody,
        (organization, may_write): (Id, &(dyn Fn() -> ApiResult<()> + Sync)),
    ) -> ApiResult<body::BodyText> {
        body::check_coding(headers)?;
        let boundary = boundary(headers)?;
        let expected = content_digest(headers)?;
        let most = self.bytes_max.saturating_add(FRAME_BYTES_MAX);
        if arriving.announced().is_some_and(|bytes| bytes > most) {
            return Err(self.too_large());
        }
        let mut pieces = MultipartInput::new(arriving, expected.is_some());
        let reading = async {
            let read = self
                .read(&mut pieces, boundary, (organization, may_write))
                .await?;
            if !pieces.drain(FRAME_BYTES_MAX).await {
                return Err(self.too_large());
            }
            check_digest(expected, pieces.digest())?;
            Ok(read)
        };
        let Ok(upload) = tokio::time::timeout(self.timeout, reading).await else {
            arriving.give_up();
            return Err(body::late(self.timeout));
        };
        Ok(body::BodyText::of_upload(upload?))
    }

    async fn read(
        &self,
        pieces: &mut MultipartInput<'_>,
        boundary: String,
        (organization, may_write): (Id, WritePermission<'_>),
    ) -> ApiResult<FileUpload> {
        let may_write = || {
            if self.engine.disk_full() {
                let message = "the disk is full; files are not accepted now";
                return Err(ApiError::unavailable(message, RETRY_DISK_S));
            }
            may_write()
        };
        may_write()?;
        let mut reservation = self.reserve(organization).await?;
        let taken = pieces.taken();
        let mut multipart = Multipart::new(pieces, boundary);
        let mut parts = UploadParts::default();
        while let Some(field) = multipart.next_field().await.map_err(|e| malformed(&e))? {
            match field.name() {
                Some("file") if parts.file.is_none() => {
                    parts.file_name = field.file_name().map(str::to_owned);
                    let sink = self
                        .read_file(field, (&taken, &may_write), &mut reservation)
                        .await?;
                    parts.file = Some(sink);
                }
                Some("name") if parts.name.is_none() => {
                    parts.name = Some(read_name(field, &taken).await?);
                }
                Some(twice @ ("file" | "name")) => {
                    let pointer = format!("/{twice}");
                    return Err(ApiError::field(&pointer, "range", "appears twice"));
                }
                other => {
                    let pointer = format!("/{}", escape(other.unwrap_or_default()));
                    return Err(ApiError::field(&pointer, "unknown", FieldError::UNKNOWN));
                }
            }
        }
        let sink = parts.file.ok_or_else(|| {
            ApiError::field("/file", "required", "is required: the part with the bytes")
        })?;
        let name = parts.name.or(parts.file_name).ok_or_else(|| {
            let message = "is required if the file's part has no filename";
            ApiError::field("/name", "required", message)
        })?;
        let (content, stored) = sink.finish(&self.folder.join(RECEIVED_FOLDER)).await?;
        Ok(FileUpload {
            name,
            stored,
            content,
            reservation,
        })
    }

    async fn reserve(&self, organization: Id) -> ApiResult<QuotaReservation> {
        let (quotas, engine) = (Arc::clone(&self.quotas), self.engine.clone());
        let begin = move || quotas.begin(organization, || engine.published().snapshot.clone());
        let begun = tokio::task::spawn_blocking(begin).await;
        Ok(begun.map_err(|error| ApiError::internal(&error))??)
    }

    async fn read_file(
        &self,
        mut field: Field<'_>,
        (taken, may_write): (&AtomicU64, WritePermission<'_>),
        reservation: &mut QuotaReservation,
    ) -> ApiResult<UploadSink> {
        let folder = self.folder.join(RECEIVED_FOLDER);
        let mut sink = UploadSink::new();
        while let Some(piece) = field.chunk().await.map_err(|error| malformed(&error))? {
            let bytes = piece.len() as u64;
            taken.fetch_add(bytes, Ordering::Relaxed);
            if sink.size_bytes() + bytes > self.bytes_max {
                return Err(self.too_large());
            }
            may_write()?;
            reservation.grow(sink.size_bytes() + bytes)?;
            sink.take(&piece, &folder).await?;
        }
        Ok(sink)
    }

    fn too_large(&self) -> ApiError {
        let message = format!("the file is larger than {} bytes", self.bytes_max);
        ApiError::new(Code::PayloadTooLarge, message)
    }
}

async fn read_name(mut field: Field<'_>, taken: &AtomicU64) -> ApiResult<String> {
    let mut bytes = Vec::new();
    while let Some(piece) = field.chunk().await.map_err(|error| malformed(&error))? {
        taken.fetch_add(piece.len() as u64, Ordering::Relaxed);
        bytes.extend_from_slice(&piece);
        if bytes.len() > NAME_BYTES_MAX {
            let message = format!("must have at most {FILE_NAME_CHARS_MAX} characters");
            return Err(ApiError::field("/name", "range", message));
        }
    }
    String::from_utf8(bytes).map_err(|_| ApiError::field("/name", "range", "must be UTF-8"))
}

fn malformed(error: &multer::Error) -> ApiError {
    let why = match error {
        multer::Error::StreamReadFailed(why) => why.to_string(),
        multer::Error::IncompleteStream
        | multer::Error::IncompleteFieldData { .. }
        | multer::Error::IncompleteHeaders => "the body broke off before its end".to_owned(),
        other => format!("the body is not multipart/form-data: {other}"),
    };
    ApiError::new(Code::ValidationError, why)
}

fn boundary(headers: &HeaderMap) -> ApiResult<String> {
    let content_type = headers.get(CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default();
    multer::parse_boundary(content_type).map_err(|_| {
        let message =
            format!("the body must be multipart/form-data with a boundary, not {content_type:?}");
        ApiError::new(Code::UnsupportedMediaType, message)
    })
}

const CONTENT_DIGEST: &str = "content-digest";

/// The body's SHA-256 from `Content-Digest` (RFC 9530); other algorithms are ignored.
fn content_digest(headers: &HeaderMap) -> ApiResult<Option<Hash>> {
    let mut found = None;
    for value in headers.get_all(CONTENT_DIGEST) {
        let value = value.to_str().unwrap_or("unreadable");
        for member in value.split(',') {
            let Some(digest) = member.trim().strip_prefix("sha-256=") else {
                continue;
            };
            let encoded = digest.strip_prefix(':').and_then(|d| d.strip_suffix(':'));
            let decoded = encoded.and_then(|encoded| STANDARD.decode(encoded).ok());
            let bytes: Option<[u8; 32]> = decoded.and_then(|bytes| bytes.try_into().ok());
            let bytes = bytes.ok_or_else(|| {
                let message = "must hold sha-256=:…: with the base64 of 32 bytes";
                ApiError::parameter(CONTENT_DIGEST, message)
            })?;
            found = Some(Hash(bytes));
        }
    }
    Ok(found)
}

fn check_digest(expected: Option<Hash>, received: Option<Hash>) -> ApiResult<()> {
    match (expected, received) {
        (Some(expected), Some(received)) if expected != received => {
            let received = digest_text(&received);
            let message = format!("does not match the body that arrived, which has {received}");
            Err(ApiError::parameter(CONTENT_DIGEST, message))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str) -> ApiResult<Option<Hash>> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_DIGEST, value.parse().unwrap());
        content_digest(&headers)
    }

    #[test]
    fn content_digests_are_structured_fields() {
        let sha256 = kedge_protocol::hash::sha256(b"x");
        let text = digest_text(&sha256);
        assert_eq!(read(&text).unwrap(), Some(sha256));
        assert_eq!(
            read(&format!("sha-512=:AA==:, {text}")).unwrap(),
            Some(sha256)
        );
        assert_eq!(read("sha-512=:AA==:").unwrap(), None);
        for bad in ["sha-256=AA", "sha-256=:AA==:", "sha-256=:!:", "sha-256="] {
            assert_eq!(read(bad).unwrap_err().code, Code::ValidationError, "{bad}");
        }
        assert!(check_digest(Some(sha256), Some(Hash([0; 32]))).is_err());
    }
}
