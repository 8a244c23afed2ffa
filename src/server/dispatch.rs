//! The way of one request through the edge: route, permit, authentication, signature headers,
//! body, signature, handler, answer. Each step refuses before the next one costs anything.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::body::Incoming;
use hyper::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE,
};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use kedge_actors::metric_definitions::OVERLOADED;
use tokio::sync::SemaphorePermit;
use tracing::Instrument as _;

use super::refusals::Refusals;
use super::shedding::Shedding;
use crate::app::App;
use crate::auth::Session;
use crate::auth::api_key::API_KEY;
use crate::body::Text;
use crate::call::{Call, Reply};
use crate::clock::now_s;
use crate::config::secrets;
use crate::endpoint::{Answer, Auth, Endpoint, LimitClass, Router, Signs, TABLE};
use crate::envelope::Form;
use crate::error::{ApiError, Code};
use crate::idempotency;
use crate::limits::Tally;
use crate::metrics::HttpMetrics;
use crate::query::Query;
use crate::signing::SignatureHeaders;
use crate::signing::request::{self, Circumstances};
use crate::stream::SentBody;
use crate::v2;

/// How long a read waits for `min_sequence`.
const MIN_SEQUENCE_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest request id that is taken over from a caller.
const REQUEST_ID_BYTES_MAX: usize = 128;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const SEQUENCE: HeaderName = HeaderName::from_static("x-sequence");

/// Answers requests.
pub(super) struct Dispatch {
    app: Arc<App>,
    router: Router,
    metrics: HttpMetrics,
    ids: RequestIds,
    refusals: Refusals,
    shedding: Arc<Shedding>,
    tls: bool,
}

/// Ids for requests that bring none: unique over restarts, cheap to make.
struct RequestIds {
    process: String,
    next: AtomicU64,
}

impl RequestIds {
    fn next(&self) -> Arc<str> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        format!("{}-{number:x}", self.process).into()
    }
}

/// A client's request id, if it is one that can be written anywhere.
fn sane_request_id(value: &HeaderValue) -> Option<Arc<str>> {
    let text = value.to_str().ok()?;
    let is_sane = !text.is_empty()
        && text.len() <= REQUEST_ID_BYTES_MAX
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    is_sane.then(|| text.into())
}

impl Dispatch {
    /// Answers with `app`; `tls` tells that callers come by TLS.
    pub(super) fn new(
        app: Arc<App>,
        shedding: Arc<Shedding>,
        tls: bool,
    ) -> Result<Self, secrets::SecretError> {
        Ok(Self {
            app,
            router: Router::default(),
            metrics: HttpMetrics::new(),
            ids: RequestIds {
                process: hex::encode(secrets::random::<6>()?),
                next: AtomicU64::new(1),
            },
            refusals: Refusals::new(),
            shedding,
            tls,
        })
    }

    /// Answers a request, whatever happens.
    pub(super) async fn answer(
        &self,
        request: Request<Incoming>,
        peer: IpAddr,
    ) -> Response<SentBody> {
        let begun = Instant::now();
        let _under_way = self.metrics.begin();
        let brought = request.headers().get(REQUEST_ID).and_then(sane_request_id);
        let request_id = brought.unwrap_or_else(|| self.ids.next());
        let method = request.method().clone();
        let path = request.uri().path().to_owned();
        let is_v2 = v2::covers(&path);
        let form = if is_v2 {
            Form::Legacy
        } else {
            Form::of(request.headers())
        };
        let found = self.router.find(&method, &path);
        let index = found.as_ref().ok().map(|found| found.index);
        let readers = self.app.cors.readers(request.headers());
        let limits = &self.app.limits;
        let mut tally = limits.begin(peer, request.headers(), now_s());
        let span = tracing::info_span!("request", id = %request_id);
        let handled = async {
            if is_v2 {
                limits.count_address(&mut tally)?;
                let sequence = self.app.published().head.sequence;
                return self
                    .app
                    .v2
                    .answer(request.method(), request.uri(), sequence);
            }
            let found = match found {
                Ok(found) => found,
                Err(error) => {
                    let sequence = self.app.published().head.sequence;
                    let (method, headers) = (request.method(), request.headers());
                    if let Some(reply) = readers.preflight(method, headers, &error, sequence) {
                        return Ok(reply);
                    }
                    limits.count_address(&mut tally)?;
                    return Err(error);
                }
            };
            self.handle(
                &TABLE[found.index],
                (found.id, found.sub_id),
                request,
                Arc::clone(&request_id),
                &mut tally,
            )
            .await
        };
        let result = CatchPanic(Box::pin(handled)).instrument(span.clone()).await;
        debug_assert_eq!(
            index.and_then(|index| TABLE[index].contradiction(&result)),
            None,
            "the document is made from the row"
        );
        let (reply, code) = match result {
            Ok(reply) => (reply, None),
            Err(error) => {
                let signs = index.is_some_and(|index| TABLE[index].signs != Signs::Nothing);
                let error = if signs { error.of_change() } else { error };
                (self.refuse(form, &error, &request_id), Some(error.code))
            }
        };
        let status = reply.status;
        self.metrics.end(index, status, code, begun.elapsed());
        span.in_scope(|| {
            let elapsed_us = begun.elapsed().as_micros() as u64;
            tracing::debug!(%method, path, status = status.as_u16(), elapsed_us, "answered");
        });
        let mut response = self.finish(reply, &request_id, &tally);
        readers.write(response.headers_mut());
        response
    }

