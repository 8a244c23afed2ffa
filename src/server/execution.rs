//! Requests whose body has arrived: permit, signature, handler. Also callers with a valid token whose wallet this node
//! has not read yet: the request waits for the sequence that it names before its caller is looked up. Only such tokens
//! may wait, with permits of their organization.

use std::sync::Arc;
use std::time::Duration;

use hyper::HeaderMap;
use hyper::header::ACCEPT_ENCODING;
use hyper::http::request::Parts;
use kedge_actors::api::Submission;
use kedge_http::auth::CallerSession;
use kedge_http::body::BodyText;
use kedge_http::clock::now_s;
use kedge_http::error::ApiError;
use kedge_http::limits::{LimitClass, ShareHolder};
use kedge_http::query::RequestQuery;
use kedge_http::reply::HttpReply;
use kedge_http::signing::SignatureHeaders;
use kedge_http::signing::request::{self, SigningContext};
use kedge_protocol::Code;
use kedge_protocol::Id;

use super::dispatch::{RequestContext, RequestDispatcher};
use super::faults::CheckedBody;
use super::submission::carry_out;
use crate::api::call::HandlerCall;
use crate::api::endpoint::{AnswerMode, MIN_SEQUENCE, ReplyFuture};
use crate::api::{EndpointRow, TABLE};

/// Time limit of the wait for `min_sequence`.
const MIN_SEQUENCE_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct ArrivedRequest {
    pub(super) endpoint: &'static EndpointRow,
    pub(super) id: String,
    pub(super) sub_id: String,
    pub(super) session: Option<CallerSession>,
    pub(super) query: RequestQuery,
    pub(super) signature: Option<SignatureHeaders>,
    /// The deadline has passed: only an earlier outcome is answered.
    pub(super) overdue: Option<ApiError>,
    pub(super) body: BodyText,
}

/// Takes the headers for the handler. The headers that select the answer's form stay, since it is selected later.
fn taken(headers: &mut HeaderMap) -> HeaderMap {
    let all = std::mem::take(headers);
    for accepted in all.get_all(ACCEPT_ENCODING) {
        headers.append(ACCEPT_ENCODING, accepted.clone());
    }
    all
}

impl RequestDispatcher {
    /// Answers a request; a malformed body gets all its faults.
    pub(super) async fn answer_arrived(
        &self,
        arrived: ArrivedRequest,
        parts: &mut Parts,
        context: &mut RequestContext,
    ) -> Result<HttpReply, ApiError> {
        let sent = CheckedBody::of(context.index, &arrived.body);
        let reply = self.carried_out(arrived, parts, context).await;
        reply.map_err(|error| sent.with_all_faults(error))
    }

    async fn carried_out(
        &self,
        arrived: ArrivedRequest,
        parts: &mut Parts,
        context: &mut RequestContext,
    ) -> Result<HttpReply, ApiError> {
        let ArrivedRequest {
            endpoint,
            id,
            sub_id,
            session,
            query,
            signature,
            overdue,
            mut body,
        } = arrived;
        let services = &self.services;
        // Taken only now, so that a slow body does not block others.
        let permit = match endpoint.limit {
            LimitClass::Free => None,
            _ => Some(services.limits.enter(context.tally.holder())?),
        };
        let mut submission = match signature {
            Some(headers) => {
                context.phase("verify");
                self.verify(endpoint, headers, &id, &mut body, context)
                    .await?
            }
            None => None,
        };
        match (&mut context.traced, &mut submission) {
            (None, _) => {}
            (Some(traced), None) => traced.phase("handle"),
            (Some(traced), Some(submission)) => {
                submission.timing = Some(traced.engine("submit", submission.actions.len()));
            }
        }
        self.wait_for_sequence(&query, context.tally.holder())
            .await?;
        let call = HandlerCall {
            table: &TABLE,
            services: Arc::clone(services),
            endpoint,
            method: parts.method.clone(),
            id,
            sub_id,
            query,
            headers: taken(&mut parts.headers),
            body,
            session,
            submission: None,
            earlier: None,
            naming: None,
            shown_once: None,
            client_address: context.tally.client_address(),
            holder: context.tally.holder(),
            request_id: Arc::clone(&context.request_id),
        };
        let reply = match (&endpoint.answer, submission) {
            (AnswerMode::Committed(answer), Some(submission)) => {
                let path = parts.uri.path();
                carry_out(call, path, submission, overdue, *answer).await
            }
            (AnswerMode::Handler(handler), None) => self.read(call, *handler).await,
            _ => Err(ApiError::internal(&"a row signs, and has a handler")),
        };
        drop(permit);
        reply
    }

