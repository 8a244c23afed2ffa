//! Answer bodies: complete ones, and streams written while they are read, such as contents and exports. A stream
//! buffers at most one piece; its writer waits for the reader and gives up on one that stalls.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Body as HttpBody, Frame};
use parking_lot::Mutex;
use tokio::sync::mpsc;

/// Reason of a truncated body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BodyCutOff(pub String);

/// A body written while it is read; its producer is never ahead of the reader.
pub type BodyStream = UnsyncBoxBody<Bytes, BodyCutOff>;

pub enum ReplyBody {
    Whole(Bytes),
    Stream(BodyStream),
}

impl Default for ReplyBody {
    fn default() -> Self {
        Self::Whole(Bytes::new())
    }
}

impl std::fmt::Debug for ReplyBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole(bytes) => write!(f, "Whole({} bytes)", bytes.len()),
            Self::Stream(_) => f.write_str("Stream"),
        }
    }
}

impl From<Vec<u8>> for ReplyBody {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Whole(bytes.into())
    }
}

impl From<Bytes> for ReplyBody {
    fn from(bytes: Bytes) -> Self {
        Self::Whole(bytes)
    }
}

impl From<&'static [u8]> for ReplyBody {
    fn from(bytes: &'static [u8]) -> Self {
        Self::Whole(Bytes::from_static(bytes))
    }
}

impl From<BodyStream> for ReplyBody {
    fn from(stream: BodyStream) -> Self {
        Self::Stream(stream)
    }
}

impl ReplyBody {
    /// The bytes of a complete body; empty for a stream.
    pub fn into_whole(self) -> Bytes {
        match self {
            Self::Whole(bytes) => bytes,
            Self::Stream(_) => Bytes::new(),
        }
    }

    /// A body written by a separate task; a piece not read within `write_timeout` ends it.
    pub fn written(write_timeout: Duration) -> (BodyWriter, Self) {
        let (sender, pieces) = mpsc::channel(1);
        let broken_off = Arc::<Mutex<Option<BodyCutOff>>>::default();
        let writer = BodyWriter {
            sender,
            broken_off: Arc::clone(&broken_off),
            write_timeout,
            pace: Mutex::default(),
        };
        let written = WriterOutput { pieces, broken_off };
        (writer, Self::Stream(written.boxed_unsync()))
    }
}

/// The reading end of a [`BodyWriter`].
struct WriterOutput {
    pieces: mpsc::Receiver<Bytes>,
    /// Reason of a truncation, until it is read.
    broken_off: Arc<Mutex<Option<BodyCutOff>>>,
}

impl HttpBody for WriterOutput {
    type Data = Bytes;
    type Error = BodyCutOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyCutOff>>> {
        let piece = ready!(self.pieces.poll_recv(context));
        Poll::Ready(match piece {
            Some(bytes) => Some(Ok(Frame::data(bytes))),
            None => self.broken_off.lock().take().map(Err),
        })
    }
}

/// Bytes a second that a caller must read on average while a body waits for it. Otherwise a caller that reads a piece
/// now and then could hold the body's resources indefinitely.
const BYTES_PER_S_MIN: u64 = 4 * 1024;

/// Writes a body; dropping it ends the body.
pub struct BodyWriter {
    sender: mpsc::Sender<Bytes>,
    broken_off: Arc<Mutex<Option<BodyCutOff>>>,
    write_timeout: Duration,
    pace: Mutex<ReaderPace>,
}

/// Measures how fast a body is read.
#[derive(Default)]
struct ReaderPace {
    bytes: u64,
    /// Time that the body waited for its caller.
    waited: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The caller has disconnected.
    #[error("the caller disconnected")]
    Gone,
    /// The caller read nothing for too long.
    #[error("the caller stopped reading")]
    Slow,
}

impl BodyWriter {
    /// Writes a piece; returns once the reader can take it.
    pub async fn write(&self, bytes: Bytes) -> Result<(), WriteError> {
        let count = bytes.len() as u64;
        self.reserve().await?.send(bytes);
        self.pace(|pace| pace.bytes += count);
        Ok(())
    }

