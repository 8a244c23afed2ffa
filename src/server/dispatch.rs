//! Handling of one request: route, permit, authentication, signature headers, body, signature, handler, answer. Each
//! step can refuse before the next one costs anything. A request counts as in flight only once its body has arrived, so
//! a slow one does not block others.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONNECTION, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, Response, StatusCode, Version};
use kedge_actors::metric_definitions::OVERLOADED;
use kedge_cluster::node::Forwarder;
use kedge_config::{ClusterWrites, Config};
use kedge_http::auth::CallerSession;
use kedge_http::auth::api_key::API_KEY;
use kedge_http::body::{self, BodyText, IncomingBody};
use kedge_http::clock::now_s;
use kedge_http::cors::{CorsAnswer, CorsPolicy};
use kedge_http::envelope::ErrorForm;
use kedge_http::error::ApiError;
use kedge_http::limits::{BudgetReservation, LimitCharge, LimitClass};
use kedge_http::query::RequestQuery;
use kedge_http::reply::HttpReply;
use kedge_http::server::response_body::SentBody;
use kedge_http::server::{RequestHandler, ServerError, malformed_request};
use kedge_http::signing::SignatureHeaders;
use kedge_http::signing::SigningScheme;
use kedge_http::v2::{self, LegacyLayer};
use kedge_net::connection::{ConnectionState, OpenRequest};
use kedge_net::refusals::RefusalSchedule;
use kedge_net::request_ids::RequestIds;
use kedge_net::shedding::LoadShedder;
use kedge_protocol::Address;
use kedge_telemetry::RequestTrace;
use tracing::Instrument as _;

use super::execution::{ArrivedRequest, seen};
use super::http_metrics::{HttpMetrics, traced_method};
use super::response::undocumented;
use crate::api::endpoint::EndpointAuth;
use crate::api::idempotency;
use crate::api::services::Services;
use crate::api::{EndpointRouter, EndpointRow, TABLE, documented};
use crate::console::ConsoleFiles;

/// Time that a follower waits for the leader's answer beyond the leader's own limit.
const FORWARD_MARGIN: Duration = Duration::from_secs(2);

pub(super) struct RequestDispatcher {
    pub(super) services: Arc<Services>,
    pub(super) cors: CorsPolicy,
    legacy: LegacyLayer,
    pub(super) router: EndpointRouter,
    console: ConsoleFiles,
    pub(super) metrics: HttpMetrics,
    pub(super) ids: RequestIds,
    refusals: RefusalSchedule,
    shedding: Arc<LoadShedder>,
    pub(super) header_bytes_max: usize,
    pub(super) tls: bool,
    /// Handling of changes while this node follows.
    pub(super) writes: ClusterWrites,
    pub(super) forwarder: Forwarder,
}

/// State of a request while it is answered.
pub(super) struct RequestContext {
    pub(super) request_id: Arc<str>,
    pub(super) form: ErrorForm,
    pub(super) tally: LimitCharge,
    pub(super) body: IncomingBody,
    pub(super) peer: IpAddr,
    is_reserve: bool,
    /// Another node made the answer, and compared it with the document.
    pub(super) is_forwarded: bool,
    /// The index of its endpoint in [`TABLE`].
    pub(super) index: Option<usize>,
    pub(super) session: Option<CallerSession>,
    /// The alleged signer, and whether the signature proves it.
    pub(super) signer: Option<Address>,
    pub(super) signer_is_known: bool,
    /// The request's trace, if it is sampled.
    pub(super) traced: Option<Box<RequestTrace>>,
}

impl RequestContext {
    /// Begins a phase of the trace, if there is one.
    pub(super) fn phase(&mut self, name: &'static str) {
        if let Some(traced) = &mut self.traced {
            traced.phase(name);
        }
    }
}

impl RequestDispatcher {
    /// `tls` if callers connect by TLS.
    pub(super) fn new(
        config: &Config,
        services: Arc<Services>,
        shedding: Arc<LoadShedder>,
        tls: bool,
    ) -> Result<Self, ServerError> {
        Ok(Self {
            services,
            router: EndpointRouter::default(),
            cors: CorsPolicy::new(config.cors_origins.clone()),
            legacy: LegacyLayer::new(config),
            console: ConsoleFiles::new(config.console),
            metrics: HttpMetrics::new(),
            ids: RequestIds::new()?,
            refusals: RefusalSchedule::default(),
            shedding,
            header_bytes_max: config.header_bytes_max,
            tls,
            writes: config.cluster_writes,
            forwarder: Forwarder::new(
                config.cluster_node.as_deref().unwrap_or_default(),
                Duration::from_secs(config.request_timeout_s) + FORWARD_MARGIN,
            )
            .map_err(|error| ServerError::Forwarding(error.to_string()))?,
        })
    }
}

