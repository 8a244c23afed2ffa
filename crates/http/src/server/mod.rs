//! The listener: accepts connections within bounds, speaks HTTP/1.1 and HTTP/2 with or without TLS, and drains on
//! shutdown.

mod connection;
mod io;
pub mod malformed_request;
pub mod open_files;
pub mod response_body;
mod startup;
pub mod stop_signal;
pub mod store_failure;

use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use kedge_config::Config;
use kedge_net::connection::{ConnectionState, OpenRequest};
use kedge_net::room::ConnectionRoom;
use kedge_net::shedding::LoadShedder;
use kedge_net::tls::{ServerCertificate, TlsError};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::metric_definitions::{CONNECTIONS, CONNECTIONS_ENDED};
use connection::ConnectionHandler;
use response_body::SentBody;
pub use startup::StartRequirement;

/// Pause after a failed `accept`, usually for lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("option listen: {address}: {source}")]
    Listen {
        address: SocketAddr,
        source: std::io::Error,
    },
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The measuring thread could not be started.
    #[error("the thread that measures how long requests wait did not start: {0}")]
    Probe(std::io::Error),
    /// The client for other nodes could not be set up.
    #[error("requests cannot be forwarded: {0}")]
    Forwarding(String),
    #[error(transparent)]
    Secret(#[from] kedge_config::secrets::SecretError),
}

/// A service behind the listener.
pub trait RequestHandler: Send + Sync + 'static {
    fn answer(
        &self,
        request: Request<Incoming>,
        using: OpenRequest,
    ) -> impl Future<Output = Response<SentBody>> + Send;

    /// The bytes of the answer to an unparsable request, for which hyper chose this status.
    fn refuse_unparsed(&self, status: StatusCode, line: &Arc<ConnectionState>) -> Bytes;
}

/// A bound listener that accepts nothing yet.
pub struct BoundListener {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<Arc<ServerCertificate>>,
}

impl BoundListener {
    /// Binds the configured address and reads the certificate.
    pub async fn bind(config: &Config) -> Result<Self, ServerError> {
        let tls = match (&config.tls_certificate_file, &config.tls_key_file) {
            (Some(certificate), Some(key)) => Some(Arc::new(ServerCertificate::open(
                certificate.clone(),
                key.clone(),
            )?)),
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

    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// The certificate, for reloading on SIGHUP.
    pub fn tls(&self) -> Option<Arc<ServerCertificate>> {
        self.tls.clone()
    }

    /// Serves until `stop` resolves; then calls `stopping`, and lets requests in flight finish for a bounded time.
    pub async fn serve(
        self,
        config: &Config,
        answering: impl RequestHandler,
        shedding: Arc<LoadShedder>,
        stop: impl Future<Output = ()>,
        stopping: impl FnOnce(),
    ) {
        let connections = Arc::new(ConnectionHandler::new(config, answering));
        let room = ConnectionRoom::new(config, open_files::connections_below());
        let (ends, end) = watch::channel(());
        tokio::pin!(stop);
        loop {
            // Above the bound, connections wait in the kernel's queue.
            let accepted = async {
                let free = room.free().await;
                (free, self.listener.accept().await)
            };
            let (free, accepted) = tokio::select! {
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
            let Some(free) = free else {
                continue;
            };
            let place = match room.place(free, peer, stream.as_raw_fd() as u64) {
                Ok(place) => place,
                Err(reason) => {
                    metrics::counter!(CONNECTIONS_ENDED, "reason" => reason).increment(1);
                    continue;
                }
            };
            let connections = Arc::clone(&connections);
            let tls = self.tls.clone();
            let end = end.clone();
            let connected = shedding.connected();
            tokio::spawn(async move {
                let _counted = connected;
                metrics::gauge!(CONNECTIONS).increment(1);
                connections.accept(stream, (peer, place), tls, end).await;
                metrics::gauge!(CONNECTIONS).decrement(1);
            });
        }
        drop(self.listener);
        stopping();
        let drain = Duration::from_secs(config.drain_timeout_s);
        drop(end);
        // Without connections there is no receiver.
        let _ = ends.send(());
        if tokio::time::timeout(drain, ends.closed()).await.is_err() {
            tracing::warn!("requests were still in flight at the end of drain_timeout_s");
        }
    }
}
