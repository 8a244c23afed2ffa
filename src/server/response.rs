//! Completion of answers: encoding of errors, common headers, and the budget that an answer holds until it is sent.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    STRICT_TRANSPORT_SECURITY, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Response, StatusCode};
use kedge_http::body::{ACCEPT_PATCH, PATCH_TYPES};
use kedge_http::clock::now_s;
use kedge_http::envelope::ErrorForm;
use kedge_http::error::{ApiError, ApiResult, NONCE_HIGHEST};
use kedge_http::limits::{BudgetReservation, LimitCharge, LimitClass, ShareHolder};
use kedge_http::reply::{BodyForm, HttpReply};
use kedge_http::server::{malformed_request, response_body};
use kedge_http::signing::SignatureHeaders;
use kedge_http::stream::ReplyBody;
use kedge_net::connection::ConnectionState;
use kedge_net::request_ids::REQUEST_ID;
use kedge_protocol::Address;
use kedge_storage::StoreReadError;

use super::active_request::ActiveRequest;
use super::dispatcher::RequestDispatcher;
use crate::api::EndpointRow;

pub(super) const SEQUENCE: HeaderName = HeaderName::from_static("x-sequence");

/// Smaller bodies are compressed inline, which takes less than a millisecond.
const CODED_HERE_BYTES_MAX: usize = 32 * 1024;
/// Longest wait for compressing the answer to a change; after that it is sent uncompressed.
const CODED_WITHIN: Duration = Duration::from_millis(250);

/// Answers are data: nothing in them may be executed, framed or sniffed.
pub(crate) const SECURITY_HEADERS: [(HeaderName, &str); 3] = [
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; frame-ancestors 'none'",
    ),
    (REFERRER_POLICY, "no-referrer"),
];

/// Logs that an answer contradicts the document. The caller still gets it; every whole-system test looks for the line
/// when its server ends.
pub(super) fn undocumented(why: &str) {
    tracing::error!(why, "an answer is not as the document describes it");
}

impl RequestDispatcher {
    /// Counts an answer on its caller's share until it is sent. A read without room is refused; a completed change is
    /// always answered.
    pub(super) fn hold(
        &self,
        result: ApiResult<HttpReply>,
        parts: &Parts,
        active: &ActiveRequest,
        is_http2: bool,
    ) -> (ApiResult<HttpReply>, Option<BudgetReservation>) {
        let bytes = match &result {
            Ok(reply) => match &reply.body {
                ReplyBody::Whole(bytes) if parts.method != Method::HEAD => bytes.len(),
                _ => 0,
            },
            Err(_) => 0,
        };
        if bytes == 0 || !response_body::is_watched(bytes, is_http2) {
            return (result, None);
        }
        let endpoint = active.endpoint();
        if endpoint.is_some_and(|endpoint| endpoint.limit == LimitClass::Free) {
            // They are short, or one text that all of them share.
            return (result, None);
        }
        let is_read = endpoint.is_none_or(|endpoint| !endpoint.is_signed());
        let (budget, holder) = (&self.services.limits.answers, active.charge.holder());
        match budget.hold(holder, bytes) {
            Ok(held) => (result, Some(held)),
            Err(error) if is_read => (Err(error), None),
            Err(_) => (result, Some(budget.hold_over(holder, bytes))),
        }
    }

    /// Adds the signer's highest nonce to an error if the signer is known: the signature is valid, or the address it
    /// names is the caller's.
    pub(super) fn with_nonce(
        &self,
        error: ApiError,
        headers: &HeaderMap,
        active: &ActiveRequest,
    ) -> ApiError {
        let is_signed = active.endpoint().is_some_and(EndpointRow::is_signed);
        let is_stated = error.headers.iter().any(|(name, _)| *name == NONCE_HIGHEST);
        if !is_signed || is_stated || error.status().is_server_error() {
            return error;
        }
        match self.known_nonce(headers, active) {
            Ok(Some(highest)) => error.with_header(NONCE_HIGHEST, highest.to_string()),
            _ => error,
        }
    }

    fn known_nonce(
        &self,
        headers: &HeaderMap,
        active: &ActiveRequest,
    ) -> Result<Option<u64>, StoreReadError> {
        let Some(signer) = active.signer.or_else(|| SignatureHeaders::signer(headers)) else {
            return Ok(None);
        };
        let is_known = active.signer_is_known || self.is_callers(signer, active)?;
        let published = self.services.published();
        is_known
            .then(|| Ok(published.snapshot.nonces(signer)?.highest()))
            .transpose()
    }

    /// Whether an address is the caller's: of its wallet, or, for an API key, of its organization.
    fn is_callers(&self, address: Address, active: &ActiveRequest) -> Result<bool, StoreReadError> {
        let Some(session) = active.session else {
            return Ok(false);
        };
        let published = self.services.published();
        let wallet = published.snapshot.wallet_by_address(address)?;
        Ok(wallet.is_some_and(|wallet| {
            wallet.organization_id == session.organization_id
                && wallet.keys.contains(&address)
                && session.wallet_id.is_none_or(|id| id == wallet.id)
        }))
    }

