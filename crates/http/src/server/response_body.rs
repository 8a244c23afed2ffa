//! Bodies of answers being sent. hyper gets them in pieces, and each piece is watched until the caller has read it:
//! hyper itself would keep it forever.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

use crate::limits::BudgetReservation;
use crate::stream::{BodyCutOff, BodyStream, ReplyBody};
use kedge_net::connection::{AnswerKind, OpenRequest, UnreadPiece};

/// Piece size over HTTP/1.1, which writes answers one by one.
const PIECE_BYTES: usize = 64 * 1024;
/// Piece size over HTTP/2, where answers share a connection: the size of a frame.
const FRAME_BYTES: usize = 16 * 1024;
/// Answers over HTTP/1.1 up to this size are watched only by the stream's own limits.
const SMALL_BYTES: usize = 4 * 1024;

/// Whether an answer of this size is watched and counts on the answers' budget.
pub fn is_watched(bytes: usize, is_http2: bool) -> bool {
    is_http2 || bytes > SMALL_BYTES
}

pub struct SentBody {
    left: RemainingBody,
    piece_bytes: usize,
    is_watched: bool,
    held: Option<Arc<BudgetReservation>>,
    using: OpenRequest,
}

enum RemainingBody {
    Whole(Bytes),
    Stream(BodyStream),
}

/// A piece that was handed over.
struct SentPiece {
    bytes: Bytes,
    _given: UnreadPiece,
    _held: Option<Arc<BudgetReservation>>,
}

impl AsRef<[u8]> for SentPiece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl SentBody {
    /// The body holds its part of a budget until all of it is read.
    pub fn new(
        body: ReplyBody,
        is_http2: bool,
        held: Option<BudgetReservation>,
        using: OpenRequest,
    ) -> Self {
        let (left, is_watched) = match body {
            ReplyBody::Whole(bytes) => {
                let is_watched = is_watched(bytes.len(), is_http2);
                (RemainingBody::Whole(bytes), is_watched)
            }
            ReplyBody::Stream(stream) => (RemainingBody::Stream(stream), true),
        };
        Self {
            left,
            piece_bytes: if is_http2 { FRAME_BYTES } else { PIECE_BYTES },
            is_watched,
            held: held.map(Arc::new),
            using,
        }
    }

    fn watched(&self, bytes: Bytes, kind: AnswerKind) -> Bytes {
        if !self.is_watched || bytes.is_empty() {
            return bytes;
        }
        Bytes::from_owner(SentPiece {
            bytes,
            _given: self.using.line().give(kind),
            _held: self.held.clone(),
        })
    }
}

impl HttpBody for SentBody {
    type Data = Bytes;
    type Error = BodyCutOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyCutOff>>> {
        let this = &mut *self;
        match &mut this.left {
            RemainingBody::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            RemainingBody::Whole(bytes) => {
                let piece = bytes.split_to(bytes.len().min(this.piece_bytes));
                Poll::Ready(Some(Ok(Frame::data(
                    this.watched(piece, AnswerKind::Whole),
                ))))
            }
            RemainingBody::Stream(stream) => Pin::new(stream).poll_frame(context).map(|frame| {
                frame.map(|frame| {
                    frame.map(|frame| {
                        frame.map_data(|bytes| this.watched(bytes, AnswerKind::Stream))
                    })
                })
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.left {
            RemainingBody::Whole(bytes) => bytes.is_empty(),
            RemainingBody::Stream(stream) => stream.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.left {
            RemainingBody::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            RemainingBody::Stream(stream) => stream.size_hint(),
        }
    }
}
