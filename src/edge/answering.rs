//! The way of one request through the edge: to the leader, if it changes something, or to a node that is ready.

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
use kedge_http::body::{self, Broken};
use kedge_http::cors::{Cors, Readers};
use kedge_http::envelope::Form;
use kedge_http::error::ApiError;
use kedge_http::server::sent::SentBody;
use kedge_http::server::{Answering, parsing};
use kedge_http::stream::Body;
use kedge_net::line::{Line, Using};
use metrics::{counter, histogram};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::edge::metric_definitions as metric;
use crate::edge::nodes::Nodes;
use crate::edge::own;
use crate::edge::passing::{Outgoing, PassError, Passing, answer_of};
use crate::edge::run::{Route, Way};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Bodies of reads up to this size are kept, so that another node can be asked.
const KEPT_BYTES_MAX: u64 = 64 * 1024;
/// Bytes of a piece of the room for bodies.
pub(crate) const ROOM_BYTES: u64 = 1024;
/// Seconds after which a request that found no node is to be repeated: another one leads within a few.
const NO_NODE_RETRY_S: u64 = 1;
/// How long a node that no longer leads may take for the answers it still owes.
const LATE_ANSWER: Duration = Duration::from_secs(1);

/// Passes requests on.
pub(crate) struct Edge {
    pub(crate) name: String,
    pub(crate) nodes: Arc<Nodes>,
    pub(crate) passing: Passing,
    pub(crate) route: Route,
    /// Room for bodies that are kept, in pieces of [`ROOM_BYTES`].
    pub(crate) room: Arc<Semaphore>,
    /// How long a body may take to arrive.
    pub(crate) body_timeout: Duration,
    /// How long a node may take to begin its answer.
    pub(crate) patience: Duration,
    pub(crate) header_bytes_max: usize,
    /// Who may read what the edge itself answers.
    pub(crate) cors: Cors,
    pub(crate) tls: bool,
    /// The part of request ids that differs from process to process.
    pub(crate) process: String,
    pub(crate) next_id: AtomicU64,
}

/// A body on its way, which can be sent more than once if it is kept.
enum Arriving {
    /// With its room.
    Kept {
        bytes: Bytes,
        _room: Option<OwnedSemaphorePermit>,
    },
    Once(Option<Incoming>),
}

impl Arriving {
    /// The body to send; `None` if it was sent and is not kept.
    fn take(&mut self) -> Option<Outgoing> {
        match self {
            Self::Kept { bytes, .. } => Some(Outgoing::whole(bytes.clone())),
            Self::Once(body) => body.take().map(Outgoing::arriving),
        }
    }
}

fn late(_: tokio::time::error::Elapsed) -> PassError {
    PassError::Unknown("it took too long".to_owned())
}

fn replaced() -> PassError {
    PassError::Unknown("another node leads now".to_owned())
}

/// An answer that these may read.
fn readable(mut response: Response<Body>, readers: &Readers) -> Response<Body> {
    readers.write(response.headers_mut());
    response
}

impl Answering for Edge {
    async fn answer(&self, request: Request<Incoming>, using: Using) -> Response<SentBody> {
        let begun = Instant::now();
        let (mut parts, body) = request.into_parts();
        let is_http2 = parts.version == Version::HTTP_2;
        let form = Form::of(&parts.headers);
        let id = self.give_id(&mut parts);
        let readers = self.cors.readers(&parts.headers);
        let answered = match self.own(&parts) {
            Some(own) => Ok(readable(own, &readers)),
            None => self.answered(&parts, body, using.line().peer, begun).await,
        };
        let mut response =
            answered.unwrap_or_else(|error| readable(own::refusal(&error, form, &id), &readers));
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

    fn refuse_unparsed(&self, status: StatusCode, line: &Arc<Line>) -> Bytes {
        let readers = self.cors.readers_of_unparsed(line.origin());
        own::unparsed(status, self.header_bytes_max, &self.new_id(), &readers)
    }
}

impl Edge {
    fn new_id(&self) -> String {
        let number = self.next_id.fetch_add(1, Ordering::Relaxed);
        format!("{}-{number:x}", self.process)
    }

    /// The request's id: the caller's, which the node checks, or a new one.
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

    /// What the edge answers by itself.
    fn own(&self, parts: &Parts) -> Option<Response<Body>> {
        if parts.method != Method::GET || parsing::fault(parts, self.header_bytes_max).is_some() {
            return None;
        }
        match parts.uri.path() {
            "/healthz" => Some(own::healthy()),
            "/readyz" => Some(own::readiness(&self.name, &self.nodes)),
            _ => None,
        }
    }