    pub(super) fn refuse(&self, form: ErrorForm, error: &ApiError, request_id: &str) -> HttpReply {
        let body = form.write(error, request_id);
        let media_type = HeaderValue::from_static(form.media_type());
        let sequence = self.services.published().head.sequence;
        let reply = HttpReply::bytes(error.status(), sequence, media_type, body);
        // Every 401 states how to authenticate (RFC 9110, 15.5.2).
        let reply = if reply.status == StatusCode::UNAUTHORIZED {
            reply.with(WWW_AUTHENTICATE, "Bearer")
        } else {
            reply
        };
        let headers = error.headers.iter().cloned();
        headers.fold(reply, |reply, (name, value)| reply.with(name, &value))
    }

    /// The holder whose share pays for compressing the answer; `None` if it is sent uncompressed.
    pub(super) fn coding_holder(active: &ActiveRequest) -> Option<ShareHolder> {
        let shows_secret = active
            .endpoint()
            .is_some_and(|endpoint| endpoint.shows_secret);
        (!active.is_forwarded && !shows_secret).then(|| active.charge.holder())
    }

    /// Compresses an answer for a caller that accepts it; a large one needs a permit for pages. Without a permit it is
    /// sent uncompressed.
    pub(super) async fn coded(
        &self,
        reply: HttpReply,
        parts: &Parts,
        holder: Option<ShareHolder>,
    ) -> HttpReply {
        let form = reply.form(&parts.headers);
        let (Some(form), Some(holder)) = (form, holder) else {
            return reply;
        };
        let reply = reply.varied();
        let (BodyForm::Coded(coding), ReplyBody::Whole(body)) = (form, &reply.body) else {
            return reply;
        };
        let body = body.clone();
        let is_short = body.len() <= CODED_HERE_BYTES_MAX;
        // In the answer to a change, a tag names the resource's state, and not the body.
        let is_read = [Method::GET, Method::HEAD].contains(&parts.method);
        let encode = move || {
            let coded = coding.encode(&body);
            coded.map_err(|error| ApiError::internal(&error))
        };
        let coded = if is_short {
            encode()
        } else {
            let encoding = self.services.reads.read_page(holder, encode);
            if is_read {
                encoding.await
            } else {
                let encoded = tokio::time::timeout(CODED_WITHIN, encoding).await;
                encoded.unwrap_or_else(|_| Err(ApiError::overloaded()))
            }
        };
        match coded {
            Ok(body) => reply.coded(coding, body, is_read),
            Err(_) => reply,
        }
    }

    pub(super) fn finish(&self, reply: HttpReply, active: &ActiveRequest) -> Response<ReplyBody> {
        let reply = match active.endpoint() {
            Some(endpoint) if self.router.states_patch(endpoint, reply.status) => {
                reply.with(ACCEPT_PATCH, PATCH_TYPES)
            }
            _ => reply,
        };
        self.with_headers(reply, &active.request_id, &active.charge)
    }

    fn with_headers(
        &self,
        reply: HttpReply,
        request_id: &str,
        tally: &LimitCharge,
    ) -> Response<ReplyBody> {
        let reply = reply.with(REQUEST_ID, request_id);
        let mut response = Response::new(reply.body);
        *response.status_mut() = reply.status;
        *response.headers_mut() = reply.headers;
        let headers = response.headers_mut();
        headers.insert(SEQUENCE, HeaderValue::from(reply.sequence));
        self.state_role(headers);
        self.services
            .limits
            .rates
            .finish(tally, reply.is_known, headers, now_s());
        for (name, value) in SECURITY_HEADERS {
            // A page and a file's content have their own policy.
            headers
                .entry(name)
                .or_insert(HeaderValue::from_static(value));
        }
        if self.tls {
            let year = HeaderValue::from_static("max-age=31536000");
            headers.insert(STRICT_TRANSPORT_SECURITY, year);
        }
        if !headers.contains_key(CACHE_CONTROL) {
            undocumented("an answer has no Cache-Control");
        }
        let is_empty = [204, 304].contains(&response.status().as_u16());
        if !is_empty && !response.headers().contains_key(CONTENT_TYPE) {
            undocumented("a body has no Content-Type");
        }
        response
    }

    /// The answer, as bytes, to a request that hyper could not parse.
    pub(super) fn unparsed(&self, status: StatusCode, line: &Arc<ConnectionState>) -> Bytes {
        let mut tally = self
            .services
            .limits
            .rates
            .begin(line.peer, &HeaderMap::new(), now_s());
        let fault = malformed_request::error_of(status, self.header_bytes_max);
        let counted = self.services.limits.rates.count_address(&mut tally);
        let error = counted.err().unwrap_or(fault);
        let request_id = self.ids.next();
        let reply = self.refuse(ErrorForm::Envelope, &error, &request_id);
        self.metrics
            .end(None, reply.status, Some(error.code), Duration::ZERO);
        let mut response = self.with_headers(reply, &request_id, &tally);
        let readers = self.cors.readers_of_unparsed(line.origin());
        readers.write(response.headers_mut());
        let (parts, body) = response.into_parts();
        malformed_request::write(parts.status, &parts.headers, &body.into_whole())
    }
}