    /// Waits until a piece can be written without waiting, with the same time limit.
    pub async fn ready(&self) -> Result<(), WriteError> {
        self.reserve().await.map(drop)
    }

    /// Resolves when the last piece was picked up for sending, or the caller has disconnected.
    pub async fn picked_up(&self) {
        // Either way the wait is over.
        let _ = self.sender.reserve().await;
    }

    async fn reserve(&self) -> Result<mpsc::Permit<'_, Bytes>, WriteError> {
        let begun = Instant::now();
        let patience = self.pace(|pace| {
            let allowed = self.write_timeout + Duration::from_secs(pace.bytes / BYTES_PER_S_MIN);
            allowed.saturating_sub(pace.waited).min(self.write_timeout)
        });
        let reserved = tokio::time::timeout(patience, self.sender.reserve()).await;
        self.pace(|pace| pace.waited += begun.elapsed());
        match reserved {
            Ok(reserved) => reserved.map_err(|_| WriteError::Gone),
            Err(_) => Err(WriteError::Slow),
        }
    }

    fn pace<T>(&self, act: impl FnOnce(&mut ReaderPace) -> T) -> T {
        act(&mut self.pace.lock())
    }

    /// Resolves when the caller has disconnected.
    pub async fn gone(&self) {
        self.sender.closed().await;
    }

    /// Writes a last piece if there is room, and ends the body.
    pub fn finish(self, bytes: Bytes) {
        // Without room, the body ends without it.
        let _ = self.sender.try_send(bytes);
    }

    /// Truncates the body visibly for the caller, without waiting.
    pub fn abort(self, why: impl Into<String>) {
        *self.broken_off.lock() = Some(BodyCutOff(why.into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn next(body: &mut ReplyBody) -> Option<Result<Bytes, String>> {
        let ReplyBody::Stream(stream) = body else {
            panic!("a stream")
        };
        let frame = stream.frame().await?;
        Some(
            frame
                .map(|frame| frame.into_data().unwrap())
                .map_err(|error| error.to_string()),
        )
    }

    #[tokio::test]
    async fn a_piece_waits_for_its_reader_and_not_for_ever() {
        let (writer, mut body) = ReplyBody::written(Duration::from_millis(20));
        writer.write("a".into()).await.unwrap();
        assert_eq!(writer.write("b".into()).await, Err(WriteError::Slow));
        assert_eq!(next(&mut body).await, Some(Ok("a".into())));
        writer.write("c".into()).await.unwrap();
        writer.finish("no room".into());
        assert_eq!(next(&mut body).await, Some(Ok("c".into())));
        assert_eq!(next(&mut body).await, None);
    }

    // Holds invariant 128.
    #[tokio::test]
    async fn who_takes_a_little_now_and_then_is_given_up() {
        let (writer, mut body) = ReplyBody::written(Duration::from_millis(200));
        let reading = tokio::spawn(async move {
            while next(&mut body).await.is_some() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        let begun = Instant::now();
        let given_up = loop {
            if let Err(error) = writer.write("a".into()).await {
                break error;
            }
            assert!(begun.elapsed() < Duration::from_secs(10));
        };
        assert_eq!(given_up, WriteError::Slow);
        drop(writer);
        reading.await.unwrap();
    }

    #[tokio::test]
    async fn who_is_gone_is_noticed_and_what_breaks_off_shows() {
        let (writer, body) = ReplyBody::written(Duration::from_mins(1));
        drop(body);
        writer.gone().await;
        assert_eq!(writer.write("a".into()).await, Err(WriteError::Gone));
        let (writer, mut body) = ReplyBody::written(Duration::from_mins(1));
        writer.write("a".into()).await.unwrap();
        writer.abort("the disk is gone");
        assert_eq!(next(&mut body).await, Some(Ok("a".into())));
        assert_eq!(next(&mut body).await, Some(Err("the disk is gone".into())));
        assert_eq!(next(&mut body).await, None);
    }
}
