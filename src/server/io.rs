//! A connection's bytes, with limits in time that hyper does not keep: the first bytes must come
//! soon, and what is written must be taken.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// How many first bytes must come in time: as many as tell HTTP/1 from HTTP/2. From then on
/// hyper's own timers hold.
const FIRST_BYTES: usize = 24;

/// A stream with limits in time.
pub(super) struct Timed<S> {
    stream: S,
    first_bytes_missing: usize,
    first_bytes_by: Pin<Box<Sleep>>,
    write_timeout: Duration,
    write_by: Pin<Box<Sleep>>,
    writing: bool,
}

impl<S> Timed<S> {
    /// Limits a stream.
    pub(super) fn new(stream: S, first_bytes_timeout: Duration, write_timeout: Duration) -> Self {
        Self {
            stream,
            first_bytes_missing: FIRST_BYTES,
            first_bytes_by: Box::pin(sleep(first_bytes_timeout)),
            write_timeout,
            write_by: Box::pin(sleep(write_timeout)),
            writing: false,
        }
    }

    /// Passes a write's result on; one that stays pending too long is an error.
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
}

impl<S: AsyncRead + Unpin> AsyncRead for Timed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, buffer);
        if this.first_bytes_missing == 0 {
            return read;
        }
        if read.is_ready() {
            let count = buffer.filled().len() - before;
            this.first_bytes_missing = this.first_bytes_missing.saturating_sub(count);
            return read;
        }
        ready!(this.first_bytes_by.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Timed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.written(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.written(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.written(context, shut)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    const SHORT: Duration = Duration::from_millis(30);

    #[tokio::test]
    async fn who_sends_nothing_or_takes_nothing_is_cut_off() {
        let (ours, mut theirs) = duplex(8);
        let mut timed = Timed::new(ours, SHORT, SHORT);
        theirs.write_all(b"GET").await.unwrap();
        let mut bytes = [0; 3];
        timed.read_exact(&mut bytes).await.unwrap();
        let stalled = timed.read(&mut bytes).await.unwrap_err();
        assert_eq!(stalled.kind(), io::ErrorKind::TimedOut);
        let untaken = timed.write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(untaken.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn after_its_first_bytes_a_caller_may_pause() {
        let (ours, mut theirs) = duplex(64);
        let mut timed = Timed::new(ours, SHORT, SHORT);
        theirs.write_all(&[1; FIRST_BYTES]).await.unwrap();
        let mut bytes = [0; FIRST_BYTES];
        timed.read_exact(&mut bytes).await.unwrap();
        let late = tokio::spawn(async move {
            sleep(3 * SHORT).await;
            theirs.write_all(b"x").await.unwrap();
        });
        timed.read_exact(&mut bytes[..1]).await.unwrap();
        late.await.unwrap();
        assert_eq!(bytes[0], b'x');
    }
}
