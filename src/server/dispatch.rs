//! Handling of one request: route, permit, authentication, signature headers, body, signature, handler, answer. Each
//! step can refuse before the next one costs anything. A request counts as in flight only once its body has arrived, so
//! a slow one does not block others.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Request, Response, StatusCode, Version};
use kedge_actors::metric_definitions::OVERLOADED;
use kedge_http::auth::CallerSession;
use kedge_http::body::{self, BodyText};
use kedge_http::cors::CorsAnswer;
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::limits::{BudgetReservation, LimitClass};
use kedge_http::query::RequestQuery;
use kedge_http::reply::HttpReply;
use kedge_http::server::response_body::SentBody;
use kedge_http::server::{RequestHandler, malformed_request};
use kedge_http::signing::SigningScheme;
use kedge_http::v2::{self};
use kedge_net::connection::{ConnectionState, OpenRequest};
use tracing::Instrument as _;

use super::active_request::ActiveRequest;
use super::dispatcher::RequestDispatcher;
use super::execution::RequestSignature;
use super::faults::CheckedBody;
use super::response::undocumented;
use super::submission;
use crate::api::endpoint::{AnswerMode, EndpointAuth};
use crate::api::idempotency;
use crate::api::{EndpointRow, RouteMatch, TABLE, documented};

impl RequestHandler for RequestDispatcher {
    async fn answer(&self, request: Request<Incoming>, using: OpenRequest) -> Response<SentBody> {
        let begun = Instant::now();
        let _under_way = self.metrics.begin();
        let (mut parts, incoming) = request.into_parts();
        let is_http2 = parts.version == Version::HTTP_2;
        let body = self.services.bodies.arriving(&parts.headers, incoming);
        let line = using.line();
        let mut active = ActiveRequest::of(self, &parts, body, line.peer, line.is_reserve);
        let replying = self.respond(&mut parts, &mut active, is_http2, begun);
        let (reply, held, readers) = replying.await;
        // The body may take long, and there may be very many header fields.
        drop(parts);
        let is_read = self.services.bodies.pass_over(&mut active.body).await;
        let mut response = self.finish(reply, &active).map(|body| (body, held));
        readers.write(response.headers_mut());
        if !is_http2 && (!is_read || active.is_reserve) {
            // The rest of the body may stay unread, so no request can follow it.
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(CONNECTION, close);
            using.line().linger();
        }
        if is_http2 && !is_read {
            body::BodyReader::linger(active.body);
        }
        response.map(|(body, held)| SentBody::new(body, is_http2, held, using))
    }

    fn refuse_unparsed(&self, status: StatusCode, line: &Arc<ConnectionState>) -> Bytes {
        self.unparsed(status, line)
    }
}

impl RequestDispatcher {
    /// The reply to a request, its share of the answers' budget, and its CORS headers.
    async fn respond(
        &self,
        parts: &mut Parts,
        active: &mut ActiveRequest,
        is_http2: bool,
        begun: Instant,
    ) -> (HttpReply, Option<BudgetReservation>, CorsAnswer) {
        let readers = self.cors.readers(&parts.headers);
        let span = match &active.traced {
            None => tracing::info_span!("request", id = %active.request_id),
            Some(traced) => {
                let trace_id = traced.trace_id();
                tracing::info_span!("request", id = %active.request_id, trace_id)
            }
        };
        let handled = self.handle(parts, active, &readers);
        let result = CatchPanic(Box::pin(handled)).instrument(span.clone()).await;
        active.phase("answer");
        let coding_holder = Self::coding_holder(active);
        let result = match result {
            Ok(reply) => Ok(self.coded(reply, parts, coding_holder).await),
            Err(error) => Err(error),
        };
        let (result, held) = self.hold(result, parts, active, is_http2);
        let why = active
            .index
            .filter(|_| !active.is_forwarded)
            .and_then(|index| TABLE[index].contradiction(&result, documented(index)));
        if let Some(why) = why {
            undocumented(&why);
        }
        let (reply, code) = match result {
            Ok(reply) => (reply, None),
            Err(error) => {
                let signs = active.endpoint().is_some_and(EndpointRow::is_signed);
                let error = if signs { error.of_change() } else { error };
                let error = self.with_nonce(error, &parts.headers, active);
                let reply = self.refuse(active.form, &error, &active.request_id);
                let reply = self.coded(reply, parts, coding_holder).await;
                (reply, Some(error.code))
            }
        };
        let status = reply.status;
        let took = begun.elapsed();
        self.metrics.end(active.index, status, code, took);
        span.in_scope(|| {
            let elapsed_us = begun.elapsed().as_micros() as u64;
            let (method, path) = (&parts.method, parts.uri.path());
            tracing::debug!(%method, path, status = status.as_u16(), elapsed_us, "answered");
        });
        self.end_trace(active, parts, (status, code), took);
        (reply, held, readers)
    }

