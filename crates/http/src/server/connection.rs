//! One connection from its first byte to its end: protocols and idle timeouts.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Version};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use kedge_config::Config;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::RequestHandler;
use super::io::TimedStream;
use crate::metric_definitions::CONNECTIONS_ENDED;
use kedge_net::HEADERS_MAX;
use kedge_net::connection::{ConnectionEnd, ConnectionState, IdleLimits};
use kedge_net::flood::ConnectionFrames;
use kedge_net::heads::HeadTimer;
use kedge_net::room::ConnectionPlace;
use kedge_net::tls::ServerCertificate;

/// Concurrent requests of one HTTP/2 connection.
const STREAMS_MAX: u32 = 256;
/// Interval of pings on a silent HTTP/2 connection.
const PING_INTERVAL: Duration = Duration::from_secs(20);
/// Time limit of a ping's answer.
const PING_TIMEOUT: Duration = Duration::from_secs(10);
/// HTTP/2 windows, large enough that the largest body needs few round trips.
const STREAM_WINDOW_BYTES: u32 = 1024 * 1024;
const CONNECTION_WINDOW_BYTES: u32 = 4 * 1024 * 1024;
/// Factor by which hyper's limit of HTTP/2 headers exceeds ours, so that we can refuse them with a reason. Beyond that,
/// h2 refuses without keeping them.
const HEADERS_OVER: u32 = 2;

/// Announces the idle timeout to the caller (RFC 2068, 19.7.1.1).
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
/// Time that an unused connection is kept beyond the announced timeout, so that a request at the last moment is served.
const IDLE_MARGIN: Duration = Duration::from_secs(1);
const ANY_ORIGIN: &str = "*";

/// Shared configuration of connections.
pub(super) struct ConnectionHandler<A> {
    answering: Arc<A>,
    protocol: auto::Builder<TokioExecutor>,
    header_timeout: Duration,
    /// Bytes of a head kept for its refusal.
    kept_bytes_max: usize,
    of_callers: ConnectionTerms,
    of_proxies: ConnectionTerms,
}

/// Idle timeouts, and their announcement.
struct ConnectionTerms {
    patience: IdleLimits,
    keep_alive: HeaderValue,
}

impl ConnectionTerms {
    fn new(stalled_s: u64, idle_s: u64) -> Self {
        let keep_alive = HeaderValue::from_str(&format!("timeout={idle_s}"));
        Self {
            patience: IdleLimits {
                stalled: Duration::from_secs(stalled_s),
                idle: Duration::from_secs(idle_s) + IDLE_MARGIN,
            },
            keep_alive: keep_alive.unwrap_or(HeaderValue::from_static("timeout=1")),
        }
    }
}

/// Bytes of a head to keep: the origin matters only if some origins may read answers and others may not.
fn kept_bytes_max(config: &Config) -> usize {
    let origins = &config.cors_origins;
    if origins.len() > 1 && !origins.iter().any(|origin| origin == ANY_ORIGIN) {
        config.header_bytes_max
    } else {
        0
    }
}

