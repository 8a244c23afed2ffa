//! Request handler of the edge: changes go to the leader, reads to a ready node.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::header::{HeaderName, HeaderValue, STRICT_TRANSPORT_SECURITY};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode, Version};
use kedge_http::body::{self, BodyInterruption};
use kedge_http::cors::{CorsAnswer, CorsPolicy};
use kedge_http::envelope::ErrorForm;
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::server::response_body::SentBody;
use kedge_http::server::{RequestHandler, malformed_request};
use kedge_http::stream::ReplyBody;
use kedge_net::connection::{ConnectionState, OpenRequest};
use metrics::{counter, histogram};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::edge::forwarding::{ForwardingError, OutgoingBody, RequestForwarder, answer_of};
use crate::edge::local_answers;
use crate::edge::metric_definitions as metric;
use crate::edge::nodes::NodeDirectory;
use crate::edge::run::{ForwardRule, ForwardTarget};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Bodies of reads up to this size are kept for a second attempt at another node.
const KEPT_BYTES_MAX: u64 = 64 * 1024;
/// Unit of the memory for kept bodies, in bytes.
pub(crate) const ROOM_BYTES: u64 = 1024;
/// `Retry-After` of a request that found no node: another one leads within seconds.
const NO_NODE_RETRY_S: u64 = 1;
/// Time for a former leader to deliver the answers it still owes.
const LATE_ANSWER: Duration = Duration::from_secs(1);

/// Handles requests of the edge.
pub(crate) struct EdgeHandler {
    pub(crate) name: String,
    pub(crate) nodes: Arc<NodeDirectory>,
    pub(crate) passing: RequestForwarder,
    pub(crate) route: ForwardRule,
    /// Memory for kept bodies, in units of [`ROOM_BYTES`].
    pub(crate) room: Arc<Semaphore>,
    /// Time limit for a body to arrive.
    pub(crate) body_timeout: Duration,
    /// Time limit for a node to begin its answer.
    pub(crate) patience: Duration,
    pub(crate) header_bytes_max: usize,
    /// CORS of the edge's own answers.
    pub(crate) cors: CorsPolicy,
    pub(crate) tls: bool,
    /// Prefix of request ids, unique to the process.
    pub(crate) process: String,
    pub(crate) next_id: AtomicU64,
}

/// An incoming body; a kept one can be sent more than once.
enum ReplayableBody {
    Kept {
        bytes: Bytes,
        _room: Option<OwnedSemaphorePermit>,
    },
    Once(Option<Incoming>),
}

impl ReplayableBody {
    /// The body to send; `None` if it was sent and not kept.
    fn take(&mut self) -> Option<OutgoingBody> {
        match self {
            Self::Kept { bytes, .. } => Some(OutgoingBody::whole(bytes.clone())),
            Self::Once(body) => body.take().map(OutgoingBody::arriving),
        }
    }
}

fn late(_: tokio::time::error::Elapsed) -> ForwardingError {
    ForwardingError::Unknown("it took too long".to_owned())
}

fn replaced() -> ForwardingError {
    ForwardingError::Unknown("another node leads now".to_owned())
}

/// Adds the CORS headers of `readers`.
fn readable(mut response: Response<ReplyBody>, readers: &CorsAnswer) -> Response<ReplyBody> {
    readers.write(response.headers_mut());
    response
}

impl RequestHandler for EdgeHandler {
    async fn answer(&self, request: Request<Incoming>, using: OpenRequest) -> Response<SentBody> {
        let begun = Instant::now();
        let (mut parts, body) = request.into_parts();
        let is_http2 = parts.version == Version::HTTP_2;
        let form = ErrorForm::of(&parts.headers);
        let id = self.give_id(&mut parts);
        let readers = self.cors.readers(&parts.headers);
        let answered = match self.own(&parts) {
            Some(own) => Ok(readable(own, &readers)),
            None => self.answered(&parts, body, using.line().peer, begun).await,
        };
        let mut response = answered
            .unwrap_or_else(|error| readable(local_answers::refusal(&error, form, &id), &readers));
        if self.tls {
            let year = HeaderValue::from_static("max-age=31536000");
            response
                .headers_mut()
                .insert(STRICT_TRANSPORT_SECURITY, year);
        }
        if !is_http2 && response.status().is_client_error() {
            // A node that refused may have left the rest of the body unread.
            using.line().linger();
        }
        response.map(|body| SentBody::new(body, is_http2, None, using))
    }

    fn refuse_unparsed(&self, status: StatusCode, line: &Arc<ConnectionState>) -> Bytes {
        let readers = self.cors.readers_of_unparsed(line.origin());
        local_answers::unparsed(status, self.header_bytes_max, &self.new_id(), &readers)
    }
}

impl EdgeHandler {
    fn new_id(&self) -> String {
        let number = self.next_id.fetch_add(1, Ordering::Relaxed);
        format!("{}-{number:x}", self.process)
    }

    /// Sets the request's id: the caller's, which the node checks, or a new one.
    fn give_id(&self, parts: &mut Parts) -> String {
        if let Some(brought) = parts.headers.get(REQUEST_ID) {
            return brought.to_str().unwrap_or_default().to_owned();
        }
        let id = self.new_id();
        if let Ok(value) = HeaderValue::from_str(&id) {
            parts.headers.insert(REQUEST_ID, value);
        }
        id
    }

    /// The edge's own answer to this path, if it has one.
    fn own(&self, parts: &Parts) -> Option<Response<ReplyBody>> {
        if parts.method != Method::GET
            || malformed_request::fault(parts, self.header_bytes_max).is_some()
        {
            return None;
        }
        match parts.uri.path() {
            "/healthz" => Some(local_answers::healthy()),
            "/readyz" => Some(local_answers::readiness(&self.name, &self.nodes)),
            _ => None,
        }
    }