    async fn handle(
        &self,
        endpoint: &'static Endpoint,
        (id, sub_id): (String, String),
        request: Request<Incoming>,
        request_id: Arc<str>,
        tally: &mut Tally,
    ) -> Result<Reply, ApiError> {
        let app = &self.app;
        let (parts, incoming) = request.into_parts();
        let permit = match self.room_for(endpoint) {
            Ok(permit) => permit,
            Err(error) => {
                app.bodies.pass_over(&parts.headers, incoming).await;
                self.refusals.turn().await;
                return Err(error);
            }
        };
        let now_s = now_s();
        let session = self.identify(endpoint, &parts.headers, now_s, tally)?;
        let query = Query::parse(parts.uri.query(), &[&endpoint.parameter_names()])?;
        if let Some(session) = &session {
            session.check(endpoint.right())?;
        }
        let signature = match endpoint.signs {
            Signs::Nothing => None,
            _ => Some(SignatureHeaders::read(&parts.headers, now_s)?),
        };
        let mut body = match (endpoint.request, &endpoint.signs, session) {
            (None, ..) => Text::default(),
            (Some(_), Signs::File, Some(session)) => {
                let organization_id = session.organization_id;
                app.files
                    .receive(&parts.headers, incoming, organization_id)
                    .await?
            }
            (Some(_), ..) => app.bodies.read(&parts.headers, incoming).await?,
        };
        let submission = match signature {
            None => None,
            Some(headers) => {
                let circumstances = Circumstances {
                    session,
                    path_id: &id,
                    invitations: &app.invitations,
                };
                match request::read(&endpoint.signs, headers, &circumstances, &mut body)? {
                    None => None,
                    Some(signed) => Some(app.check(signed).await?),
                }
            }
        };
        self.wait_for_sequence(&query).await?;
        let mut call = Call {
            app: Arc::clone(app),
            endpoint,
            method: parts.method,
            id,
            sub_id,
            query,
            headers: parts.headers,
            body,
            session,
            submission: None,
            client_address: tally.client_address(),
            request_id,
        };
        if let Some(mut submission) = submission {
            if let Some(key) = idempotency::key_of(&call.headers)?
                && let Some(replayed) =
                    idempotency::begin(&call, parts.uri.path(), key, &mut submission)?
            {
                return idempotency::answer(call, replayed).await;
            }
            call.submission = Some(submission);
        }
        let answer: Answer = (endpoint.handler)(call);
        let reply = answer.await;
        drop(permit);
        reply
    }

