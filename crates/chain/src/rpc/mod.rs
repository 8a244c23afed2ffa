//! A small JSON-RPC 2.0 client for Ethereum nodes, over hyper 1.
//!
//! Every request has a deadline, every response a size limit, and every failure a kind, because the anchor sender
//! reacts differently to a dead, a busy and a refusing node.

mod endpoint;
mod error;
mod methods;
mod types;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE};
use hyper::{Method, Request};
use kedge_net::outbound::{self, HttpClient};
use rustls::RootCertStore;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

pub use endpoint::RpcEndpoint;
pub use error::{EndpointError, ErrorObject, RpcError};
pub use types::{BlockHeader, BlockTag, CallRequest, FeeHistory, LogFilter};

use crate::metric_definitions::{RPC_DURATION_SECONDS, RPC_REQUESTS_TOTAL};

/// How long an unused connection is kept.
const IDLE_MAX: Duration = Duration::from_secs(30);

/// Settings of the client.
#[derive(Debug, Clone)]
pub struct RpcOptions {
    /// Limit of one request, including the connection, in milliseconds.
    pub timeout_ms: u64,
    /// Limit of a response body.
    pub response_bytes_max: usize,
}

impl Default for RpcOptions {
    fn default() -> Self {
        Self {
            timeout_ms: 10_000,
            response_bytes_max: 8 << 20,
        }
    }
}

/// A simulated node in this process.
pub trait InProcessNode: Send + Sync + 'static {
    /// Maps a request body to a response body.
    fn answer(
        &self,
        request: Value,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, RpcError>> + Send>>;
}

/// The path of requests to the node.
#[derive(Clone)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are the larger one, and there are few"
)]
enum RpcTransport {
    Http(HttpClient<Full<Bytes>>),
    Node(Arc<dyn InProcessNode>),
}

impl fmt::Debug for RpcTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http(_) => "Http",
            Self::Node(_) => "Node",
        })
    }
}

/// A client of one Ethereum node. Cheap to clone; connections are shared.
#[derive(Debug, Clone)]
pub struct RpcClient {
    carrier: RpcTransport,
    endpoint: RpcEndpoint,
    options: RpcOptions,
    next_id: Arc<AtomicU64>,
    /// Whether the node has ever named a final block.
    has_finalized: Arc<AtomicBool>,
}

#[derive(Deserialize)]
struct JsonRpcResponse<'a> {
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<ErrorObject>,
}

impl RpcClient {
    /// Creates a client without connecting: an unreachable node shows at the first request. `https` trusts the
    /// process's root certificates ([`kedge_net::trust`]).
    pub fn new(endpoint: RpcEndpoint, options: RpcOptions) -> Self {
        let tls = kedge_net::trust::client_config().or_else(|error| {
            tracing::error!(%error, "nobody is trusted: no node can be reached by https");
            kedge_net::trust::of(RootCertStore::empty())
        });
        let tls = tls.expect("the provider has the default TLS versions");
        let http = outbound::client(outbound::connector(tls, None), IDLE_MAX);
        Self::over(RpcTransport::Http(http), endpoint, options)
    }

    /// A client of a simulated node; `endpoint` is only its name.
    pub fn to_node(
        node: Arc<dyn InProcessNode>,
        endpoint: RpcEndpoint,
        options: RpcOptions,
    ) -> Self {
        Self::over(RpcTransport::Node(node), endpoint, options)
    }

    fn over(carrier: RpcTransport, endpoint: RpcEndpoint, options: RpcOptions) -> Self {
        Self {
            carrier,
            endpoint,
            options,
            next_id: Arc::new(AtomicU64::new(1)),
            has_finalized: Arc::default(),
        }
    }

    /// The node's URL; its `Display` form holds no secrets.
    pub fn endpoint(&self) -> &RpcEndpoint {
        &self.endpoint
    }

    /// Calls `method` and reads the result as `R`.
    pub async fn request<R: DeserializeOwned>(
        &self,
        method: &'static str,
        params: Value,
    ) -> Result<R, RpcError> {
        let started = std::time::Instant::now();
        let deadline = Duration::from_millis(self.options.timeout_ms);
        let outcome = match tokio::time::timeout(deadline, self.exchange(method, params)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(RpcError::Timeout {
                timeout_ms: self.options.timeout_ms,
            }),
        };
        let label = outcome.as_ref().err().map_or("ok", RpcError::kind);
        metrics::counter!(RPC_REQUESTS_TOTAL, "method" => method, "outcome" => label).increment(1);
        metrics::histogram!(RPC_DURATION_SECONDS, "method" => method).record(started.elapsed());
        tracing::trace!(method, outcome = label, "rpc request");
        outcome
    }

    async fn exchange<R: DeserializeOwned>(
        &self,
        method: &'static str,
        params: Value,
    ) -> Result<R, RpcError> {
        let body = self.exchange_bytes(method, params).await?;
        let envelope: JsonRpcResponse<'_> = serde_json::from_slice(&body)
            .map_err(|error| RpcError::Malformed(error.to_string()))?;
        if let Some(error) = envelope.error {
            return Err(RpcError::Node(error));
        }
        let result = envelope.result.map_or("null", RawValue::get);
        serde_json::from_str(result).map_err(|error| RpcError::Malformed(error.to_string()))
    }

    async fn exchange_bytes(&self, method: &'static str, params: Value) -> Result<Bytes, RpcError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let http = match &self.carrier {
            RpcTransport::Http(http) => http,
            RpcTransport::Node(node) => return node.answer(body).await.map(Bytes::from),
        };
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(self.endpoint.uri().clone())
            .header(CONTENT_TYPE, "application/json");
        if let Some(authorization) = self.endpoint.authorization() {
            request = request.header(AUTHORIZATION, authorization.clone());
        }
        let request = request
            .body(Full::new(Bytes::from(body.to_string())))
            .map_err(|error| RpcError::Transport(error.to_string()))?;
        let response = http
            .request(request)
            .await
            .map_err(|error| RpcError::Transport(outbound::chain_text(&error)))?;
        let status = response.status().as_u16();
        let body = Limited::new(response.into_body(), self.options.response_bytes_max)
            .collect()
            .await
            .map_err(|error| self.body_error(error.as_ref()))?
            .to_bytes();
        // Some nodes answer an RPC error with a 4xx or 5xx; the error object is more specific.
        if !(200..300).contains(&status) {
            return match serde_json::from_slice::<JsonRpcResponse<'_>>(&body) {
                Ok(JsonRpcResponse {
                    error: Some(error), ..
                }) => Err(RpcError::Node(error)),
                _ => Err(RpcError::Status { status }),
            };
        }
        Ok(body)
    }

    fn body_error(&self, error: &(dyn std::error::Error + 'static)) -> RpcError {
        if error.is::<LengthLimitError>() {
            RpcError::TooLarge {
                limit_bytes: self.options.response_bytes_max,
            }
        } else {
            RpcError::Transport(outbound::chain_text(error))
        }
    }
}