    async fn answered(
        &self,
        parts: &Parts,
        body: Incoming,
        caller: IpAddr,
        begun: Instant,
    ) -> Result<Response<Body>, ApiError> {
        if let Some(fault) = parsing::fault(parts, self.header_bytes_max) {
            return Err(fault);
        }
        let (to, passed) = match (self.route)(&parts.method, parts.uri.path()) {
            Way::Node => ("node", self.to_node(parts, body, caller).await),
            Way::Leader => ("leader", self.to_leader(parts, body, caller).await),
        };
        let outcome = match &passed {
            Ok(_) => "answered",
            Err(PassError::Refused(_) | PassError::Unsent(_)) => "unreached",
            Err(PassError::Unknown(_)) => "unknown",
            Err(PassError::BodyBroken | PassError::BodyLate) => "body",
        };
        counter!(metric::PASSED, "to" => to, "outcome" => outcome).increment(1);
        histogram!(metric::PASSING_SECONDS, "to" => to).record(begun.elapsed());
        passed.map_err(|error| {
            tracing::debug!(%error, to, "a request was not answered");
            self.refusal_of(&error, to == "leader")
        })
    }

    /// What the caller learns of a request that was not answered.
    fn refusal_of(&self, error: &PassError, is_change: bool) -> ApiError {
        match error {
            PassError::BodyBroken => body::of_broken(Broken::Off),
            PassError::BodyLate => body::late(self.body_timeout),
            PassError::Unknown(_) if is_change => ApiError::unknown(None),
            PassError::Refused(_) | PassError::Unsent(_) if is_change => ApiError::unavailable(
                "the node that leads the log cannot be reached; nothing was changed, try again",
                NO_NODE_RETRY_S,
            ),
            _ => ApiError::unavailable("no node answers at the moment; try again", NO_NODE_RETRY_S),
        }
    }

    /// Has the leader answer. Once another node leads, nobody waits for the former one for long; nor does anybody wait for
    /// longer than a leader may take, for a request can be lost with the connection that it was about to use.
    async fn to_leader(
        &self,
        parts: &Parts,
        body: Incoming,
        caller: IpAddr,
    ) -> Result<Response<Body>, PassError> {
        let unsent = || PassError::Unsent("no node leads".to_owned());
        let leader = self.nodes.leader().ok_or_else(unsent)?;
        let limit = self.body_timeout + self.patience;
        let body = Outgoing::arriving(body);
        let passing = self.passing.pass(&leader.url, parts, body, caller);
        let passing = tokio::time::timeout(limit, passing);
        tokio::select! {
            biased;
            passed = passing => passed.map_err(late).and_then(|passed| passed).map(answer_of),
            () = self.replaced(leader.term) => Err(replaced()),
        }
    }

    /// Waits until a leader has been replaced, and has had time for what it still owes.
    async fn replaced(&self, term: u64) {
        self.nodes.led_after(term).await;
        tokio::time::sleep(LATE_ANSWER).await;
    }

    /// Has a node that is ready answer: the next one in turn, or the one after that if it does not answer. Nothing that
    /// is passed here changes anything, so it may be asked for more than once. A node that accepts no connection is left
    /// out; whether one that gives no answer is to be is for the edge's own questions to find out, because what a caller
    /// sends may be the reason.
    async fn to_node(
        &self,
        parts: &Parts,
        body: Incoming,
        caller: IpAddr,
    ) -> Result<Response<Body>, PassError> {
        let mut failed = PassError::Unsent("no node is ready".to_owned());
        let mut body = self.arrived(body).await?;
        let limit = match body {
            Arriving::Kept { .. } => self.patience,
            Arriving::Once(_) => self.body_timeout + self.patience,
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
                    if matches!(error, PassError::Refused(_)) {
                        self.nodes.leave_out(&node);
                    }
                    failed = error;
                }
            }
        }
        Err(failed)
    }

    /// Keeps a body that states that it has at most [`KEPT_BYTES_MAX`] bytes, if there is room; another one is passed on
    /// as it arrives.
    async fn arrived(&self, body: Incoming) -> Result<Arriving, PassError> {
        if body.is_end_stream() {
            return Ok(Arriving::Kept {
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
            return Ok(Arriving::Once(Some(body)));
        };
        match tokio::time::timeout(self.body_timeout, body.collect()).await {
            Ok(Ok(read)) => Ok(Arriving::Kept {
                bytes: read.to_bytes(),
                _room: Some(room),
            }),
            Ok(Err(_)) => Err(PassError::BodyBroken),
            Err(_) => Err(PassError::BodyLate),
        }
    }
}
