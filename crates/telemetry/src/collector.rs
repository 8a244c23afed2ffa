//! HTTP client of the collector: POST over HTTP/1.1, with TLS if the URL says so, in bounded time. Redirects are not
//! followed, and the answer's size is limited.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{Request, Response};
use kedge_net::outbound::{self, HttpClient as Connections};
use kedge_net::trust::{self, TrustError};
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message as _;

/// Size limit of an answer.
const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// Time limit of connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Idle timeout of a connection.
const IDLE_MAX: Duration = Duration::from_secs(30);

pub(crate) struct SpanCollector {
    http: Connections<Full<Bytes>>,
    timeout: Duration,
    /// Spans refused in answers, until they are read from here.
    rejected: Arc<AtomicU64>,
}

impl SpanCollector {
    /// Trusts the system's roots, and those of a file. `timeout` bounds one attempt.
    pub(crate) fn new(
        ca_file: Option<&Path>,
        timeout: Duration,
        rejected: Arc<AtomicU64>,
    ) -> Result<Self, TrustError> {
        let tls = trust::client_config_with(ca_file)?;
        let connector = outbound::connector(tls, Some(CONNECT_TIMEOUT));
        Ok(Self {
            http: outbound::client(connector, IDLE_MAX),
            timeout,
            rejected,
        })
    }

    async fn exchange(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let response = self.http.request(request.map(Full::new)).await?;
        let (parts, body) = response.into_parts();
        let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await?;
        let body = body.to_bytes();
        if parts.status.is_success()
            && let Ok(answer) = ExportTraceServiceResponse::decode(body.clone())
            && let Some(partial) = answer.partial_success
        {
            let rejected = u64::try_from(partial.rejected_spans).unwrap_or(0);
            self.rejected.fetch_add(rejected, Ordering::Relaxed);
            tracing::debug!(
                rejected,
                why = partial.error_message,
                "the collector refused spans"
            );
        }
        Ok(Response::from_parts(parts, body))
    }
}

impl std::fmt::Debug for SpanCollector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Collector").finish_non_exhaustive()
    }
}

#[async_trait]
impl HttpClient for SpanCollector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        tokio::time::timeout(self.timeout, self.exchange(request)).await?
    }
}