impl RequestHandler for RequestDispatcher {
    async fn answer(&self, request: Request<Incoming>, using: OpenRequest) -> Response<SentBody> {
        let begun = Instant::now();
        let _under_way = self.metrics.begin();
        let (mut parts, incoming) = request.into_parts();
        let is_http2 = parts.version == Version::HTTP_2;
        let body = self.services.bodies.arriving(&parts.headers, incoming);
        let line = using.line();
        let mut context = self.context(&parts, body, line.peer, line.is_reserve);
        let replying = self.replied(&mut parts, &mut context, is_http2, begun);
        let (reply, held, readers) = replying.await;
        // The body may take long, and there may be very many header fields.
        drop(parts);
        let is_read = self.services.bodies.pass_over(&mut context.body).await;
        let mut response = self.finish(reply, &context).map(|body| (body, held));
        readers.write(response.headers_mut());
        if !is_http2 && (!is_read || context.is_reserve) {
            // The rest of the body may stay unread, so no request can follow it.
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(CONNECTION, close);
            using.line().linger();
        }
        if is_http2 && !is_read {
            body::BodyReader::linger(context.body);
        }
        response.map(|(body, held)| SentBody::new(body, is_http2, held, using))
    }

    fn refuse_unparsed(&self, status: StatusCode, line: &Arc<ConnectionState>) -> Bytes {
        self.unparsed(status, line)
    }
}

impl RequestDispatcher {
    /// The context of a new request.
    fn context(
        &self,
        parts: &Parts,
        body: IncomingBody,
        peer: IpAddr,
        is_reserve: bool,
    ) -> RequestContext {
        let headers = &parts.headers;
        let tracer = self.services.tracer.as_ref();
        RequestContext {
            traced: tracer.and_then(|tracer| tracer.begin(headers, traced_method(&parts.method))),
            request_id: self.ids.of(headers),
            form: if v2::covers(parts.uri.path()) {
                ErrorForm::Legacy
            } else {
                ErrorForm::of(headers)
            },
            tally: self.services.limits.rates.begin(peer, headers, now_s()),
            body,
            peer,
            is_reserve,
            is_forwarded: false,
            index: None,
            session: None,
            signer: None,
            signer_is_known: false,
        }
    }

    /// The reply to a request, its share of the answers' budget, and its CORS headers.
    async fn replied(
        &self,
        parts: &mut Parts,
        context: &mut RequestContext,
        is_http2: bool,
        begun: Instant,
    ) -> (HttpReply, Option<BudgetReservation>, CorsAnswer) {
        let readers = self.cors.readers(&parts.headers);
        let span = match &context.traced {
            None => tracing::info_span!("request", id = %context.request_id),
            Some(traced) => {
                let trace_id = traced.trace_id();
                tracing::info_span!("request", id = %context.request_id, trace_id)
            }
        };
        let handled = self.route(parts, &readers, context);
        let result = CatchPanic(Box::pin(handled)).instrument(span.clone()).await;
        context.phase("answer");
        let coding_holder = Self::coding_holder(context);
        let result = match result {
            Ok(reply) => Ok(self.coded(reply, parts, coding_holder).await),
            Err(error) => Err(error),
        };
        let (result, held) = self.hold(result, parts, context, is_http2);
        let why = context
            .index
            .filter(|_| !context.is_forwarded)
            .and_then(|index| TABLE[index].contradiction(&result, documented(index)));
        if let Some(why) = why {
            undocumented(&why);
        }
        let (reply, code) = match result {
            Ok(reply) => (reply, None),
            Err(error) => {
                let signs = context
                    .index
                    .is_some_and(|index| TABLE[index].signs != SigningScheme::Nothing);
                let error = if signs { error.of_change() } else { error };
                let error = self.with_nonce(error, &parts.headers, context);
                let reply = self.refuse(context.form, &error, &context.request_id);
                let reply = self.coded(reply, parts, coding_holder).await;
                (reply, Some(error.code))
            }
        };
        let status = reply.status;
        let took = begun.elapsed();
        self.metrics.end(context.index, status, code, took);
        span.in_scope(|| {
            let elapsed_us = begun.elapsed().as_micros() as u64;
            let (method, path) = (&parts.method, parts.uri.path());
            tracing::debug!(%method, path, status = status.as_u16(), elapsed_us, "answered");
        });
        self.end_trace(context, parts, (status, code), took);
        (reply, held, readers)
    }

