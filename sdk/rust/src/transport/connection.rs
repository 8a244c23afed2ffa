//! Detection of closed connections. hyper hands a request to the task of its connection through a channel. If that task
//! ends at the same moment, because the server closed the connection, the request may stay in the channel: without this
//! module, the caller would wait until its time limit.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use hyper::http::Extensions;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{CaptureConnection, Connected, Connection};
use tokio::sync::watch;
use tower_service::Service;

/// Longest time that a request may stay without an outcome after its connection has ended. It may be waiting for
/// another connection to open.
pub(super) const OUTCOME_LIMIT: Duration = Duration::from_secs(10);

/// Connector whose connections report their end.
#[derive(Clone, Debug)]
pub(super) struct WatchedConnector<C>(pub(crate) C);

/// A connection that reports its end: `open` is dropped with it.
pub(super) struct WatchedStream<S> {
    stream: S,
    open: watch::Sender<()>,
}

/// Resolves when a connection has ended; no value is ever sent.
#[derive(Clone)]
struct OpenSignal(watch::Receiver<()>);

impl OpenSignal {
    /// The last connection that the request went to.
    fn of(captured: &CaptureConnection) -> Option<Self> {
        let mut found = Extensions::new();
        captured
            .connection_metadata()
            .as_ref()?
            .get_extras(&mut found);
        found.remove()
    }
}

/// The outcome of a request; `None` if its connection has been gone for `limit` without one.
pub(super) async fn outcome<T>(
    requested: impl Future<Output = T>,
    captured: CaptureConnection,
    limit: Duration,
) -> Option<T> {
    tokio::select! {
        biased;
        outcome = requested => Some(outcome),
        () = gone(captured, limit) => None,
    }
}

/// Resolves when the last connection of a request has been gone for `limit`.
async fn gone(mut captured: CaptureConnection, limit: Duration) {
    drop(captured.wait_for_connection_metadata().await);
    while let Some(mut open) = OpenSignal::of(&captured) {
        // An error: the other half is gone.
        let _ended = open.0.changed().await;
        tokio::time::sleep(limit).await;
        let last = OpenSignal::of(&captured);
        if last.is_some_and(|last| last.0.same_channel(&open.0)) {
            return;
        }
    }
    // The request went to no connection, and has its outcome.
    std::future::pending::<()>().await;
}

impl<C> Service<Uri> for WatchedConnector<C>
where
    C: Service<Uri>,
    C::Future: Send + 'static,
{
    type Response = WatchedStream<C::Response>;
    type Error = C::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, C::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), C::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let connecting = self.0.call(to);
        Box::pin(async move {
            Ok(WatchedStream {
                stream: connecting.await?,
                open: watch::Sender::new(()),
            })
        })
    }
}

impl<S: Connection> Connection for WatchedStream<S> {
    fn connected(&self) -> Connected {
        self.stream
            .connected()
            .extra(OpenSignal(self.open.subscribe()))
    }
}

impl<S: Read + Unpin> Read for WatchedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: Write + Unpin> Write for WatchedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use http_body_util::Empty;
    use hyper::Request;
    use hyper_util::client::legacy::Client;
    use hyper_util::client::legacy::connect::{HttpConnector, capture_connection};
    use hyper_util::rt::TokioExecutor;
    use tokio::io::AsyncReadExt as _;
    use tokio::net::TcpListener;

    use super::*;

    const SHORT: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_secs(10);

    #[tokio::test]
    async fn the_end_of_a_requests_connection_is_noticed_and_nothing_else() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let client =
            Client::builder(TokioExecutor::new()).build(WatchedConnector(HttpConnector::new()));
        let mut request = Request::get(url).body(Empty::<&[u8]>::new()).unwrap();
        let captured = capture_connection(&mut request);
        let requested = tokio::spawn(async move { client.request(request).await });
        let (mut server, _) = listener.accept().await.unwrap();
        let mut first = [0; 3];
        server.read_exact(&mut first).await.unwrap();
        assert_eq!(&first, b"GET");

        // As if the request had been lost.
        let lost = |captured| outcome(pending::<()>(), captured, SHORT);
        let early = tokio::time::timeout(6 * SHORT, lost(captured.clone())).await;
        assert!(early.is_err(), "the connection is open");
        drop(server);
        let noticed = tokio::time::timeout(LONG, lost(captured.clone())).await;
        assert_eq!(noticed, Ok(None), "the connection ended");
        let known = outcome(ready(7), captured, SHORT).await;
        assert_eq!(known, Some(7), "what is there already counts");
        assert!(requested.await.unwrap().is_err());
    }

    #[tokio::test]
    async fn a_request_without_a_connection_waits_for_its_own_outcome() {
        let mut request = Request::get("/").body(()).unwrap();
        let captured = capture_connection(&mut request);
        drop(request);
        let waiting = outcome(pending::<()>(), captured, Duration::ZERO);
        assert!(tokio::time::timeout(SHORT, waiting).await.is_err());
    }
}
