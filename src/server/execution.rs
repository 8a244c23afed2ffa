//! Steps of a request whose body has arrived: permit, signature, the wait for a sequence, and its handler.

use std::sync::Arc;
use std::time::Duration;

use hyper::HeaderMap;
use hyper::header::ACCEPT_ENCODING;
use hyper::http::request::Parts;
use kedge_actors::api::Submission;
use kedge_actors::fair::FairPermit;
use kedge_http::auth::CallerSession;
use kedge_http::body::BodyText;
use kedge_http::clock::now_s;
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::limits::{LimitClass, ShareHolder};
use kedge_http::query::RequestQuery;
use kedge_http::reply::HttpReply;
use kedge_http::signing::SignatureHeaders;
use kedge_http::signing::request::{self, SigningContext};
use kedge_protocol::Code;

use super::active_request::ActiveRequest;
use super::dispatcher::RequestDispatcher;
use crate::api::call::HandlerCall;
use crate::api::endpoint::{MIN_SEQUENCE, ReplyFuture};
use crate::api::idempotency;
use crate::api::{EndpointRow, RouteMatch, served_document};

/// Time limit of the wait for `min_sequence`.
const MIN_SEQUENCE_TIMEOUT: Duration = Duration::from_secs(5);

/// Takes the headers for the handler. The headers that select the answer's form stay, since it is selected later.
fn taken(headers: &mut HeaderMap) -> HeaderMap {
    let all = std::mem::take(headers);
    for accepted in all.get_all(ACCEPT_ENCODING) {
        headers.append(ACCEPT_ENCODING, accepted.clone());
    }
    all
}

/// The signature of a request, as its headers state it.
pub(super) struct RequestSignature {
    /// `None` if the endpoint signs nothing.
    pub(super) headers: Option<SignatureHeaders>,
    /// The deadline has passed: only an earlier outcome is answered.
    pub(super) overdue: Option<ApiError>,
}

impl RequestSignature {
    /// Reads the headers and checks the deadline.
    pub(super) fn read(endpoint: &EndpointRow, headers: &HeaderMap) -> ApiResult<Self> {
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

impl RequestDispatcher {
    /// Takes a permit, which the request holds until it is answered.
    pub(super) fn admit(
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

    /// What the handler gets.
    pub(super) fn call(
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
            request_id: Arc::clone(&active.request_id),
        }
    }

    /// Reads the signed texts and checks the signature. `None` if the request signs nothing.
    pub(super) async fn verify(
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
        let bytes = body.text.len();
        let read = || request::read(&endpoint.signs, &context, body);
        let read = self.services.limits.work_in_place(bytes, read).await??;
        let Some((principal, signed)) = read else {
            active.phase("handle");
            return Ok(None);
        };
        let checking = self.services.check_signature(principal, headers, signed);
        let mut submission = checking.await?;
        active.signer_is_known = true;
        if let Some(traced) = &mut active.traced {
            submission.timing = Some(traced.engine("submit", submission.actions.len()));
        }
        Ok(Some(submission))
    }

    /// Runs a handler; pages are read on separate threads.
    pub(super) async fn read(
        &self,
        call: HandlerCall,
        handler: fn(HandlerCall) -> ReplyFuture<'static>,
    ) -> ApiResult<HttpReply> {
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