    /// Finds a request's endpoint and handles it.
    async fn route(
        &self,
        parts: &mut Parts,
        readers: &CorsAnswer,
        context: &mut RequestContext,
    ) -> Result<HttpReply, ApiError> {
        let limits = &self.services.limits.rates;
        if let Some(fault) = malformed_request::fault(parts, self.header_bytes_max) {
            limits.count_address(&mut context.tally)?;
            return Err(fault);
        }
        let (method, path) = (&parts.method, parts.uri.path());
        if v2::covers(path) {
            limits.count_address(&mut context.tally)?;
            let sequence = self.services.published().head.sequence;
            return self.legacy.answer(method, &parts.uri, sequence);
        }
        if crate::console::covers(path) {
            let sequence = self.services.published().head.sequence;
            return self.console.answer(method, path, &parts.headers, sequence);
        }
        let found = match self.router.find(method, path) {
            Ok(found) => found,
            Err(error) => {
                let sequence = self.services.published().head.sequence;
                if let Some(reply) = readers.preflight(method, &parts.headers, &error, sequence) {
                    return Ok(reply);
                }
                limits.count_address(&mut context.tally)?;
                return Err(error);
            }
        };
        context.index = Some(found.index);
        let endpoint = &TABLE[found.index];
        if let Some(traced) = &mut context.traced {
            traced.route(endpoint.path);
        }
        if context.is_reserve && endpoint.limit != LimitClass::Free {
            return Err(ApiError::overloaded());
        }
        self.handle(endpoint, (found.id, found.sub_id), parts, context)
            .await
    }

    async fn handle(
        &self,
        endpoint: &'static EndpointRow,
        (id, sub_id): (String, String),
        parts: &mut Parts,
        context: &mut RequestContext,
    ) -> Result<HttpReply, ApiError> {
        let services = &self.services;
        if let Some(answered) = self.by_leader(endpoint, parts, context).await {
            return answered;
        }
        if let Err(error) = self.check_room(endpoint) {
            services.bodies.pass_over(&mut context.body).await;
            self.refusals.turn().await;
            return Err(error);
        }
        context.phase("authenticate");
        let now_s = now_s();
        let identifying = self.identify(endpoint, parts, now_s, context);
        let session = identifying.await?;
        let query = self.check(endpoint, session.as_ref(), parts, context)?;
        let signature = match endpoint.signs {
            SigningScheme::Nothing => None,
            _ => Some(SignatureHeaders::read(&parts.headers, now_s)?),
        };
        let overdue = signature.and_then(|signature| signature.check_deadline(now_s).err());
        let overdue = match overdue {
            // An answer stored before the deadline is looked up once the signer's right to it is known.
            Some(late) if idempotency::key_of(&parts.headers)?.is_none() => return Err(late),
            overdue => overdue,
        };
        let arrived = ArrivedRequest {
            endpoint,
            id,
            sub_id,
            session,
            query,
            signature,
            overdue,
            body: self.read_body(endpoint, &parts.headers, context).await?,
        };
        self.answer_arrived(arrived, parts, context).await
    }

    /// Checks the query, the conditions, the caller's right, and the quotas of what will be written.
    fn check(
        &self,
        endpoint: &EndpointRow,
        session: Option<&CallerSession>,
        parts: &Parts,
        context: &RequestContext,
    ) -> Result<RequestQuery, ApiError> {
        let services = &self.services;
        let signs = endpoint.signs != SigningScheme::Nothing;
        if endpoint.limit != LimitClass::Free && !signs {
            services.limits.answers.check(&context.tally.holder())?;
        }
        let query = RequestQuery::parse(parts.uri.query(), &[&endpoint.parameter_names()])?;
        endpoint.check_numbers(&query)?;
        endpoint.check_condition(&parts.headers)?;
        if let Some(session) = session {
            session.check(endpoint.right())?;
            // The result of an earlier request with the same idempotency key is returned even so.
            if signs && idempotency::key_of(&parts.headers)?.is_none() {
                services.limits.rates.check_log(session.organization_id)?;
            }
        }
        Ok(query)
    }

