//! The way of one request through the edge: to the leader, if it changes something, or to a node that is ready.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty, Full};
use hyper::body::{Body as _, Incoming};
use hyper::header::{HeaderName, HeaderValue, STRICT_TRANSPORT_SECURITY};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode, Version};
use kedge_cluster::AskError;
use kedge_http::envelope::Form;
use kedge_http::error::ApiError;
use kedge_http::server::line::{Line, Using};
use kedge_http::server::sent::SentBody;
use kedge_http::server::{Answering, parsing};
use kedge_http::signing::Signs;
use kedge_http::stream::Body;
use kedge_protocol::Hash;
use metrics::{counter, histogram};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::checking::{Checker, is_pure};
use crate::metric_definitions as metric;
use crate::nodes::Nodes;
use crate::own;
use crate::passing::{PassError, Passing, Sent, answer_of, boxed};
use crate::run::{Route, Way};
use crate::wire::{Answered, BODY_BYTES_MAX, Submitted};

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
    /// Checks signatures, if this edge does.
    pub(crate) checker: Option<Checker>,
    /// Room for bodies that are kept, in pieces of [`ROOM_BYTES`].
    pub(crate) room: Arc<Semaphore>,
    /// How long a body may take to arrive.
    pub(crate) body_timeout: Duration,
    /// How long a node may take to begin its answer to a read, and the leader for a submitted request.
    pub(crate) patience: Duration,
    pub(crate) header_bytes_max: usize,
    pub(crate) tls: bool,
    /// The part of request ids that differs from process to process.
    pub(crate) process: String,
    pub(crate) next_id: AtomicU64,
}

/// A body on its way, which can be sent more than once if it is kept.
enum Arriving {
    /// With its room.
    Kept(Bytes, Option<OwnedSemaphorePermit>),
    Once(Option<Incoming>),
}

impl Arriving {
    /// The body to send; `None` if it was sent and is not kept.
    fn take(&mut self) -> Option<Sent> {
        match self {
            Self::Kept(bytes, _) => Some(boxed(Full::new(bytes.clone()))),
            Self::Once(body) => body.take().map(http_body_util::BodyExt::boxed_unsync),
        }
    }
}

fn late(_: tokio::time::error::Elapsed) -> PassError {
    PassError::Unknown("it took too long".to_owned())
}

fn replaced() -> PassError {
    PassError::Unknown("another node leads now".to_owned())
}

