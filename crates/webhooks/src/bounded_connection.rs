//! Read limit of a receiver's connection. hyper skips interim answers (`100 Continue`) without end and reads while
//! there is data, so a receiver that never stops sending would hold the thread and all other deliveries.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that a receiver may send for one message, including TLS. Only the status, a few headers and the first 16 KiB
/// of the body are used.
pub(super) const MESSAGE_BYTES_MAX: u64 = 256 * 1024;
/// Bytes read before the task yields.
const TURN_BYTES: usize = 16 * 1024;

/// Bytes that a receiver may still send for the current message.
#[derive(Clone, Debug)]
pub(super) struct ReceiverAllowance(Arc<AtomicU64>);

impl ReceiverAllowance {
    pub(super) fn new() -> Self {
        Self(Arc::new(AtomicU64::new(MESSAGE_BYTES_MAX)))
    }

    /// Resets the allowance for the next message.
    pub(super) fn renew(&self) {
        self.0.store(MESSAGE_BYTES_MAX, Ordering::Relaxed);
    }

    pub(super) fn is_spent(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    fn spend(&self, bytes: usize) {
        let left = self.0.load(Ordering::Relaxed);
        self.0
            .store(left.saturating_sub(bytes as u64), Ordering::Relaxed);
    }
}

/// Connection with a read limit.
pub(super) struct BoundedConnection<S> {
    stream: S,
    allowance: ReceiverAllowance,
    /// Bytes read since the last yield.
    turn_bytes: usize,
}

impl<S> BoundedConnection<S> {
    pub(super) fn new(stream: S, allowance: ReceiverAllowance) -> Self {
        Self {
            stream,
            allowance,
            turn_bytes: 0,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for BoundedConnection<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.allowance.is_spent() {
            return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
        }
        if this.turn_bytes >= TURN_BYTES {
            this.turn_bytes = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, buffer);
        if read.is_ready() {
            let bytes = buffer.filled().len() - before;
            this.turn_bytes += bytes;
            this.allowance.spend(bytes);
        } else {
            this.turn_bytes = 0;
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for BoundedConnection<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    // Holds invariant 40.
    #[tokio::test]
    async fn a_receiver_that_sends_without_end_lets_others_run_and_is_cut_off() {
        let allowance = ReceiverAllowance::new();
        let mut endless = BoundedConnection::new(tokio::io::repeat(7), allowance.clone());
        let (mut turns, mut sent) = (0, 0);
        let reading = async {
            let mut bytes = [0; 1_024];
            loop {
                match endless.read(&mut bytes).await {
                    Ok(count) => sent += count as u64,
                    Err(error) => return error.kind(),
                }
            }
        };
        tokio::pin!(reading);
        let ended = std::future::poll_fn(|context| {
            turns += 1;
            reading.as_mut().poll(context)
        });
        assert_eq!(ended.await, io::ErrorKind::InvalidData);
        assert_eq!(turns, MESSAGE_BYTES_MAX / TURN_BYTES as u64);
        assert_eq!(sent, MESSAGE_BYTES_MAX);
        assert!(allowance.is_spent());
        allowance.renew();
        assert_eq!(endless.read(&mut [0; 8]).await.unwrap(), 8);
    }
}
