//! One connection from its first byte to its end: which protocols are spoken, and how long a caller may leave it idle.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use kedge_config::Config;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::Answering;
use super::HEADERS_MAX;
use super::io::Timed;
use super::line::{End, Line, Patience};
use super::room::Place;
use super::tls::Tls;
use crate::metric_definitions::CONNECTIONS_ENDED;

/// Requests of one HTTP/2 connection in flight at one time.
const STREAMS_MAX: u32 = 256;
/// How often a silent HTTP/2 connection is pinged.
const PING_INTERVAL: Duration = Duration::from_secs(20);
/// How long it has to answer.
const PING_TIMEOUT: Duration = Duration::from_secs(10);
/// HTTP/2 windows: the largest body must not need many round trips.
const STREAM_WINDOW_BYTES: u32 = 1024 * 1024;
const CONNECTION_WINDOW_BYTES: u32 = 4 * 1024 * 1024;
/// How far above the bound hyper accepts HTTP/2 headers, so that they can be refused with an
/// answer.
const HEADERS_OVER: u32 = 4;

/// What all connections share.
pub(super) struct Connections<A> {
    answering: Arc<A>,
    protocol: auto::Builder<TokioExecutor>,
    header_timeout: Duration,
    patience: Patience,
}

/// The settings of both protocols.
fn protocol(config: &Config) -> auto::Builder<TokioExecutor> {
    let header_bytes_max = config.header_bytes_max as u32;
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(config.header_timeout_s))
        .max_headers(HEADERS_MAX)
        .max_buf_size(config.header_bytes_max);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(header_bytes_max.saturating_mul(HEADERS_OVER))
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT);
    builder
}

impl<A: Answering> Connections<A> {
    /// Serves connections as configured.
    pub(super) fn new(config: &Config, answering: A) -> Self {
        Self {
            answering: Arc::new(answering),
            protocol: protocol(config),
            header_timeout: Duration::from_secs(config.header_timeout_s),
            patience: Patience {
                stalled: Duration::from_secs(config.write_timeout_s),
                idle: Duration::from_secs(config.idle_timeout_s),
            },
        }
    }

    /// Serves a connection until its end. A connection of the reserve gets only a short time, so that others find it
    /// free.
    pub(super) async fn accept(
        &self,
        stream: TcpStream,
        (peer, place): (IpAddr, Place),
        tls: Option<Arc<Tls>>,
        end: watch::Receiver<()>,
    ) {
        // Answers are written whole, so waiting for more to send only costs time.
        let _best_effort = stream.set_nodelay(true);
        let line = Line::new(peer, place.is_reserve());
        let serving = self.shake_hands(stream, line, tls, end);
        if place.is_reserve() {
            let _ended = tokio::time::timeout(self.header_timeout, serving).await;
        } else {
            serving.await;
        }
    }

    async fn shake_hands(
        &self,
        stream: TcpStream,
        line: Arc<Line>,
        tls: Option<Arc<Tls>>,
        end: watch::Receiver<()>,
    ) {
        let Some(tls) = tls else {
            return self.serve(stream, line, end).await;
        };
        let handshake = tls.acceptor().accept(stream);
        match tokio::time::timeout(self.header_timeout, handshake).await {
            Ok(Ok(stream)) => self.serve(stream, line, end).await,
            Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
            Err(_) => tracing::debug!("a TLS handshake took too long"),
        }
    }

    async fn serve<S>(&self, stream: S, line: Arc<Line>, mut end: watch::Receiver<()>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (answering, of) = (Arc::clone(&self.answering), Arc::clone(&line));
        let timed = Timed::new(
            stream,
            Arc::clone(&line),
            Box::new(move |status| answering.refuse_unparsed(status, &of)),
            self.header_timeout,
            self.patience.stalled,
        );
        let service = service_fn(|request: Request<Incoming>| {
            let answering = Arc::clone(&self.answering);
            let using = line.begin();
            async move { Ok::<_, Infallible>(answering.answer(request, using).await) }
        });
        let connection = self.protocol.serve_connection(TokioIo::new(timed), service);
        tokio::pin!(connection);
        let mut is_ending = false;
        loop {
            let over = tokio::select! {
                served = connection.as_mut() => {
                    if let Err(error) = served {
                        tracing::debug!(error, "a connection ended early");
                    }
                    return;
                }
                _ = end.changed(), if !is_ending => None,
                over = line.over(self.patience) => Some(over),
            };
            match over {
                // Unsent bytes are lost; a caller that reads nothing does not want them.
                Some(End::Stalled) => {
                    metrics::counter!(CONNECTIONS_ENDED, "reason" => "stalled").increment(1);
                    return;
                }
                Some(End::Idle) if is_ending => return,
                Some(End::Idle) => {
                    metrics::counter!(CONNECTIONS_ENDED, "reason" => "idle").increment(1);
                }
                None => {}
            }
            is_ending = true;
            connection.as_mut().graceful_shutdown();
        }
    }
}