/// Settings of both protocols.
fn protocol(config: &Config) -> auto::Builder<TokioExecutor> {
    let header_bytes_max = config.header_bytes_max as u32;
    let mut builder = auto::Builder::new(TokioExecutor::new());
    // hyper's own timer would also end connections that wait for their next request.
    builder
        .http1()
        .header_read_timeout(None)
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

impl<A: RequestHandler> ConnectionHandler<A> {
    pub(super) fn new(config: &Config, answering: A) -> Self {
        Self {
            answering: Arc::new(answering),
            protocol: protocol(config),
            header_timeout: Duration::from_secs(config.header_timeout_s),
            kept_bytes_max: kept_bytes_max(config),
            of_callers: ConnectionTerms::new(config.write_timeout_s, config.idle_timeout_s),
            of_proxies: ConnectionTerms::new(
                config.write_timeout_s,
                config.proxy_idle_timeout_s.max(config.idle_timeout_s),
            ),
        }
    }

    /// Serves a connection until its end. A connection of the reserve gets only a short time.
    pub(super) async fn accept(
        &self,
        stream: TcpStream,
        (peer, place): (IpAddr, ConnectionPlace),
        tls: Option<Arc<ServerCertificate>>,
        end: watch::Receiver<()>,
    ) {
        // Answers are written whole, so waiting for more data only costs time.
        let _best_effort = stream.set_nodelay(true);
        let line = ConnectionState::new(peer, place.is_reserve());
        let serving = self.shake_hands(stream, line, &place, tls, end);
        if place.is_reserve() {
            let _ended = tokio::time::timeout(self.header_timeout, serving).await;
        } else {
            serving.await;
        }
    }

    async fn shake_hands(
        &self,
        stream: TcpStream,
        line: Arc<ConnectionState>,
        place: &ConnectionPlace,
        tls: Option<Arc<ServerCertificate>>,
        end: watch::Receiver<()>,
    ) {
        let Some(tls) = tls else {
            return self.serve(stream, line, place, end).await;
        };
        let handshake = tls.acceptor().accept(stream);
        let shaken = tokio::select! {
            shaken = tokio::time::timeout(self.header_timeout, handshake) => shaken,
            // Another connection needs the place.
            () = place.gives_way() => return,
        };
        match shaken {
            Ok(Ok(stream)) => self.serve(stream, line, place, end).await,
            Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
            Err(_) => tracing::debug!("a TLS handshake took too long"),
        }
    }

    async fn serve<S>(
        &self,
        stream: S,
        line: Arc<ConnectionState>,
        place: &ConnectionPlace,
        mut end: watch::Receiver<()>,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let terms = if place.is_of_proxy() {
            &self.of_proxies
        } else {
            &self.of_callers
        };
        let timed = self.timed(stream, &line, place, terms.patience);
        let service = service_fn(|request: Request<Incoming>| {
            let answering = Arc::clone(&self.answering);
            let using = line.begin();
            let may_stay = request.version() == Version::HTTP_11 && !closes(request.headers());
            let (line, keep_alive) = (Arc::clone(&line), terms.keep_alive.clone());
            async move {
                let mut response = answering.answer(request, using).await;
                if may_stay && !closes(response.headers()) && !line.ends_soon() {
                    response.headers_mut().insert(KEEP_ALIVE, keep_alive);
                }
                Ok::<_, Infallible>(response)
            }
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
                over = line.over(terms.patience) => Some(over),
            };
            match over {
                // Unsent bytes are dropped; the caller does not read them.
                Some(ConnectionEnd::Stalled) => {
                    metrics::counter!(CONNECTIONS_ENDED, "reason" => "stalled").increment(1);
                    return;
                }
                Some(ConnectionEnd::Idle) if is_ending => return,
                Some(ConnectionEnd::Idle) => {
                    metrics::counter!(CONNECTIONS_ENDED, "reason" => "idle").increment(1);
                }
                None => {}
            }
            is_ending = true;
            line.end_soon();
            connection.as_mut().graceful_shutdown();
        }
    }
}

impl<A: RequestHandler> ConnectionHandler<A> {
    /// Wraps a stream with the limits of its place.
    fn timed<S>(
        &self,
        stream: S,
        line: &Arc<ConnectionState>,
        place: &ConnectionPlace,
        patience: IdleLimits,
    ) -> TimedStream<S> {
        let (answering, of) = (Arc::clone(&self.answering), Arc::clone(line));
        let heads = HeadTimer::new(
            Arc::clone(line),
            ConnectionFrames::new(place.frames()),
            self.header_timeout,
            self.kept_bytes_max,
        );
        TimedStream::new(
            stream,
            Arc::clone(line),
            Box::new(move |status| answering.refuse_unparsed(status, &of)),
            heads,
            patience.stalled,
        )
    }
}

/// Whether a message with these headers is the last one of its connection.
fn closes(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(CONNECTION).iter();
    values.any(|value| {
        let text = value.to_str().unwrap_or_default();
        let mut options = text.split(',').map(str::trim);
        options.any(|option| option.eq_ignore_ascii_case("close"))
    })
}