    async fn read_body(
        &self,
        endpoint: &EndpointRow,
        headers: &HeaderMap,
        context: &mut RequestContext,
    ) -> Result<BodyText, ApiError> {
        let services = &self.services;
        let holder = context.tally.holder();
        let is_public = endpoint.auth == EndpointAuth::Public;
        if endpoint.request.is_some() {
            context.phase("read body");
        }
        match (endpoint.request, &endpoint.signs, context.session) {
            (None, ..) if services.bodies.pass_over(&mut context.body).await => {
                Ok(BodyText::default())
            }
            // It would fill windows for as long as the request takes, without counting on a caller.
            (None, ..) => Err(body::unwanted()),
            (Some(_), SigningScheme::File, Some(session)) => {
                let organization_id = session.organization_id;
                // Even if its key is known: the upload is written before the key is looked up.
                let tier = services.limits.rates.check_log(organization_id)?;
                let may_write = || services.limits.rates.check_disk(&tier);
                services
                    .files
                    .receive(headers, &mut context.body, (organization_id, &may_write))
                    .await
            }
            (Some(_), ..) => {
                services
                    .bodies
                    .read(headers, &mut context.body, holder, is_public)
                    .await
            }
        }
    }

    /// Refuses a request without room before it costs anything. The permit is taken later, when the whole request has
    /// arrived.
    fn check_room(&self, endpoint: &EndpointRow) -> Result<(), ApiError> {
        if endpoint.limit == LimitClass::Free {
            return Ok(());
        }
        if endpoint.signs != SigningScheme::Nothing {
            self.services.engine.check_clock()?;
            self.services.engine.check_room()?;
            if self.shedding.refuses() {
                metrics::counter!(OVERLOADED).increment(1);
                return Err(ApiError::overloaded());
            }
        }
        self.services.limits.check_room()
    }

    /// Identifies the caller, and counts the request even if it will be refused for lack of a token. A public read with
    /// a token is counted on the token's organization; otherwise its caller is unknown.
    async fn identify(
        &self,
        endpoint: &EndpointRow,
        parts: &Parts,
        now_s: u64,
        context: &mut RequestContext,
    ) -> Result<Option<CallerSession>, ApiError> {
        let (services, headers) = (&self.services, &parts.headers);
        let shows_something = headers.contains_key(AUTHORIZATION) || headers.contains_key(API_KEY);
        let may_show_token =
            endpoint.method == Method::GET && endpoint.limit != LimitClass::Free && shows_something;
        let (organization, session) = match endpoint.auth {
            EndpointAuth::Bearer => {
                let session = services.authenticate_at(headers, now_s, || seen(endpoint, parts));
                let organization = match &session {
                    Ok(session) => Some(session.organization_id),
                    Err(error) => self.organization_of_unread(error, headers, now_s),
                };
                (organization, session.map(Some))
            }
            EndpointAuth::Public if may_show_token => {
                let session = services.authenticate(headers, now_s);
                (
                    session.ok().map(|session| session.organization_id),
                    Ok(None),
                )
            }
            EndpointAuth::Public => (None, Ok(None)),
        };
        context.session = session.as_ref().ok().copied().flatten();
        let limits = &self.services.limits.rates;
        let counting = limits.count(&mut context.tally, endpoint.limit, organization);
        counting.await?;
        match session {
            Err(unread) if organization.is_some() => {
                let reading = self.caller_once_read(endpoint, parts, context, unread);
                reading.await.map(Some)
            }
            session => session,
        }
    }
}

/// Turns a handler's panic into an error; the connection and the process continue.
struct CatchPanic<F>(Pin<Box<F>>);

impl<F: Future<Output = Result<HttpReply, ApiError>>> Future for CatchPanic<F> {
    type Output = Result<HttpReply, ApiError>;

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
    use kedge_protocol::Code;

    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_internal_error() {
        let panicking = async { panic!("on purpose") };
        let result = CatchPanic(Box::pin(panicking)).await;
        assert_eq!(result.unwrap_err().code, Code::Internal);
    }
}