impl Answering for Edge {
    async fn answer(&self, request: Request<Incoming>, using: Using) -> Response<SentBody> {
        let begun = Instant::now();
        let (mut parts, body) = request.into_parts();
        let is_http2 = parts.version == Version::HTTP_2;
        let form = Form::of(&parts.headers);
        let id = self.give_id(&mut parts);
        let answered = self.answered(&parts, body, using.line().peer, begun).await;
        let mut response = answered.unwrap_or_else(|error| own::refusal(&error, form, &id));
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

    fn refuse_unparsed(&self, status: StatusCode, _: &Arc<Line>) -> Bytes {
        own::unparsed(status, self.header_bytes_max, &self.new_id())
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
        if parts.method == Method::GET {
            match parts.uri.path() {
                "/healthz" => return Ok(own::healthy()),
                "/readyz" => return Ok(own::readiness(&self.name, &self.nodes)),
                _ => {}
            }
        }
        let (to, passed) = match (self.route)(&parts.method, parts.uri.path()) {
            Way::Node => ("node", self.to_node(parts, body, caller).await),
            Way::Leader => {
                let passing = self.to_leader(parts, body.boxed_unsync(), caller);
                ("leader", passing.await)
            }
            Way::Signed(signs, id) => self.signed((signs, &id), parts, body, caller).await,
        };
        let outcome = match &passed {
            Ok(_) => "answered",
            Err(PassError::Unreached(_)) => "unreached",
            Err(PassError::Unknown(_)) => "unknown",
        };
        counter!(metric::PASSED, "to" => to, "outcome" => outcome).increment(1);
        histogram!(metric::PASSING_SECONDS, "to" => to).record(begun.elapsed());
        passed.map_err(|error| {
            tracing::debug!(%error, to, "a request was not answered");
            match (error, to) {
                (PassError::Unknown(_), "leader" | "submitted") => ApiError::unknown(None),
                (PassError::Unreached(_), "leader" | "submitted") => ApiError::unavailable(
                    "the node that leads the log cannot be reached; nothing was changed, try again",
                    NO_NODE_RETRY_S,
                ),
                _ => ApiError::unavailable(
                    "no node answers at the moment; try again",
                    NO_NODE_RETRY_S,
                ),
            }
        })
    }

    /// Has the leader answer. Once another node leads, nobody waits for the former one for long; nor does anybody wait for
    /// longer than a leader may take, for a request can be lost with the connection that it was about to use.
    async fn to_leader(
        &self,
        parts: &Parts,
        body: Sent,
        caller: IpAddr,
    ) -> Result<Response<Body>, PassError> {
        let unreached = |why: &str| PassError::Unreached(why.to_owned());
        let leader = self.nodes.leader();
        let leader = leader.ok_or_else(|| unreached("no node leads"))?;
        let url = leader.url.trim_end_matches('/');
        let limit = self.body_timeout + self.patience;
        let passing = self.passing.pass(url, parts, body, caller);
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

    /// Checks a signed request, and submits it if its signature is right. If it cannot be checked here, or the leader takes
    /// no word of this edge, it is passed on like any other.
    async fn signed(
        &self,
        (signs, id): (&Signs, &str),
        parts: &Parts,
        body: Incoming,
        caller: IpAddr,
    ) -> (&'static str, Result<Response<Body>, PassError>) {
        let checker = self.checker.as_ref().filter(|_| is_pure(signs));
        let most = checker.map_or(0, |_| BODY_BYTES_MAX as u64);
        let (body, _room, checker) = match (self.arrived(body, most).await, checker) {
            (Ok(Arriving::Kept(body, room)), Some(checker)) => (body, room, checker),
            (Ok(mut body), _) => {
                let sent = body.take().unwrap_or_else(|| boxed(Empty::new()));
                return ("leader", self.to_leader(parts, sent, caller).await);
            }
            (Err(error), _) => return ("leader", Err(error)),
        };
        if let Some(digest) = checker.digest(signs, id, parts, &body)
            && let Some(answered) = self.submit(digest, parts, &body, caller).await
        {
            return ("submitted", answered);
        }
        let passing = self.to_leader(parts, boxed(Full::new(body)), caller);
        ("leader", passing.await)
    }

    /// The leader's answer to a request that was checked; `None` if it did nothing with it.
    async fn submit(
        &self,
        digest: Hash,
        parts: &Parts,
        body: &Bytes,
        caller: IpAddr,
    ) -> Option<Result<Response<Body>, PassError>> {
        let leader = self.nodes.leader()?;
        let submitted = Submitted::of(parts, body, caller, digest, self.patience).write()?;
        let asking = self.nodes.ask(leader.term, submitted, self.patience);
        let asked = tokio::select! {
            biased;
            asked = asking => asked,
            () = self.replaced(leader.term) => return Some(Err(replaced())),
        };
        let answer = match asked {
            Ok(answer) => Answered::read(&answer),
            Err(AskError::Nobody(_)) => return None,
            Err(AskError::Unanswered(why)) => return Some(Err(PassError::Unknown(why))),
        };
        let response = match answer {
            Ok(Answered::Given {
                status,
                headers,
                body,
            }) => Answered::response(status, headers, body),
            Ok(Answered::Refused(refusal)) => {
                tracing::debug!(?refusal, "the leader took no word of this edge");
                return None;
            }
            Ok(Answered::TooLong) => {
                return Some(Err(PassError::Unknown("the answer is too long".to_owned())));
            }
            Err(malformed) => Err(malformed),
        };
        let response = response.map_err(|error| PassError::Unknown(error.to_string()));
        Some(response.map(|response| response.map(Body::from)))
    }

    /// Has a node that is ready answer: the next one in turn, or the one after that if it does not answer. Nothing that
    /// is passed here changes anything, so it may be asked for more than once.
    async fn to_node(
        &self,
        parts: &Parts,
        body: Incoming,
        caller: IpAddr,
    ) -> Result<Response<Body>, PassError> {
        let mut failed = PassError::Unreached("no node is ready".to_owned());
        let mut body = self.arrived(body, KEPT_BYTES_MAX).await?;
        for node in self.nodes.in_turn() {
            let Some(body) = body.take() else {
                break;
            };
            let passing = self.passing.pass(&node.url, parts, body, caller);
            let passed = tokio::time::timeout(self.patience, passing).await;
            match passed.map_err(late).and_then(|passed| passed) {
                Ok(response) => return Ok(answer_of(response)),
                Err(error) => {
                    tracing::debug!(node = node.name, %error, "a node gave no answer");
                    self.nodes.leave_out(&node);
                    failed = error;
                }
            }
        }
        Err(failed)
    }

    /// Keeps a body that states that it has at most so many bytes, if there is room; another one is passed on as it
    /// arrives.
    async fn arrived(&self, body: Incoming, most: u64) -> Result<Arriving, PassError> {
        if body.is_end_stream() {
            return Ok(Arriving::Kept(Bytes::new(), None));
        }
        let bytes = body.size_hint().exact().filter(|bytes| *bytes <= most);
        let room = bytes.and_then(|bytes| {
            let pieces = u32::try_from(bytes / ROOM_BYTES + 1).ok()?;
            Arc::clone(&self.room).try_acquire_many_owned(pieces).ok()
        });
        let Some(room) = room else {
            return Ok(Arriving::Once(Some(body)));
        };
        let read = tokio::time::timeout(self.body_timeout, body.collect()).await;
        if let Ok(Ok(read)) = read {
            return Ok(Arriving::Kept(read.to_bytes(), Some(room)));
        }
        let why = "the body broke off, or took too long";
        Err(PassError::Unreached(why.to_owned()))
    }
}
