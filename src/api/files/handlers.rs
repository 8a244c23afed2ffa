//! Files: descriptions, and contents streamed from disk.

use std::io::{self, Read as _, SeekFrom};
use std::sync::Arc;

use bytes::BytesMut;
use hyper::header::{
    ACCEPT_RANGES, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_SECURITY_POLICY,
    HeaderName, HeaderValue,
};
use hyper::{Method, StatusCode};
use kedge_actors::api::{Submission, SubmissionOutcome};
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::files::{FileUpload, NamingOutcome};
use kedge_http::limits::ShareSlot;
use kedge_http::range::{self, ContentRange};
use kedge_http::reply::HttpReply;
use kedge_http::stream::{BodyWriter, ReplyBody};
use kedge_protocol::Code;
use kedge_protocol::Hash;
use kedge_protocol::payload::digest_text;
use kedge_protocol::resource::FileRecord;
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};

use crate::api::call::HandlerCall;
use crate::api::files::views::FileView;
use crate::api::listing::list_own;
use crate::api::row::{PLACE_LOST, PRIVATE};
use crate::api::services::ApiServices;

/// Bytes of a content read in one step.
const PIECE_BYTES: usize = 64 * 1024;
/// Bytes hashed with one permit of the long reads: some milliseconds.
const TURN_BYTES: u64 = 4 * 1024 * 1024;
/// A content must never run as a program, even in a browser that displays it against all advice.
const POLICY: &str = "default-src 'none'; frame-ancestors 'none'; sandbox";
const CONTENT_DIGEST: HeaderName = HeaderName::from_static("content-digest");
const REPR_DIGEST: HeaderName = HeaderName::from_static("repr-digest");

/// Submits an upload: the content is stored before the log names it.
pub async fn submit(
    services: Arc<ApiServices>,
    upload: FileUpload,
    submission: Arc<Submission>,
) -> ApiResult<SubmissionOutcome> {
    // A caller that disconnects must not stop this between the content and the log.
    let task = tokio::spawn(async move {
        if let Some(organization) = submission.asker.organization_id() {
            services.limits.rates.check_log(organization)?;
        }
        let kept = services.files.keep(upload).await?;
        let committed = services.changes.submitter.submit(submission).await;
        kept.settle(match &committed {
            Ok(committed) if committed.placement.is_some() => NamingOutcome::Named,
            Ok(_) => NamingOutcome::Refused,
            Err(error) if error.code.status() < 500 => NamingOutcome::Refused,
            Err(_) => NamingOutcome::Unknown,
        });
        committed
    });
    task.await.map_err(|error| ApiError::internal(&error))?
}

/// The answer to `POST /files`
pub fn created(call: &HandlerCall, committed: &SubmissionOutcome) -> ApiResult<HttpReply> {
    let file: FileRecord = call.made(committed)?;
    let location = format!("/files/{}", file.id);
    let reply = call.changed(committed, FileView::from(file))?;
    Ok(reply.with(hyper::header::LOCATION, &location))
}

/// `GET /files`
pub async fn list(call: HandlerCall) -> ApiResult<HttpReply> {
    list_own(
        &call,
        |file: &FileRecord| Ok(Some(file.name.len())),
        |_, file| Ok(FileView::from(file)),
    )
}

/// The file of the path, if it is the caller's organization's.
fn found(call: &HandlerCall) -> ApiResult<(FileRecord, u64)> {
    let published = call.published();
    let file = call.own(&published.snapshot, |_: &FileRecord| true)?;
    Ok((file, published.head.sequence))
}

/// `GET /files/{id}`
pub async fn get(call: HandlerCall) -> ApiResult<HttpReply> {
    let (file, sequence) = found(&call)?;
    Ok(HttpReply::ok(sequence, &FileView::from(file))?.etagged(&call.headers, PRIVATE))
}

/// `GET /files/{id}/content`
pub async fn content(call: HandlerCall) -> ApiResult<HttpReply> {
    let (file, sequence) = found(&call)?;
    let tag = format!("\"{}\"", const_hex::encode(file.sha256.0));
    let media_type = HeaderValue::from_str(&file.media_type)
        .unwrap_or(HeaderValue::from_static("application/octet-stream"));
    let reply = HttpReply::bytes(StatusCode::OK, sequence, media_type, Vec::new())
        .tagged(&call.headers, &tag, PRIVATE)
        .with(CONTENT_DISPOSITION, &attachment(&file.name))
        .with(CONTENT_SECURITY_POLICY, POLICY)
        .with(REPR_DIGEST, &digest_text(&file.sha256))
        .with(ACCEPT_RANGES, "bytes");
    if reply.status == StatusCode::NOT_MODIFIED {
        return Ok(reply);
    }
    if call.method == Method::HEAD {
        return Ok(reply.with(CONTENT_LENGTH, &file.size_bytes.to_string()));
    }
    match range::asked(&call.headers, file.size_bytes, &tag) {
        ContentRange::Whole => send(&call, &file, reply, None).await,
        ContentRange::Range { first, last } => send(&call, &file, reply, Some((first, last))).await,
        ContentRange::Unsatisfiable => Err(unsatisfiable(file.size_bytes)),
    }
}

