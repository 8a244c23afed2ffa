//! The chain's thread and its HTTP listener.

use std::net::SocketAddr;
use std::thread::JoinHandle;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    CONTENT_TYPE, HeaderMap, HeaderValue, ORIGIN, VARY,
};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot, watch};

use super::chain::EmbeddedChain;
use super::dispatch::answer;
use crate::metric_definitions::EMBEDDED_REQUESTS_TOTAL;

/// Limit of a request body, in bytes: deploying the largest contract takes 100 kB.
const REQUEST_BYTES_MAX: usize = 4 << 20;
/// Limit of queued requests; beyond it clients must retry.
const QUEUE_MAX: usize = 256;

struct ChainRequest {
    body: Bytes,
    reply: oneshot::Sender<Option<Vec<u8>>>,
}

/// Starts the chain on a thread: execution and fsync block, and a single owner needs no lock.
pub(super) fn spawn_chain(
    mut chain: EmbeddedChain,
) -> std::io::Result<(ChainQueue, JoinHandle<()>)> {
    let (sender, mut receiver) = mpsc::channel::<ChainRequest>(QUEUE_MAX);
    let thread = std::thread::Builder::new()
        .name("embedded-chain".to_owned())
        .spawn(move || {
            while let Some(question) = receiver.blocking_recv() {
                let answer = answer(&mut chain, &question.body);
                let bytes = answer.map(|value| value.to_string().into_bytes());
                // The client may have disconnected.
                let _gone = question.reply.send(bytes);
            }
        })?;
    Ok((ChainQueue { sender }, thread))
}

/// A handle to the chain's thread, which ends with the last handle.
#[derive(Clone)]
pub(super) struct ChainQueue {
    sender: mpsc::Sender<ChainRequest>,
}

/// Accepts connections until `stop` changes, then finishes the open ones.
pub(super) async fn serve(
    listener: TcpListener,
    queue: ChainQueue,
    mut stop: watch::Receiver<bool>,
) {
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.changed() => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "the embedded chain cannot accept a connection");
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                continue;
            }
        };
        let queue = queue.clone();
        let service = service_fn(move |request| handle(queue.clone(), request));
        let builder = Builder::new(TokioExecutor::new());
        let connection = builder
            .serve_connection(TokioIo::new(stream), service)
            .into_owned();
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to the embedded chain broke");
            }
        });
    }
    drop(queue);
    let patience = std::time::Duration::from_secs(2);
    if tokio::time::timeout(patience, graceful.shutdown())
        .await
        .is_err()
    {
        tracing::debug!("connections to the embedded chain were still open at shutdown");
    }
}

async fn handle(
    queue: ChainQueue,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, std::convert::Infallible> {
    let page = own_page(request.headers());
    let mut response = match respond(&queue, request, page.is_some()).await {
        Ok(response) => response,
        Err(status) => plain(status),
    };
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("Origin"));
    if let Some(page) = page {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, page);
    }
    let outcome = if response.status().is_success() {
        "ok"
    } else {
        "refused"
    };
    metrics::counter!(EMBEDDED_REQUESTS_TOTAL, "outcome" => outcome).increment(1);
    Ok(response)
}

/// The request's origin, if a page of this machine (such as the console) sent it. Pages of other hosts are kept out.
fn own_page(headers: &HeaderMap) -> Option<HeaderValue> {
    let origin = headers.get(ORIGIN)?;
    let uri: Uri = origin.to_str().ok()?.parse().ok()?;
    let is_own = uri.scheme_str() == Some("http")
        && matches!(uri.host(), Some("127.0.0.1" | "[::1]" | "localhost"));
    is_own.then(|| origin.clone())
}

/// The answer to a CORS preflight request.
fn preflight() -> Response<Full<Bytes>> {
    let mut response = plain(StatusCode::NO_CONTENT);
    let headers = response.headers_mut();
    headers.insert(
        ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("POST"),
    );
    headers.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static("Content-Type"),
    );
    response
}

async fn respond(
    queue: &ChainQueue,
    request: Request<Incoming>,
    is_own_page: bool,
) -> Result<Response<Full<Bytes>>, StatusCode> {
    if request.method() == Method::OPTIONS && is_own_page {
        return Ok(preflight());
    }
    if request.method() != Method::POST {
        return Err(StatusCode::METHOD_NOT_ALLOWED);
    }
    // Web pages may send any text here without permission, but not JSON: this keeps foreign pages out.
    let json = request
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.starts_with("application/json"));
    if !json {
        return Err(StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    let body = Limited::new(request.into_body(), REQUEST_BYTES_MAX)
        .collect()
        .await
        .map_err(|_| StatusCode::PAYLOAD_TOO_LARGE)?
        .to_bytes();
    let (reply, answer) = oneshot::channel();
    queue
        .sender
        .try_send(ChainRequest { body, reply })
        .map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
    let answer = answer.await.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
    let Some(answer) = answer else {
        return Ok(plain(StatusCode::NO_CONTENT));
    };
    let mut response = Response::new(Full::new(Bytes::from(answer)));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

fn plain(status: StatusCode) -> Response<Full<Bytes>> {
    let text = status.canonical_reason().unwrap_or_default();
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = status;
    response
}

pub(super) fn local_address(listener: &TcpListener) -> std::io::Result<SocketAddr> {
    listener.local_addr()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds invariant 173.
    #[test]
    fn only_pages_of_this_machine_may_ask() {
        let asked_by = |origin: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(ORIGIN, HeaderValue::from_static(origin));
            own_page(&headers).is_some()
        };
        for own in [
            "http://127.0.0.1:8080",
            "http://localhost:8080",
            "http://[::1]:8080",
            "http://localhost",
        ] {
            assert!(asked_by(own), "{own}");
        }
        for foreign in [
            "https://example.com",
            "http://127.0.0.1.example.com",
            "http://localhost.example.com:8080",
            "http://127.0.0.1@example.com",
            "null",
            "",
        ] {
            assert!(!asked_by(foreign), "{foreign}");
        }
        assert!(own_page(&HeaderMap::new()).is_none());
    }
}
