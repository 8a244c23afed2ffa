//! Input of the multipart parser: bytes are hashed as they pass, one piece at a time, so that the parser buffers little
//! however fast the caller sends.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use kedge_protocol::Hash;
use sha2::{Digest as _, Sha256};

use crate::body::{BodyInterruption, IncomingBody};

/// Bytes that the parser may buffer: heads of parts and possible boundaries.
const HELD_BYTES_MAX: u64 = 128 * 1024;

/// Shorter pieces are joined, up to this many bytes: a caller may send one byte at a time.
const SHORT_BYTES: usize = 1024;
const JOINED_BYTES_MAX: usize = 8 * 1024;

#[derive(Debug, thiserror::Error)]
pub(super) enum MultipartError {
    /// The caller stopped sending, or is too slow.
    #[error(transparent)]
    Broken(#[from] BodyInterruption),
    /// Long stretches belong to no part.
    #[error("the headers of the body's parts have more than {HELD_BYTES_MAX} bytes")]
    LongHeads,
}

/// A body as a stream of pieces.
pub(super) struct MultipartInput<'a> {
    body: &'a mut IncomingBody,
    hasher: Option<Sha256>,
    /// Bytes given to the parser.
    given: u64,
    /// Bytes that the parser has passed on.
    taken: Arc<AtomicU64>,
    /// The parser has just been given a piece, and processes it before it gets another.
    rests: bool,
    /// Result that followed the joined pieces: an error, or the end.
    after: Poll<Option<Result<Bytes, MultipartError>>>,
}

impl<'a> MultipartInput<'a> {
    /// `hashed` if the digest will be needed.
    pub(super) fn new(body: &'a mut IncomingBody, hashed: bool) -> Self {
        Self {
            body,
            hasher: hashed.then(Sha256::new),
            given: 0,
            taken: Arc::default(),
            rests: false,
            after: Poll::Pending,
        }
    }

    /// Counter of the bytes that the parser has passed on.
    pub(super) fn taken(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.taken)
    }

    /// Drains at most `most` more bytes, sent after the last part or by a caller that reads no answer before it has
    /// sent everything. False if there was more.
    pub(super) async fn drain(&mut self, most: u64) -> bool {
        let mut left = most;
        while let Some(Ok(piece)) = std::future::poll_fn(|context| self.poll_piece(context)).await {
            left = match left.checked_sub(piece.len() as u64) {
                Some(left) => left,
                None => return false,
            };
        }
        true
    }

    /// The digest of all received bytes, if it was requested.
    pub(super) fn digest(&mut self) -> Option<Hash> {
        let hasher = self.hasher.take()?;
        Some(Hash(hasher.finalize().into()))
    }

    /// Joins a short piece with the next ones that are ready.
    fn joined(&mut self, first: &[u8], context: &mut Context<'_>) -> Bytes {
        let mut joined = BytesMut::from(first);
        while joined.len() < JOINED_BYTES_MAX {
            match self.poll_piece(context) {
                Poll::Ready(Some(Ok(piece))) => joined.extend_from_slice(&piece),
                Poll::Ready(after) => {
                    self.after = Poll::Ready(after);
                    break;
                }
                Poll::Pending => break,
            }
        }
        joined.freeze()
    }

    fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, MultipartError>>> {
        let piece = ready!(self.body.poll_piece(context));
        if let (Some(Ok(piece)), Some(hasher)) = (&piece, &mut self.hasher) {
            hasher.update(piece);
        }
        Poll::Ready(piece.map(|piece| piece.map_err(MultipartError::from)))
    }
}

impl Stream for MultipartInput<'_> {
    type Item = Result<Bytes, MultipartError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if std::mem::take(&mut self.rests) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let held = self
            .given
            .saturating_sub(self.taken.load(Ordering::Relaxed));
        if held > HELD_BYTES_MAX {
            return Poll::Ready(Some(Err(MultipartError::LongHeads)));
        }
        let piece = match std::mem::replace(&mut self.after, Poll::Pending) {
            Poll::Ready(after) => after,
            Poll::Pending => ready!(self.poll_piece(context)),
        };
        let piece = match piece {
            Some(Ok(first)) if first.len() < SHORT_BYTES => Some(Ok(self.joined(&first, context))),
            piece => piece,
        };
        if let Some(Ok(bytes)) = &piece {
            self.given += bytes.len() as u64;
            self.rests = true;
        }
        Poll::Ready(piece)
    }
}