/// Sends the content, or an inclusive range of it.
async fn send(
    call: &HandlerCall,
    file: &FileRecord,
    reply: HttpReply,
    part: Option<(u64, u64)>,
) -> ApiResult<HttpReply> {
    let place = call
        .services
        .reads
        .download(call.holder, call.client_address)?;
    let failed = |error| unreadable(file, &error);
    let mut content = call
        .services
        .files
        .content(&file.sha256)
        .await
        .map_err(failed)?;
    let (length, digest) = match part {
        None => (file.size_bytes, file.sha256),
        Some((first, last)) => {
            let length = last - first + 1;
            let start = SeekFrom::Start(first);
            content.seek(start).await.map_err(failed)?;
            let digest = digest_of(call, file, &mut content, length).await?;
            content.seek(start).await.map_err(failed)?;
            (length, digest)
        }
    };
    let (writer, body) = ReplyBody::written(call.services.reads.write_timeout);
    let id = file.id;
    tokio::spawn(async move {
        let copied = tokio::select! {
            copied = copy(content, length, (&writer, &place)) => copied,
            () = place.lost() => Err(io::Error::other(PLACE_LOST)),
        };
        if let Err(error) = copied {
            tracing::debug!(%id, %error, "a download ended early");
            writer.abort("the content was not sent to its end");
        }
    });
    let mut reply = HttpReply { body, ..reply }
        .with(CONTENT_LENGTH, &length.to_string())
        .with(CONTENT_DIGEST, &digest_text(&digest));
    if let Some((first, last)) = part {
        let size = file.size_bytes;
        reply.status = StatusCode::PARTIAL_CONTENT;
        reply = reply.with(CONTENT_RANGE, &format!("bytes {first}-{last}/{size}"));
    }
    Ok(reply)
}

fn unreadable(file: &FileRecord, error: &io::Error) -> ApiError {
    ApiError::internal(&format!(
        "the content of {} cannot be read: {error}",
        file.id
    ))
}

/// Reads the next piece of at most `left` bytes.
async fn piece(content: &mut tokio::fs::File, left: u64) -> io::Result<BytesMut> {
    let most = usize::try_from(left)
        .unwrap_or(PIECE_BYTES)
        .min(PIECE_BYTES);
    let mut bytes = BytesMut::with_capacity(most);
    let mut limited = content.take(most as u64);
    while bytes.len() < most {
        if limited.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(bytes)
}

/// The digest of the next bytes. Hashing a large part takes as long as a search, so it uses the permits of long reads,
/// each for a short time.
async fn digest_of(
    call: &HandlerCall,
    file: &FileRecord,
    content: &mut tokio::fs::File,
    length: u64,
) -> ApiResult<Hash> {
    let failed = |error| unreadable(file, &error);
    let mut hasher = Sha256::new();
    if length <= PIECE_BYTES as u64 {
        hasher.update(piece(content, length).await.map_err(failed)?);
        return Ok(Hash(hasher.finalize().into()));
    }
    let content = content.try_clone().await.map_err(failed)?;
    let content = Arc::new(content.into_std().await);
    let mut left = length;
    while left > 0 {
        let count = left.min(TURN_BYTES);
        let content = Arc::clone(&content);
        let hash = move || Ok(hash(&content, count, hasher));
        hasher = call
            .services
            .reads
            .read_long(call.holder, hash)
            .await?
            .map_err(failed)?;
        left -= count;
    }
    Ok(Hash(hasher.finalize().into()))
}

/// Hashes the next `count` bytes.
fn hash(mut content: &std::fs::File, count: u64, mut hasher: Sha256) -> io::Result<Sha256> {
    let mut bytes = vec![0; PIECE_BYTES];
    let mut left = count;
    while left > 0 {
        let most = usize::try_from(left)
            .unwrap_or(PIECE_BYTES)
            .min(PIECE_BYTES);
        content.read_exact(&mut bytes[..most])?;
        hasher.update(&bytes[..most]);
        left -= most as u64;
    }
    Ok(hasher)
}

async fn copy(
    mut content: tokio::fs::File,
    length: u64,
    (writer, place): (&BodyWriter, &ShareSlot),
) -> io::Result<()> {
    let mut left = length;
    while left > 0 {
        let bytes = piece(&mut content, left).await?;
        let count = bytes.len();
        let written = writer.write(bytes.freeze()).await;
        written.map_err(io::Error::other)?;
        place.moved(count);
        left -= count as u64;
    }
    Ok(())
}

/// 416 with the content's size (RFC 9110, 15.5.17).
fn unsatisfiable(size_bytes: u64) -> ApiError {
    let message = format!("Range asks for bytes past the end: the file has {size_bytes} bytes");
    ApiError::new(Code::RangeNotSatisfiable, message)
        .with_header(CONTENT_RANGE, format!("bytes */{size_bytes}"))
}

/// `Content-Disposition` with a name that no header, shell or file system can misread (RFC 6266, RFC 8187): slashes
/// become underscores, and unusual characters are escaped.
fn attachment(name: &str) -> String {
    let mut out = "attachment; filename*=UTF-8''".to_owned();
    for byte in name.bytes() {
        match byte {
            b'/' | b'\\' => out.push('_'),
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped() {
        for (name, escaped) in [
            ("a-b_c.txt", "a-b_c.txt"),
            ("ä €.txt", "%C3%A4%20%E2%82%AC.txt"),
            ("x\"; filename=y", "x%22%3B%20filename%3Dy"),
            ("../../etc/passwd", ".._.._etc_passwd"),
            ("c:\\a\r\nb", "c%3A_a%0D%0Ab"),
        ] {
            assert_eq!(
                attachment(name),
                format!("attachment; filename*=UTF-8''{escaped}")
            );
        }
    }
}
