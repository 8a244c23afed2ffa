//! The listener: accepts connections within bounds, speaks HTTP/1.1 and HTTP/2 with or without
//! TLS, and drains on the way down.

mod dispatch;
mod io;
mod refusals;
mod shedding;
pub mod tls;

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::app::App;
use crate::config::Config;
use crate::metrics::CONNECTIONS;
use dispatch::Dispatch;
use io::Timed;
use shedding::Shedding;
use tls::Tls;

/// Requests of one HTTP/2 connection under way at one time.
const STREAMS_MAX: u32 = 256;
/// Headers of one request.
const HEADERS_MAX: usize = 100;
/// How often a silent HTTP/2 connection is asked whether it lives.
const PING_INTERVAL: Duration = Duration::from_secs(20);
/// How long it has to say so.
const PING_TIMEOUT: Duration = Duration::from_secs(10);
/// HTTP/2 windows: the largest body must not wait for many rounds.
const STREAM_WINDOW_BYTES: u32 = 1024 * 1024;
const CONNECTION_WINDOW_BYTES: u32 = 4 * 1024 * 1024;
/// The pause after an error of `accept`, which is mostly a lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Why the server does not listen.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address.
    #[error("option listen: {address}: {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// TLS.
    #[error(transparent)]
    Tls(#[from] tls::TlsError),
    /// No thread.
    #[error("the thread that measures how long requests wait does not start: {0}")]
    Probe(std::io::Error),
    /// No randomness.
    #[error(transparent)]
    Secret(#[from] crate::config::secrets::SecretError),
}

/// A listener that is bound, before anything is accepted.
pub struct Bound {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<Arc<Tls>>,
}

impl Bound {
    /// Binds the address of the configuration and reads the certificate.
    pub async fn bind(config: &Config) -> Result<Self, ServerError> {
        let tls = match (&config.tls_certificate_file, &config.tls_key_file) {
            (Some(certificate), Some(key)) => {
                Some(Arc::new(Tls::open(certificate.clone(), key.clone())?))
            }
            _ => None,
        };
        let failed = |source| ServerError::Listen {
            address: config.listen,
            source,
        };
        let listener = TcpListener::bind(config.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self {
            listener,
            address,
            tls,
        })
    }

    /// The URL that reaches it.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// The certificate, to be read again on SIGHUP.
    pub fn tls(&self) -> Option<Arc<Tls>> {
        self.tls.clone()
    }

    /// Serves until `stop` resolves; then lets requests under way finish, for a bounded time.
    pub async fn serve<S>(self, config: &Config, app: Arc<App>, stop: S) -> Result<(), ServerError>
    where
        S: Future<Output = ()>,
    {
        let streams = Arc::clone(&app.streams);
        let wait_target = Duration::from_millis(config.wait_target_ms);
        let shedding =
            Shedding::start(wait_target, config.requests_min).map_err(ServerError::Probe)?;
        let connections = Connections {
            dispatch: Arc::new(Dispatch::new(
                app,
                Arc::clone(&shedding),
                self.tls.is_some(),
            )?),
            protocol: protocol(config),
            header_timeout: Duration::from_secs(config.header_timeout_s),
            write_timeout: Duration::from_secs(config.write_timeout_s),
        };
        let connections = Arc::new(connections);
        let permits = Arc::new(Semaphore::new(config.connections_max));
        let graceful = GracefulShutdown::new();
        tokio::pin!(stop);
        loop {
            // Above the bound connections wait in the kernel's queue.
            let accepted = async {
                let permit = Arc::clone(&permits).acquire_owned().await;
                (permit, self.listener.accept().await)
            };
            let (permit, accepted) = tokio::select! {
                () = &mut stop => break,
                accepted = accepted => accepted,
            };
            let (stream, peer) = match accepted {
                Ok((stream, peer)) => (stream, peer.ip()),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let connections = Arc::clone(&connections);
            let tls = self.tls.clone();
            let watcher = graceful.watcher();
            let connected = shedding.connected();
            tokio::spawn(async move {
                let _counted = (permit, connected);
                metrics::gauge!(CONNECTIONS).increment(1);
                connections.accept(stream, peer, tls, watcher).await;
                metrics::gauge!(CONNECTIONS).decrement(1);
            });
        }
        drop(self.listener);
        // They would go on for ever.
        streams.stop();
        let drain = Duration::from_secs(config.drain_timeout_s);
        if tokio::time::timeout(drain, graceful.shutdown())
            .await
            .is_err()
        {
            tracing::warn!("requests were still under way at the end of drain_timeout_s");
        }
        Ok(())
    }
}

/// How both protocols are spoken.
fn protocol(config: &Config) -> auto::Builder<TokioExecutor> {
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
        .max_header_list_size(config.header_bytes_max as u32)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT);
    builder
}

/// What every connection is served with.
struct Connections {
    dispatch: Arc<Dispatch>,
    protocol: auto::Builder<TokioExecutor>,
    header_timeout: Duration,
    write_timeout: Duration,
}

impl Connections {
    async fn accept(
        &self,
        stream: TcpStream,
        peer: IpAddr,
        tls: Option<Arc<Tls>>,
        watcher: Watcher,
    ) {
        // Answers are written whole: waiting for more to send only costs time.
        let _best_effort = stream.set_nodelay(true);
        let Some(tls) = tls else {
            return self.serve(stream, peer, watcher).await;
        };
        let handshake = tls.acceptor().accept(stream);
        match tokio::time::timeout(self.header_timeout, handshake).await {
            Ok(Ok(stream)) => self.serve(stream, peer, watcher).await,
            Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
            Err(_) => tracing::debug!("a TLS handshake took too long"),
        }
    }

    async fn serve<S>(&self, stream: S, peer: IpAddr, watcher: Watcher)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let timed = Timed::new(stream, self.header_timeout, self.write_timeout);
        let service = service_fn(|request: Request<Incoming>| {
            let dispatch = Arc::clone(&self.dispatch);
            async move { Ok::<_, Infallible>(dispatch.answer(request, peer).await) }
        });
        let connection = self.protocol.serve_connection(TokioIo::new(timed), service);
        if let Err(error) = watcher.watch(connection).await {
            tracing::debug!(error, "a connection ended early");
        }
    }
}
