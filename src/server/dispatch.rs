//! Handling of one request: `RequestDispatcher::handle` owns the control flow, and the steps follow it in their order.
//! Each step can refuse before the next one costs anything. A request counts as in flight only once its body has
//! arrived, so a slow one does not block others.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, Response, StatusCode, Version};
use kedge_actors::api::{Submission, SubmissionOutcome};
use kedge_actors::fair::FairPermit;
use kedge_actors::metric_definitions::OVERLOADED;
use kedge_cluster::node::Replica;
use kedge_http::auth::CallerSession;
use kedge_http::auth::api_key::API_KEY;
use kedge_http::body::{self, BodyText};
use kedge_http::clock::now_s;
use kedge_http::cors::CorsAnswer;
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::limits::{BudgetReservation, LimitClass, ShareHolder};
use kedge_http::preconditions;
use kedge_http::query::RequestQuery;
use kedge_http::reply::HttpReply;
use kedge_http::server::response_body::SentBody;
use kedge_http::server::{RequestHandler, malformed_request};
use kedge_http::signing::request::{self, SigningContext};
use kedge_http::signing::{SignatureHeaders, SigningScheme, names};
use kedge_http::v2;
use kedge_net::connection::{ConnectionState, OpenRequest};
use kedge_protocol::{Code, Id};
use tracing::Instrument as _;

use super::active_request::ActiveRequest;
use super::dispatcher::RequestDispatcher;
use super::faults::CheckedBody;
use super::response::undocumented;
use super::unread_caller::seen;
use crate::api::call::HandlerCall;
use crate::api::endpoint::{
    AnswerMode, CommittedAnswer, EndpointAuth, MIN_SEQUENCE, ReplyFuture, SEQUENCE_AGAIN_S,
};
use crate::api::files::handlers as files;
use crate::api::idempotency::{self, REPLAYED, secrets};
use crate::api::state::handlers::StateReading;
use crate::api::state::rows::WAIT;
use crate::api::{EndpointRow, RouteMatch, TABLE, documented, served_document};