    /// A permit for one more request, where one is needed. Asked for before anything else costs anything.
    fn room_for(&self, endpoint: &Endpoint) -> Result<Option<SemaphorePermit<'_>>, ApiError> {
        if endpoint.limit == LimitClass::Free {
            return Ok(None);
        }
        if endpoint.signs != Signs::Nothing {
            self.app.engine.check_clock()?;
            self.app.engine.check_room()?;
            if self.shedding.refuses() {
                metrics::counter!(OVERLOADED).increment(1);
                return Err(ApiError::overloaded());
            }
        }
        let permit = self.app.requests.try_acquire();
        permit.map(Some).map_err(|_| ApiError::overloaded())
    }

    /// Finds out who calls, and counts the request: before it is refused for want of a token, too.
    /// A public read by somebody with a token is counted on the token's organization; otherwise
    /// such a read knows nobody.
    fn identify(
        &self,
        endpoint: &Endpoint,
        headers: &HeaderMap,
        now_s: u64,
        tally: &mut Tally,
    ) -> Result<Option<Session>, ApiError> {
        let app = &self.app;
        let shows_something = headers.contains_key(AUTHORIZATION) || headers.contains_key(API_KEY);
        let may_show_token =
            endpoint.method == Method::GET && endpoint.limit != LimitClass::Free && shows_something;
        let (counted_on, session) = match endpoint.auth {
            Auth::Bearer => {
                let session = app.authenticate(headers, now_s);
                (session.as_ref().ok().copied(), session.map(Some))
            }
            Auth::Public if may_show_token => (app.authenticate(headers, now_s).ok(), Ok(None)),
            Auth::Public => (None, Ok(None)),
        };
        let organization = counted_on.map(|session| session.organization_id);
        self.app.limits.count(tally, endpoint.limit, organization)?;
        session
    }

    async fn wait_for_sequence(&self, query: &Query) -> Result<(), ApiError> {
        let Some(wanted) = query.number(crate::endpoint::MIN_SEQUENCE.name)? else {
            return Ok(());
        };
        let engine = &self.app.engine;
        if engine.published().head.sequence >= wanted
            || engine.wait_for(wanted, MIN_SEQUENCE_TIMEOUT).await
        {
            return Ok(());
        }
        let reached = engine.published().head.sequence;
        Err(ApiError::new(
            Code::SequenceNotReached,
            format!("the log is at sequence {reached}, not yet at {wanted}"),
        ))
    }

    fn refuse(&self, form: Form, error: &ApiError, request_id: &str) -> Reply {
        let body = form.write(error, request_id);
        let media_type = HeaderValue::from_static(form.media_type());
        let sequence = self.app.published().head.sequence;
        let reply = Reply::bytes(error.status(), sequence, media_type, body);
        // Every 401 says how to be known (RFC 9110, 15.5.2).
        let reply = if reply.status == StatusCode::UNAUTHORIZED {
            reply.with(WWW_AUTHENTICATE, "Bearer")
        } else {
            reply
        };
        let headers = error.headers.iter().cloned();
        headers.fold(reply, |reply, (name, value)| reply.with(name, &value))
    }

    /// Puts the headers on that every answer has.
    fn finish(&self, reply: Reply, request_id: &str, tally: &Tally) -> Response<SentBody> {
        let reply = reply.with(REQUEST_ID, request_id);
        let mut response = Response::new(reply.body.into_sent());
        *response.status_mut() = reply.status;
        *response.headers_mut() = reply.headers;
        let headers = response.headers_mut();
        headers.insert(SEQUENCE, HeaderValue::from(reply.sequence));
        self.app
            .limits
            .finish(tally, reply.status, headers, now_s());
        for (name, value) in SECURITY_HEADERS {
            // A page, and a file's content, bring a policy of their own.
            headers
                .entry(HeaderName::from_static(name))
                .or_insert(HeaderValue::from_static(value));
        }
        if self.tls {
            let year = HeaderValue::from_static("max-age=31536000");
            headers.insert(hyper::header::STRICT_TRANSPORT_SECURITY, year);
        }
        debug_assert!(
            headers.contains_key(CACHE_CONTROL),
            "every answer says how it may be kept"
        );
        debug_assert!(
            headers.contains_key(CONTENT_TYPE) || [204, 304].contains(&response.status().as_u16()),
            "every body has a type"
        );
        response
    }
}

/// An API's answers are data: nothing in them is to be run, framed or guessed at.
const SECURITY_HEADERS: [(&str, &str); 3] = [
    ("x-content-type-options", "nosniff"),
    (
        "content-security-policy",
        "default-src 'none'; frame-ancestors 'none'",
    ),
    ("referrer-policy", "no-referrer"),
];

/// A handler that panics becomes an error; the connection and the process go on.
struct CatchPanic<F>(Pin<Box<F>>);

impl<F: Future<Output = Result<Reply, ApiError>>> Future for CatchPanic<F> {
    type Output = Result<Reply, ApiError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let future = self.0.as_mut();
        // The future is dropped after a panic and never polled again.
        match std::panic::catch_unwind(AssertUnwindSafe(|| future.poll(context))) {
            Ok(poll) => poll,
            Err(_) => Poll::Ready(Err(ApiError::internal(&"a handler panicked"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_ids_are_taken_over_if_sane() {
        let sane = |text: &str| sane_request_id(&HeaderValue::from_str(text).unwrap());
        assert_eq!(sane("a-1.b_C").as_deref(), Some("a-1.b_C"));
        for bad in ["", "a b", "a\"b", "a/b", &"x".repeat(129)] {
            assert_eq!(sane(bad), None, "{bad}");
        }
    }

    #[tokio::test]
    async fn a_panic_is_an_internal_error() {
        let panicking = async { panic!("on purpose") };
        let result = CatchPanic(Box::pin(panicking)).await;
        assert_eq!(result.unwrap_err().code, Code::Internal);
    }
}