    /// The way of a request. Each step can refuse it before the next one costs anything. `docs/ARCHITECTURE.md` follows it
    /// line by line.
    async fn handle(
        &self,
        parts: &mut Parts,
        active: &mut ActiveRequest,
        readers: &CorsAnswer,
    ) -> ApiResult<HttpReply> {
        let (endpoint, ids) = match self.route(parts, active, readers)? {
            RouteOutcome::Endpoint(endpoint, ids) => (endpoint, ids),
            RouteOutcome::Answered(reply) => return Ok(reply),
        };
        if let Some(answered) = self.answer_by_leader(endpoint, parts, active).await {
            return answered;
        }
        self.check_capacity(endpoint, active).await?;
        let session = self.identify(endpoint, parts, active).await?;
        let query = self.authorize(endpoint, session.as_ref(), parts, active)?;
        let signature = RequestSignature::read(endpoint, &parts.headers)?;
        let mut body = self.read_body(endpoint, &parts.headers, active).await?;
        let checked = CheckedBody::of(active.index, &body);
        let carried_out = async {
            // Taken only now, so that a slow body does not block others.
            let permit = self.admit(endpoint, active)?;
            let submission = self
                .verify(endpoint, &signature, &ids.id, &mut body, active)
                .await?;
            self.wait_for_sequence(&query, active.charge.holder())
                .await?;
            let call = self.call(endpoint, ids, (session, query, body), parts, active);
            let reply = match (&endpoint.answer, submission) {
                (AnswerMode::Committed(answer), Some(submission)) => {
                    let path = parts.uri.path();
                    submission::change(call, path, submission, signature.overdue, *answer).await
                }
                (AnswerMode::Handler(handler), None) => self.read(call, *handler).await,
                _ => Err(ApiError::internal(&"a row signs, and has a handler")),
            };
            drop(permit);
            reply
        };
        let reply = carried_out.await;
        reply.map_err(|error| checked.with_all_faults(error))
    }

    /// Finds a request's endpoint. Requests outside the table, and those without one, are answered here.
    fn route(
        &self,
        parts: &Parts,
        active: &mut ActiveRequest,
        readers: &CorsAnswer,
    ) -> ApiResult<RouteOutcome> {
        let rates = &self.services.limits.rates;
        if let Some(fault) = malformed_request::fault(parts, self.header_bytes_max) {
            rates.count_address(&mut active.charge)?;
            return Err(fault);
        }
        let (method, path) = (&parts.method, parts.uri.path());
        let sequence = || self.services.published().head.sequence;
        if v2::covers(path) {
            rates.count_address(&mut active.charge)?;
            let answered = self.legacy.answer(method, &parts.uri, sequence());
            return answered.map(RouteOutcome::Answered);
        }
        if crate::console::covers(path) {
            let headers = &parts.headers;
            let answered = self.console.answer(method, path, headers, sequence());
            return answered.map(RouteOutcome::Answered);
        }
        let found = match self.router.find(method, path) {
            Ok(found) => found,
            Err(error) => {
                let preflight = readers.preflight(method, &parts.headers, &error, sequence());
                if let Some(reply) = preflight {
                    return Ok(RouteOutcome::Answered(reply));
                }
                rates.count_address(&mut active.charge)?;
                return Err(error);
            }
        };
        active.index = Some(found.index);
        let endpoint = &TABLE[found.index];
        if let Some(traced) = &mut active.traced {
            traced.route(endpoint.path);
        }
        if active.is_reserve && endpoint.limit != LimitClass::Free {
            return Err(ApiError::overloaded());
        }
        Ok(RouteOutcome::Endpoint(endpoint, found))
    }

    /// Checks the query, the conditions, the caller's right, and the quotas of what will be written.
    fn authorize(
        &self,
        endpoint: &EndpointRow,
        session: Option<&CallerSession>,
        parts: &Parts,
        active: &ActiveRequest,
    ) -> ApiResult<RequestQuery> {
        let services = &self.services;
        let signs = endpoint.is_signed();
        if endpoint.limit != LimitClass::Free && !signs {
            services.limits.answers.check(&active.charge.holder())?;
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
        active: &mut ActiveRequest,
    ) -> ApiResult<BodyText> {
        let services = &self.services;
        let holder = active.charge.holder();
        let is_public = endpoint.auth == EndpointAuth::Public;
        if endpoint.request.is_some() {
            active.phase("read body");
        }
        match (endpoint.request, &endpoint.signs, active.session) {
            (None, ..) if services.bodies.pass_over(&mut active.body).await => {
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
                    .receive(headers, &mut active.body, (organization_id, &may_write))
                    .await
            }
            (Some(_), ..) => {
                services
                    .bodies
                    .read(headers, &mut active.body, holder, is_public)
                    .await
            }
        }
    }

    /// Refuses a request without room before it costs anything, at a steady pace.
    async fn check_capacity(
        &self,
        endpoint: &EndpointRow,
        active: &mut ActiveRequest,
    ) -> ApiResult<()> {
        if let Err(error) = self.check_room(endpoint) {
            self.services.bodies.pass_over(&mut active.body).await;
            self.refusals.turn().await;
            return Err(error);
        }
        Ok(())
    }

    /// Whether there is room now. The permit is taken later, when the whole request has arrived.
    fn check_room(&self, endpoint: &EndpointRow) -> ApiResult<()> {
        if endpoint.limit == LimitClass::Free {
            return Ok(());
        }
        if endpoint.is_signed() {
            self.services.engine.check_room()?;
            if self.shedding.refuses() {
                metrics::counter!(OVERLOADED).increment(1);
                return Err(ApiError::overloaded());
            }
        }
        self.services.limits.check_room()
    }
}

/// Where a request goes.
enum RouteOutcome {
    Endpoint(&'static EndpointRow, RouteMatch),
    /// It needs no endpoint.
    Answered(HttpReply),
}

/// Turns a handler's panic into an error; the connection and the process continue.
struct CatchPanic<F>(Pin<Box<F>>);

impl<F: Future<Output = ApiResult<HttpReply>>> Future for CatchPanic<F> {
    type Output = ApiResult<HttpReply>;

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