/// Time limit of the wait for `min_sequence`.
const MIN_SEQUENCE_TIMEOUT: Duration = Duration::from_secs(5);

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
        if let Some(replica) = self.follows(endpoint) {
            let answering = self.answer_by_leader(replica, endpoint, parts, active);
            return answering.await;
        }
        self.check_capacity(endpoint, active).await?;
        let session = self.identify(endpoint, parts, active).await?;
        let query = endpoint.read_query(parts)?;
        endpoint.check_condition(&parts.headers)?;
        if let Some(session) = session {
            session.check(endpoint.right())?;
            // The result of an earlier request with the same idempotency key is returned even so.
            if endpoint.is_signed() && idempotency::key_of(&parts.headers)?.is_none() {
                let rates = &self.services.limits.rates;
                rates.check_log(session.organization_id)?;
            }
        }
        let signature = RequestSignature::read(endpoint, &parts.headers)?;
        let headers = &parts.headers;
        let mut body = match (endpoint.request, &endpoint.signs, session) {
            (None, ..) => self.pass_over_body(active).await?,
            (Some(_), SigningScheme::File, Some(session)) => {
                let organization_id = session.organization_id;
                self.read_upload(organization_id, headers, active).await?
            }
            (Some(_), ..) => {
                active.phase("read body");
                let (bodies, holder) = (&self.services.bodies, active.charge.holder());
                let is_public = endpoint.auth == EndpointAuth::Public;
                let reading = bodies.read(headers, &mut active.body, holder, is_public);
                reading.await?
            }
        };
        let checked = CheckedBody::of(active.index, &body);
        let carried_out = async {
            // Taken only now, so that a slow body does not block others.
            let permit = self.admit(endpoint, active)?;
            let submission = self
                .verify(endpoint, &signature, &ids.id, &mut body, active)
                .await?;
            if !endpoint.awaits_checkpoint(&query) {
                self.wait_for_sequence(&query, active.charge.holder())
                    .await?;
            }
            let call = self.call(endpoint, ids, (session, query, body), parts, active);
            let reply = match (&endpoint.answer, submission) {
                (AnswerMode::Committed(answer), Some(submission)) => {
                    let path = parts.uri.path();
                    change(call, path, submission, signature.overdue, *answer).await
                }
                (AnswerMode::Handler(handler), None) => self.read(call, *handler, active).await,
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
        if let Some(led) = self
            .console
            .lead_in(method, path, &parts.headers, sequence())
        {
            return Ok(RouteOutcome::Answered(led));
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

    /// This node's part in a cluster, if it follows and the request changes something.
    fn follows(&self, endpoint: &EndpointRow) -> Option<&Replica> {
        let replica = self.services.node.replica.get()?;
        (endpoint.changes() && !self.services.engine.leads()).then_some(replica)
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

    /// Identifies the caller, and counts the request even if it will be refused for lack of a token. A public read with
    /// a token is counted on the token's organization; otherwise its caller is unknown. A read needs room for its answer.
    async fn identify(
        &self,
        endpoint: &EndpointRow,
        parts: &Parts,
        active: &mut ActiveRequest,
    ) -> ApiResult<Option<CallerSession>> {
        active.phase("authenticate");
        let now_s = now_s();
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
        active.session = session.as_ref().ok().copied().flatten();
        let limits = &services.limits.rates;
        let counting = limits.count(&mut active.charge, endpoint.limit, organization);
        counting.await?;
        let session = match session {
            Err(unread) if organization.is_some() => {
                let reading = self.caller_once_read(endpoint, parts, active, unread);
                Some(reading.await?)
            }
            session => session?,
        };
        if endpoint.limit != LimitClass::Free && !endpoint.is_signed() {
            services.limits.answers.check(&active.charge.holder())?;
        }
        Ok(session)
    }

    /// Passes over a body that the endpoint does not take.
    async fn pass_over_body(&self, active: &mut ActiveRequest) -> ApiResult<BodyText> {
        if self.services.bodies.pass_over(&mut active.body).await {
            return Ok(BodyText::default());
        }
        // It would fill windows for as long as the request takes, without counting on a caller.
        Err(body::unwanted())
    }

    /// Writes an upload to the disk.
    async fn read_upload(
        &self,
        organization_id: Id,
        headers: &HeaderMap,
        active: &mut ActiveRequest,
    ) -> ApiResult<BodyText> {
        active.phase("read body");
        let services = &self.services;
        // Even if its key is known: the upload is written before the key is looked up.
        let tier = services.limits.rates.check_log(organization_id)?;
        let may_write = || services.limits.rates.check_disk(&tier);
        services
            .files
            .receive(headers, &mut active.body, (organization_id, &may_write))
            .await
    }

    /// Takes a permit, which the request holds until it is answered.
    fn admit(
        &self,
        endpoint: &EndpointRow,
        active: &ActiveRequest,
    ) -> ApiResult<Option<FairPermit<ShareHolder>>> {
        if endpoint.limit == LimitClass::Free {
            return Ok(None);
        }
        let permit = self.services.limits.enter(active.charge.holder())?;
        Ok(Some(permit))
    }

    /// Reads the signed texts and checks the signature. `None` if the request signs nothing.
    async fn verify(
        &self,
        endpoint: &EndpointRow,
        signature: &RequestSignature,
        id: &str,
        body: &mut BodyText,
        active: &mut ActiveRequest,
    ) -> ApiResult<Option<Submission>> {
        let Some(headers) = signature.headers else {
            active.phase("handle");
            return Ok(None);
        };
        active.phase("verify");
        active.signer = Some(headers.signer);
        let context = SigningContext {
            session: active.session,
            path_id: id,
            invitations: &self.services.access.invitations,
        };
        let (services, bytes) = (&self.services, body.text.len());
        let read = || request::read(&endpoint.signs, &context, body);
        let read = services.limits.work_in_place(bytes, read).await??;
        let Some((principal, signed)) = read else {
            active.phase("handle");
            return Ok(None);
        };
        let expires_at = Instant::now() + services.request_timeout;
        let (verifier, bytes) = (Arc::clone(&services.access.verifier), signed.text.len());
        let check = move || verifier.check(principal, &headers, signed, expires_at);
        let mut submission = services.limits.compute(bytes, check).await??;
        active.signer_is_known = true;
        if let Some(traced) = &mut active.traced {
            submission.timing = Some(traced.engine("submit", submission.actions.len()));
        }
        Ok(Some(submission))
    }

    /// Waits until the sequence named in the query can be read.
    pub(super) async fn wait_for_sequence(
        &self,
        query: &RequestQuery,
        holder: ShareHolder,
    ) -> ApiResult<()> {
        let Some(wanted) = query.number(MIN_SEQUENCE.name)? else {
            return Ok(());
        };
        let engine = &self.services.engine;
        if engine.published().head.sequence >= wanted {
            return Ok(());
        }
        // Waiting uses only a part of the permits, so others get theirs.
        let wait = self.services.limits.wait(holder)?;
        // A few endpoints let the caller say how long.
        let limit = query.number(WAIT.name)?.map(Duration::from_secs);
        let limit = limit.unwrap_or(MIN_SEQUENCE_TIMEOUT);
        let wait_for = engine.wait_for(wanted, limit);
        if self.services.unless_stopping(wait_for).await? {
            return Ok(());
        }
        drop(wait);
        let reached = engine.published().head.sequence;
        Err(ApiError::not_reached(
            format!("the log is at sequence {reached}, not yet at {wanted}"),
            SEQUENCE_AGAIN_S,
        ))
    }

    /// What the handler gets.
    fn call(
        &self,
        endpoint: &'static EndpointRow,
        ids: RouteMatch,
        (session, query, body): (Option<CallerSession>, RequestQuery, BodyText),
        parts: &mut Parts,
        active: &ActiveRequest,
    ) -> HandlerCall {
        HandlerCall {
            document: served_document,
            services: Arc::clone(&self.services),
            endpoint,
            method: parts.method.clone(),
            id: ids.id,
            sub_id: ids.sub_id,
            query,
            headers: taken(&mut parts.headers),
            body,
            session,
            submission: None,
            earlier: None,
            naming: None,
            shown_once: None,
            client_address: active.charge.client_address(),
            holder: active.charge.holder(),
            items_max: None,
            request_id: Arc::clone(&active.request_id),
        }
    }

    /// Runs a handler; pages are read on separate threads.
    async fn read(
        &self,
        mut call: HandlerCall,
        handler: fn(HandlerCall) -> ReplyFuture<'static>,
        active: &ActiveRequest,
    ) -> ApiResult<HttpReply> {
        let holder = call.holder;
        if !call.endpoint.reads_page() {
            return handler(call).await;
        }
        // Nothing waits in one of the few places for pages.
        let wanted = StateReading::before_page(&call).await?;
        let (rates, charge) = (
            Arc::clone(&self.services.limits.rates),
            active.charge.clone(),
        );
        let answer = async move {
            let Some(wanted) = wanted else {
                return handler(call).await;
            };
            // The request itself counts as the first item.
            let left = rates.left(&charge, now_s());
            call.items_max = Some(wanted.min(left.saturating_add(1)));
            let reply = handler(call).await?;
            let more = reply.proven_items.saturating_sub(1);
            rates.count_items(&charge, more, now_s()).await?;
            Ok(reply)
        };
        let runtime = tokio::runtime::Handle::current();
        let read = move || runtime.block_on(answer);
        self.services.reads.read_page(holder, read).await
    }
}

/// Carries out a request and answers it. If its key was used for the same request before, only the answer is made
/// again, even if the request is `overdue`.
async fn change(
    mut call: HandlerCall,
    path: &str,
    mut submission: Submission,
    overdue: Option<ApiError>,
    answer: CommittedAnswer,
) -> ApiResult<HttpReply> {
    let key = idempotency::key_of(&call.headers)?.map(str::to_owned);
    if let Some(key) = &key
        && let Some(committed) = idempotency::begin(&mut call, path, key, &mut submission)?
    {
        let reply = answer(&call, &committed).await?;
        return Ok(reply.with(HeaderName::from_static(REPLAYED), "true"));
    }
    if let Some(late) = overdue {
        return Err(late);
    }
    names::check(&submission)?;
    submission.expected = preconditions::expected(&call.headers)?;
    if let Some(prepare) = call.endpoint.prepare {
        prepare(&mut call, &mut submission).await?;
    }
    if let Some(key) = &key {
        secrets::keep(&call, &submission, path, key)?;
    }
    let submission = Arc::new(submission);
    call.submission = Some(Arc::clone(&submission));
    let reply = match submit(&mut call, submission).await {
        Ok(committed) => answer(&call, &committed).await,
        Err(error) => Err(error),
    };
    let refused = reply.as_ref().err();
    if let Some(naming) = &call.naming
        && refused.is_some_and(|error| error.code == Code::EmailTaken)
    {
        naming.met_taken(now_s());
    }
    reply
}

async fn submit(
    call: &mut HandlerCall,
    submission: Arc<Submission>,
) -> ApiResult<SubmissionOutcome> {
    match call.body.upload.take() {
        Some(upload) => files::submit(Arc::clone(&call.services), *upload, submission).await,
        None => call.services.changes.submitter.submit(submission).await,
    }
}

/// Where a request goes.
enum RouteOutcome {
    Endpoint(&'static EndpointRow, RouteMatch),
    /// It needs no endpoint.
    Answered(HttpReply),
}

/// The signature of a request, as its headers state it.
struct RequestSignature {
    /// `None` if the endpoint signs nothing.
    headers: Option<SignatureHeaders>,
    /// The deadline has passed: only an earlier outcome is answered.
    overdue: Option<ApiError>,
}

impl RequestSignature {
    /// Reads the headers and checks the deadline.
    fn read(endpoint: &EndpointRow, headers: &HeaderMap) -> ApiResult<Self> {
        if !endpoint.is_signed() {
            return Ok(Self {
                headers: None,
                overdue: None,
            });
        }
        let now_s = now_s();
        let signature = SignatureHeaders::read(headers, now_s)?;
        let overdue = signature.check_deadline(now_s).err();
        match overdue {
            // An answer stored before the deadline is looked up once the signer's right to it is known.
            Some(late) if idempotency::key_of(headers)?.is_none() => Err(late),
            overdue => Ok(Self {
                headers: Some(signature),
                overdue,
            }),
        }
    }
}

/// Takes the headers for the handler. The headers that select the answer's form stay, since it is selected later.
fn taken(headers: &mut HeaderMap) -> HeaderMap {
    let all = std::mem::take(headers);
    for accepted in all.get_all(ACCEPT_ENCODING) {
        headers.append(ACCEPT_ENCODING, accepted.clone());
    }
    all
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
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_internal_error() {
        let panicking = async { panic!("on purpose") };
        let result = CatchPanic(Box::pin(panicking)).await;
        assert_eq!(result.unwrap_err().code, Code::Internal);
    }
}
