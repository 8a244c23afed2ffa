//! Socket wrapper that adds what hyper lacks: heads must arrive in time, and callers must read answers. A caller still
//! sending when the connection closes gets the answer. hyper refuses unparsable requests with a bare status; while none
//! of our answers is being written, that is the only thing hyper can write, so it is replaced here by the service's own
//! refusal.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use hyper::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use super::malformed_request::bare_status;
use crate::body::{LINGER, LINGER_BYTES_MAX};
use crate::metric_definitions::CONNECTIONS_ENDED;
use kedge_net::connection::ConnectionState;
use kedge_net::heads::HeadTimer;

/// Buffer for draining a closed connection. Without draining, the system would send a reset, which would destroy the
/// answer.
const LINGER_PIECE_BYTES: usize = 8 * 1024;

/// Bytes that a connection reads before it yields. Small HTTP/2 frames cost far more to handle than to send, so a few
/// callers could hold the threads for most of a second.
const TURN_BYTES: usize = 16 * 1024;

/// Makes the answer to a request that hyper refuses with this status.
pub(super) type RefusalWriter = Box<dyn Fn(StatusCode) -> Bytes + Send>;

/// A stream with time limits.
pub(super) struct TimedStream<S> {
    stream: S,
    line: Arc<ConnectionState>,
    refuse: RefusalWriter,
    /// Replacement of hyper's refusal.
    instead: Bytes,
    heads: HeadTimer,
    /// Bytes read since the last yield.
    turn_bytes: usize,
    write_timeout: Duration,
    write_by: Pin<Box<Sleep>>,
    writing: bool,
    closing: Option<ClosingTimer>,
}

/// A connection whose own side is closed while the caller may still send.
struct ClosingTimer {
    until: Pin<Box<Sleep>>,
    bytes: u64,
}

impl<S> TimedStream<S> {
    pub(super) fn new(
        stream: S,
        line: Arc<ConnectionState>,
        refuse: RefusalWriter,
        heads: HeadTimer,
        write_timeout: Duration,
    ) -> Self {
        Self {
            stream,
            line,
            refuse,
            instead: Bytes::new(),
            heads,
            turn_bytes: 0,
            write_timeout,
            write_by: Box::pin(sleep(write_timeout)),
            writing: false,
            closing: None,
        }
    }

    /// Forwards a write's result; a write pending for too long is an error.
    fn written<T>(
        &mut self,
        context: &mut Context<'_>,
        result: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.writing = false;
            return result;
        }
        if !self.writing {
            self.writing = true;
            self.write_by
                .as_mut()
                .reset(Instant::now() + self.write_timeout);
        }
        ready!(self.write_by.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Forwards the result of a write, and notes how many bytes have left.
    fn sent(
        &mut self,
        context: &mut Context<'_>,
        result: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(count)) = result {
            self.heads.left(count);
        }
        self.written(context, result)
    }

    /// Replaces hyper's own refusal: none of our answers is in flight, and these bytes are a complete refusal.
    fn takes_away(&mut self, bytes: &[u8]) -> bool {
        if !self.line.is_quiet() {
            return false;
        }
        let Some(status) = bare_status(bytes) else {
            return false;
        };
        if let Some(origin) = self.heads.origin() {
            self.line.came_from(origin);
        }
        self.instead = (self.refuse)(status);
        self.line.linger();
        true
    }
}