    async fn answered(
        &self,
        parts: &Parts,
        body: Incoming,
        caller: IpAddr,
        begun: Instant,
    ) -> ApiResult<Response<ReplyBody>> {
        if let Some(fault) = malformed_request::fault(parts, self.header_bytes_max) {
            return Err(fault);
        }
        let (to, passed) = match (self.route)(&parts.method, parts.uri.path()) {
            ForwardTarget::Node => ("node", self.to_node(parts, body, caller).await),
            ForwardTarget::Leader => ("leader", self.to_leader(parts, body, caller).await),
        };
        let outcome = match &passed {
            Ok(_) => "answered",
            Err(ForwardingError::Refused(_) | ForwardingError::Unsent(_)) => "unreached",
            Err(ForwardingError::Unknown(_)) => "unknown",
            Err(ForwardingError::BodyBroken | ForwardingError::BodyLate) => "body",
        };
        counter!(metric::PASSED, "to" => to, "outcome" => outcome).increment(1);
        histogram!(metric::PASSING_SECONDS, "to" => to).record(begun.elapsed());
        passed.map_err(|error| {
            tracing::debug!(%error, to, "a request was not answered");
            self.refusal_of(&error, to == "leader")
        })
    }

    /// The caller's error for a request that got no answer.
    fn refusal_of(&self, error: &ForwardingError, is_change: bool) -> ApiError {
        match error {
            ForwardingError::BodyBroken => body::of_broken(BodyInterruption::Off),
            ForwardingError::BodyLate => body::late(self.body_timeout),
            ForwardingError::Unknown(_) if is_change => ApiError::unknown(None),
            ForwardingError::Refused(_) | ForwardingError::Unsent(_) if is_change => {
                ApiError::unavailable(
                    "the node that leads the log cannot be reached; nothing was changed, try again",
                    NO_NODE_RETRY_S,
                )
            }
            _ => ApiError::unavailable("no node answers at the moment; try again", NO_NODE_RETRY_S),
        }
    }

    /// Sends the request to the leader. Stops waiting soon after another node leads. The wait is bounded too, because a
    /// request can be lost with the connection that it was about to use.
    async fn to_leader(
        &self,
        parts: &Parts,
        body: Incoming,
        caller: IpAddr,
    ) -> Result<Response<ReplyBody>, ForwardingError> {
        let unsent = || ForwardingError::Unsent("no node leads".to_owned());
        let leader = self.nodes.leader().ok_or_else(unsent)?;
        let limit = self.body_timeout + self.patience;
        let body = OutgoingBody::arriving(body);
        let passing = self.passing.pass(&leader.url, parts, body, caller);
        let passing = tokio::time::timeout(limit, passing);
        tokio::select! {
            biased;
            passed = passing => passed.map_err(late).and_then(|passed| passed).map(answer_of),
            () = self.replaced(leader.term) => Err(replaced()),
        }
    }

    /// Waits until the leader was replaced and has had time for the answers it owes.
    async fn replaced(&self, term: u64) {
        self.nodes.led_after(term).await;
        tokio::time::sleep(LATE_ANSWER).await;
    }

    /// Sends a read to the next ready node, and to the one after that if it does not answer; a read may be repeated. A
    /// node that accepts no connection is left out. A node that gives no answer is not, because the caller's request
    /// may be the reason: the edge's own probes decide.
    async fn to_node(
        &self,
        parts: &Parts,
        body: Incoming,
        caller: IpAddr,
    ) -> Result<Response<ReplyBody>, ForwardingError> {
        let mut failed = ForwardingError::Unsent("no node is ready".to_owned());
        let mut body = self.arrived(body).await?;
        let limit = match body {
            ReplayableBody::Kept { .. } => self.patience,
            ReplayableBody::Once(_) => self.body_timeout + self.patience,
        };
        for node in self.nodes.in_turn() {
            let Some(body) = body.take() else {
                break;
            };
            let passing = self.passing.pass(&node.url, parts, body, caller);
            let passed = tokio::time::timeout(limit, passing).await;
            match passed.map_err(late).and_then(|passed| passed) {
                Ok(response) => return Ok(answer_of(response)),
                Err(error) => {
                    tracing::debug!(node = node.name, %error, "a node gave no answer");
                    if matches!(error, ForwardingError::Refused(_)) {
                        self.nodes.leave_out(&node);
                    }
                    failed = error;
                }
            }
        }
        Err(failed)
    }

    /// Keeps a body that announces at most [`KEPT_BYTES_MAX`] bytes, if there is memory; others are streamed.
    async fn arrived(&self, body: Incoming) -> Result<ReplayableBody, ForwardingError> {
        if body.is_end_stream() {
            return Ok(ReplayableBody::Kept {
                bytes: Bytes::new(),
                _room: None,
            });
        }
        let bytes = body.size_hint().exact();
        let bytes = bytes.filter(|bytes| *bytes <= KEPT_BYTES_MAX);
        let room = bytes.and_then(|bytes| {
            let pieces = u32::try_from(bytes / ROOM_BYTES + 1).ok()?;
            Arc::clone(&self.room).try_acquire_many_owned(pieces).ok()
        });
        let Some(room) = room else {
            return Ok(ReplayableBody::Once(Some(body)));
        };
        match tokio::time::timeout(self.body_timeout, body.collect()).await {
            Ok(Ok(read)) => Ok(ReplayableBody::Kept {
                bytes: read.to_bytes(),
                _room: Some(room),
            }),
            Ok(Err(_)) => Err(ForwardingError::BodyBroken),
            Err(_) => Err(ForwardingError::BodyLate),
        }
    }
}
