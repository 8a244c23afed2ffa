//! One POST to a receiver: over a connection of its organization, to a checked address, in bounded time. Redirects are
//! not followed, and only the beginning of the answer's body is read.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, RETRY_AFTER, USER_AGENT};
use hyper::rt::{Read, Write};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use kedge_config::IpNetwork;
use kedge_net::trust::{self, TrustError};
use kedge_protocol::Id;
use kedge_protocol::limits::WEBHOOK_ANSWER_BYTES_MAX;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::bounded_connection::{BoundedConnection, MESSAGE_BYTES_MAX, ReceiverAllowance};
use super::delivery::DeliveryVerdict;
use super::guard::{AddressGuard, TargetError, WebhookTarget};
use super::idle_connections::{IdleConnections, ReceiverConnection, ReceiverRoute};

/// Time limit for the answer's body, which decides nothing.
const ANSWER_BODY_TIMEOUT: Duration = Duration::from_secs(1);
/// hyper's read buffer; an answer's head must fit.
const BUFFER_BYTES: usize = 32 * 1024;
const AGENT: &str = concat!("kedge-webhooks/", env!("CARGO_PKG_VERSION"));

pub struct WebhookPoster {
    guard: AddressGuard,
    tls: TlsConnector,
    timeout: Duration,
    idle: IdleConnections,
}

/// Configuration error of the webhooks.
#[derive(Debug, thiserror::Error)]
pub enum PosterError {
    #[error("TLS to webhooks: {0}")]
    Tls(TrustError),
    /// The file of additional certificates.
    #[error("option webhook_ca_file: {0}")]
    Roots(TrustError),
}

/// Reasons for a missing answer. The messages are for the webhook's owner, and reveal nothing of this server's
/// networks.
#[derive(Debug, thiserror::Error)]
enum PostError {
    #[error("the URL {0}")]
    Target(#[from] TargetError),
    #[error("the receiver could not be connected to")]
    Connect,
    #[error("TLS: {0}")]
    Tls(String),
    #[error("the connection broke off before the answer")]
    Broken,
    #[error("the receiver sent {} KiB, and no end of its answer", MESSAGE_BYTES_MAX / 1_024)]
    TooLong,
    #[error("no answer within {0} s")]
    Timeout(u64),
}

impl WebhookPoster {
    /// Sends to the public internet and to the `allowed` networks, each POST within `timeout`. One organization may use
    /// the given percentage of concurrent lookups.
    pub fn new(
        allowed: Vec<IpNetwork>,
        share_percent: u8,
        timeout: Duration,
        ca_file: Option<&Path>,
    ) -> Result<Self, PosterError> {
        let tls = trust::client_config_with(ca_file).map_err(|error| match ca_file {
            Some(_) => PosterError::Roots(error),
            None => PosterError::Tls(error),
        })?;
        Ok(Self {
            guard: AddressGuard::new(allowed, share_percent),
            tls: TlsConnector::from(Arc::new(tls)),
            timeout,
            idle: IdleConnections::default(),
        })
    }

    pub fn guard(&self) -> &AddressGuard {
        &self.guard
    }