impl<S: AsyncWrite + Unpin> TimedStream<S> {
    /// Writes the replacement of hyper's refusal.
    fn poll_instead(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.instead.is_empty() {
            let written = Pin::new(&mut self.stream).poll_write(context, &self.instead);
            let count = ready!(self.written(context, written))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.instead.advance(count);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> TimedStream<S> {
    /// Drains what the caller still sends, until it closes its side too. The connection is closed after that in any
    /// case.
    fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let closing = self.closing.get_or_insert_with(|| ClosingTimer {
            until: Box::pin(sleep(LINGER)),
            bytes: 0,
        });
        loop {
            if closing.until.as_mut().poll(context).is_ready() {
                return Poll::Ready(());
            }
            let mut space = [0; LINGER_PIECE_BYTES];
            let mut buffer = ReadBuf::new(&mut space);
            let read = Pin::new(&mut self.stream).poll_read(context, &mut buffer);
            let count = match ready!(read) {
                Ok(()) => buffer.filled().len(),
                Err(_) => 0,
            };
            closing.bytes += count as u64;
            if count == 0 || closing.bytes > LINGER_BYTES_MAX {
                return Poll::Ready(());
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.turn_bytes >= TURN_BYTES {
            this.turn_bytes = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, buffer);
        let count = buffer.filled().len() - before;
        if read.is_ready() {
            this.turn_bytes += count;
        } else {
            this.turn_bytes = 0;
        }
        if read.is_pending() {
            ready!(this.heads.poll_late(context));
            metrics::counter!(CONNECTIONS_ENDED, "reason" => "late").increment(1);
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        if let Err(flooded) = this.heads.arrived(&buffer.filled()[before..]) {
            metrics::counter!(CONNECTIONS_ENDED, "reason" => "flood").increment(1);
            return Poll::Ready(Err(io::Error::other(flooded)));
        }
        read
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TimedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_instead(context))?;
        if self.takes_away(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.sent(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_instead(context))?;
        if let [only] = bytes
            && self.takes_away(only)
        {
            return Poll::Ready(Ok(only.len()));
        }
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.sent(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_instead(context))?;
        // Hyper flushes when it has nothing more to write.
        self.line.flushed();
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.written(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.closing.is_none() {
            ready!(self.poll_instead(context))?;
            let shut = Pin::new(&mut self.stream).poll_shutdown(context);
            ready!(self.written(context, shut))?;
        }
        if self.line.lingers() {
            ready!(self.poll_linger(context));
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;
    use kedge_net::flood::ConnectionFrames;

    const SHORT: Duration = Duration::from_millis(30);

    fn timed<S>(stream: S) -> (Arc<ConnectionState>, TimedStream<S>) {
        let line = ConnectionState::new(std::net::IpAddr::from([192, 0, 2, 1]), false);
        let refuse = |status: StatusCode| Bytes::from(format!("instead of {}", status.as_u16()));
        let heads = HeadTimer::new(Arc::clone(&line), ConnectionFrames::new(None), SHORT, 0);
        let timed = TimedStream::new(stream, Arc::clone(&line), Box::new(refuse), heads, SHORT);
        (line, timed)
    }

    // Holds invariant 122.
    #[tokio::test]
    async fn hypers_own_refusals_are_replaced_and_nothing_else() {
        const BARE: &[u8] = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n";
        let (ours, mut theirs) = duplex(1_024);
        let (line, mut timed) = timed(ours);
        // A file may hold the same bytes.
        let using = line.begin();
        timed.write_all(BARE).await.unwrap();
        timed.flush().await.unwrap();
        drop(using);
        timed.write_all(BARE).await.unwrap();
        timed.flush().await.unwrap();
        timed.write_all(BARE).await.unwrap();
        let closing = tokio::spawn(async move { timed.shutdown().await });
        let mut all = vec![0; 2 * BARE.len()];
        theirs.read_exact(&mut all).await.unwrap();
        assert_eq!(all, [BARE, BARE].concat());
        let mut rest = String::new();
        theirs.read_to_string(&mut rest).await.unwrap();
        assert_eq!(rest, "instead of 400");
        // The connection is open until the caller has closed its side.
        assert!(!closing.is_finished());
        theirs.write_all(&[0; 2_000]).await.unwrap();
        drop(theirs);
        closing.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn who_sends_nothing_or_takes_nothing_is_cut_off() {
        let (ours, mut theirs) = duplex(8);
        let (_line, mut timed) = timed(ours);
        theirs.write_all(b"GET").await.unwrap();
        let mut bytes = [0; 3];
        timed.read_exact(&mut bytes).await.unwrap();
        let stalled = timed.read(&mut bytes).await.unwrap_err();
        assert_eq!(stalled.kind(), io::ErrorKind::TimedOut);
        let untaken = timed.write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(untaken.kind(), io::ErrorKind::TimedOut);
    }

    // Holds invariant 207.
    #[tokio::test]
    async fn a_caller_that_always_has_more_to_read_leaves_others_their_turns() {
        const TURNS: usize = 10;
        let (_line, mut timed) = timed(tokio::io::repeat(1));
        let mut others = 0;
        let reading = async {
            let mut bytes = [0; 1_024];
            for _ in 0..TURNS * TURN_BYTES / bytes.len() {
                timed.read_exact(&mut bytes).await.unwrap();
            }
        };
        tokio::pin!(reading);
        std::future::poll_fn(|context| {
            others += 1;
            reading.as_mut().poll(context)
        })
        .await;
        assert_eq!(others, TURNS);
    }
}