    /// Reads the signed texts and checks the signature.
    async fn verify(
        &self,
        endpoint: &EndpointRow,
        headers: SignatureHeaders,
        id: &str,
        body: &mut BodyText,
        context: &mut RequestContext,
    ) -> Result<Option<Submission>, ApiError> {
        context.signer = Some(headers.signer);
        let circumstances = SigningContext {
            session: context.session,
            path_id: id,
            invitations: &self.services.access.invitations,
        };
        let bytes = body.text.len();
        let read = || request::read(&endpoint.signs, &circumstances, body);
        let read = self.services.limits.work_in_place(bytes, read).await??;
        let Some((asker, signed)) = read else {
            return Ok(None);
        };
        let submission = self
            .services
            .check_signature(asker, headers, signed)
            .await?;
        context.signer_is_known = true;
        Ok(Some(submission))
    }

    /// Runs a handler; pages are read on separate threads.
    async fn read(
        &self,
        call: HandlerCall,
        handler: fn(HandlerCall) -> ReplyFuture<'static>,
    ) -> Result<HttpReply, ApiError> {
        let (endpoint, holder) = (call.endpoint, call.holder);
        let answer = handler(call);
        if !endpoint.reads_page() {
            return answer.await;
        }
        let runtime = tokio::runtime::Handle::current();
        let read = move || runtime.block_on(answer);
        self.services.reads.read_page(holder, read).await
    }

    /// Waits until the sequence named in the query can be read.
    pub(super) async fn wait_for_sequence(
        &self,
        query: &RequestQuery,
        holder: ShareHolder,
    ) -> Result<(), ApiError> {
        let Some(wanted) = query.number(MIN_SEQUENCE.name)? else {
            return Ok(());
        };
        let engine = &self.services.engine;
        if engine.published().head.sequence >= wanted {
            return Ok(());
        }
        // Waiting uses only a part of the permits, so others get theirs.
        let wait = self.services.limits.wait(holder)?;
        if engine.wait_for(wanted, MIN_SEQUENCE_TIMEOUT).await {
            return Ok(());
        }
        drop(wait);
        let reached = engine.published().head.sequence;
        Err(ApiError::new(
            Code::SequenceNotReached,
            format!("the log is at sequence {reached}, not yet at {wanted}"),
        ))
    }
}

fn query_of(endpoint: &EndpointRow, parts: &Parts) -> Result<RequestQuery, ApiError> {
    let query = RequestQuery::parse(parts.uri.query(), &[&endpoint.parameter_names()])?;
    endpoint.check_numbers(&query)?;
    Ok(query)
}

/// The sequence that the caller has seen, according to the request.
pub(super) fn seen(endpoint: &EndpointRow, parts: &Parts) -> Option<u64> {
    let query = query_of(endpoint, parts).ok()?;
    query.number(MIN_SEQUENCE.name).ok().flatten()
}

impl RequestDispatcher {
    /// The organization of a valid token, if it was refused only because this node may not have read its wallet.
    pub(super) fn organization_of_unread(
        &self,
        refused: &ApiError,
        headers: &HeaderMap,
        now_s: u64,
    ) -> Option<Id> {
        if refused.code != Code::Unavailable {
            return None;
        }
        let holder = self.services.token_holder(headers, now_s)?;
        Some(holder.organization_id)
    }

    /// The caller, once this node has read the sequence that the request names; `unread` if it names none.
    pub(super) async fn caller_once_read(
        &self,
        endpoint: &EndpointRow,
        parts: &Parts,
        context: &mut RequestContext,
        unread: ApiError,
    ) -> Result<CallerSession, ApiError> {
        let query = query_of(endpoint, parts)?;
        let seen = query.number(MIN_SEQUENCE.name)?;
        if seen.is_none() {
            return Err(unread);
        }
        let holder = context.tally.holder();
        let place = self.services.limits.enter(holder)?;
        self.wait_for_sequence(&query, holder).await?;
        drop(place);
        let session = self
            .services
            .authenticate_at(&parts.headers, now_s(), || seen)?;
        context.session = Some(session);
        Ok(session)
    }
}