    /// Sends a body with these headers to an organization's receiver.
    pub async fn post(
        &self,
        organization: Id,
        url: &str,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> DeliveryVerdict {
        let exchange = self.exchange(organization, url, headers, body);
        let answer = match tokio::time::timeout(self.timeout, exchange).await {
            Ok(answer) => answer,
            Err(_) => Err(PostError::Timeout(self.timeout.as_secs())),
        };
        match answer {
            Ok((status, headers)) => verdict(status, &headers),
            Err(error) => DeliveryVerdict::Failed {
                status: None,
                error: error.to_string(),
                retry_after_ms: None,
            },
        }
    }

    async fn exchange(
        &self,
        organization: Id,
        url: &str,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<(u16, HeaderMap), PostError> {
        let target = WebhookTarget::parse(url)?;
        let request = request(&target, headers, body)?;
        let route = ReceiverRoute {
            organization,
            is_https: target.is_https,
            authority: target.authority.clone(),
        };
        if let Some(kept) = self.idle.take(&route)
            && let Ok(answer) = self.answer(kept, route.clone(), request.clone()).await
        {
            return Ok(answer);
        }
        // The receiver may have just closed the kept connection; this is still the same attempt.
        let connection = self.open(organization, target).await?;
        self.answer(connection, route, request).await
    }

    async fn open(
        &self,
        organization: Id,
        target: WebhookTarget,
    ) -> Result<ReceiverConnection, PostError> {
        let addresses = self.guard.addresses(organization, &target).await?;
        let allowance = ReceiverAllowance::new();
        let stream = BoundedConnection::new(connect(&addresses).await?, allowance.clone());
        if !target.is_https {
            return begin(stream, allowance).await;
        }
        let name = ServerName::try_from(target.name).map_err(|_| TargetError::Form)?;
        let stream = self.tls.connect(name, stream).await;
        let stream = stream.map_err(|error| PostError::Tls(error.to_string()))?;
        begin(stream, allowance).await
    }

    /// Sends the request, and keeps the connection if it can be used again.
    async fn answer(
        &self,
        mut connection: ReceiverConnection,
        route: ReceiverRoute,
        request: Request<Full<Bytes>>,
    ) -> Result<(u16, HeaderMap), PostError> {
        connection.allowance.renew();
        let response = connection.sender.send_request(request).await;
        let broken = |_| {
            if connection.allowance.is_spent() {
                PostError::TooLong
            } else {
                PostError::Broken
            }
        };
        let (parts, body) = response.map_err(broken)?.into_parts();
        // The body is drained, so that a receiver that writes first can close cleanly.
        let rest = async {
            let body = Limited::new(body, WEBHOOK_ANSWER_BYTES_MAX).collect();
            body.await.is_ok() && connection.sender.ready().await.is_ok()
        };
        if tokio::time::timeout(ANSWER_BODY_TIMEOUT, rest).await == Ok(true) {
            self.idle.keep(route, connection);
        }
        Ok((parts.status.as_u16(), parts.headers))
    }
}

fn request(
    target: &WebhookTarget,
    headers: HeaderMap,
    body: Vec<u8>,
) -> Result<Request<Full<Bytes>>, PostError> {
    let mut request = Request::new(Full::new(Bytes::from(body)));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = target.path.clone().into();
    *request.headers_mut() = headers;
    let fields = [
        (HOST, target.authority.as_str()),
        (CONTENT_TYPE, "application/json"),
        (USER_AGENT, AGENT),
    ];
    for (name, value) in fields {
        let value = value.parse().map_err(|_| TargetError::Form)?;
        request.headers_mut().insert(name, value);
    }
    Ok(request)
}

async fn connect(addresses: &[SocketAddr]) -> Result<TcpStream, PostError> {
    for address in addresses {
        if let Ok(stream) = TcpStream::connect(address).await {
            // A message is one write, so there is nothing to wait for.
            let _slower = stream.set_nodelay(true);
            return Ok(stream);
        }
    }
    Err(PostError::Connect)
}

async fn begin<S>(stream: S, allowance: ReceiverAllowance) -> Result<ReceiverConnection, PostError>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    TokioIo<S>: Read + Write,
{
    let mut protocol = http1::Builder::new();
    protocol.max_buf_size(BUFFER_BYTES);
    let begun = protocol.handshake(TokioIo::new(stream)).await;
    let (sender, connection) = begun.map_err(|_| PostError::Broken)?;
    let driver = tokio::spawn(async move {
        // The sender learns how it ended.
        let _ended = connection.await;
    });
    Ok(ReceiverConnection::new(
        sender,
        driver.abort_handle(),
        allowance,
    ))
}

/// Maps an answer to a verdict.
fn verdict(status: u16, headers: &HeaderMap) -> DeliveryVerdict {
    let error = match status {
        200..300 => return DeliveryVerdict::Delivered { status },
        410 => return DeliveryVerdict::Gone,
        300..400 => format!("the receiver answered {status}; redirects are not followed"),
        _ => format!("the receiver answered {status}"),
    };
    let may_ask = matches!(status, 429 | 503);
    DeliveryVerdict::Failed {
        status: Some(status),
        error,
        retry_after_ms: headers
            .get(RETRY_AFTER)
            .filter(|_| may_ask)
            .and_then(|value| retry_after_ms(value.to_str().ok()?, SystemTime::now())),
    }
}

/// Parses `Retry-After` (RFC 9110, 10.2.3): seconds, or a date.
fn retry_after_ms(value: &str, now: SystemTime) -> Option<u64> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<u64>() {
        return Some(seconds.saturating_mul(1_000));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    let left = date.duration_since(now).unwrap_or_default();
    Some(left.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use kedge_protocol::{Hash, Prefix};
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::TcpListener;

    use super::*;

    // Holds invariant 40.
    /// Sends interim answers, which hyper would skip forever.
    #[tokio::test]
    async fn a_receiver_that_never_comes_to_an_end_is_cut_off() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let receiving = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let interim = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(1_000);
            while stream.write_all(&interim).await.is_ok() {}
        });
        let loopback = vec!["127.0.0.0/8".parse().unwrap()];
        let poster = WebhookPoster::new(loopback, 100, Duration::from_mins(1), None).unwrap();
        let organization = Id::of_hash(Prefix::Organization, &Hash::ZERO);
        let posted = poster.post(organization, &url, HeaderMap::new(), b"{}".to_vec());
        let DeliveryVerdict::Failed { error, .. } = posted.await else {
            panic!("it never answered");
        };
        assert_eq!(error, "the receiver sent 256 KiB, and no end of its answer");
        receiving.await.unwrap();
    }

    #[test]
    fn answers_mean_what_they_say() {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, "7".parse().unwrap());
        let of = |status| verdict(status, &headers);
        for status in [200, 202, 204, 299] {
            assert_eq!(of(status), DeliveryVerdict::Delivered { status });
        }
        assert_eq!(of(410), DeliveryVerdict::Gone);
        for status in [301, 302, 307, 308, 400, 404, 429, 500, 503] {
            let DeliveryVerdict::Failed {
                status: reported,
                retry_after_ms,
                ..
            } = of(status)
            else {
                panic!("{status} is a failure");
            };
            assert_eq!(reported, Some(status));
            let asks = matches!(status, 429 | 503);
            assert_eq!(retry_after_ms, asks.then_some(7_000), "{status}");
        }
    }

    #[test]
    fn receivers_ask_for_time_in_seconds_or_with_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let of = |text| retry_after_ms(text, now);
        assert_eq!(of(" 120 "), Some(120_000));
        assert_eq!(of("Sun, 06 Nov 1994 08:50:37 GMT"), Some(60_000));
        assert_eq!(of("Sun, 06 Nov 1994 08:00:00 GMT"), Some(0));
        assert_eq!(of("soon"), None);
        assert_eq!(of("18446744073709551615"), Some(u64::MAX));
    }
}
