//! Callers with a valid token whose wallet this node has not read yet. Such a request waits for the sequence that it
//! names before its caller is looked up, with permits of its organization.

use hyper::HeaderMap;
use hyper::http::request::Parts;
use kedge_http::auth::CallerSession;
use kedge_http::clock::now_s;
use kedge_http::error::{ApiError, ApiResult};
use kedge_protocol::{Code, Id};

use super::active_request::ActiveRequest;
use super::dispatcher::RequestDispatcher;
use crate::api::EndpointRow;
use crate::api::endpoint::MIN_SEQUENCE;

/// The sequence that the caller has seen, according to the request.
pub(super) fn seen(endpoint: &EndpointRow, parts: &Parts) -> Option<u64> {
    let query = endpoint.read_query(parts).ok()?;
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
        active: &mut ActiveRequest,
        unread: ApiError,
    ) -> ApiResult<CallerSession> {
        let query = endpoint.read_query(parts)?;
        let seen = query.number(MIN_SEQUENCE.name)?;
        if seen.is_none() {
            return Err(unread);
        }
        let holder = active.charge.holder();
        let place = self.services.limits.enter(holder)?;
        self.wait_for_sequence(&query, holder).await?;
        drop(place);
        let session = self
            .services
            .authenticate_at(&parts.headers, now_s(), || seen)?;
        active.session = Some(session);
        Ok(session)
    }
}
