//! A caller whose token is good and whose wallet this node has not read yet: the request waits for the sequence that it
//! names before its caller is looked up. Only who has such a token waits, in places that count on its organization.

use hyper::HeaderMap;
use hyper::http::request::Parts;
use kedge_api::Code;
use kedge_http::auth::Session;
use kedge_http::clock::now_s;
use kedge_http::error::ApiError;
use kedge_http::query::Query;
use kedge_protocol::Id;

use super::dispatch::{Dispatch, RequestContext};
use crate::endpoint::{Endpoint, MIN_SEQUENCE};

fn query_of(endpoint: &Endpoint, parts: &Parts) -> Result<Query, ApiError> {
    let query = Query::parse(parts.uri.query(), &[&endpoint.parameter_names()])?;
    endpoint.check_numbers(&query)?;
    Ok(query)
}

/// The sequence that a request says its caller has seen.
pub(super) fn seen(endpoint: &Endpoint, parts: &Parts) -> Option<u64> {
    let query = query_of(endpoint, parts).ok()?;
    query.number(MIN_SEQUENCE.name).ok().flatten()
}

impl Dispatch {
    /// The organization that a good token names, if the refusal says only that this node may not have read its wallet.
    pub(super) fn organization_of_unread(
        &self,
        refused: &ApiError,
        headers: &HeaderMap,
        now_s: u64,
    ) -> Option<Id> {
        if refused.code != Code::Unavailable {
            return None;
        }
        let holder = self.app.token_holder(headers, now_s)?;
        Some(holder.organization_id)
    }

    /// The caller, once this node has read the sequence that the request names; `unread` if it names none.
    pub(super) async fn caller_once_read(
        &self,
        endpoint: &Endpoint,
        parts: &Parts,
        context: &mut RequestContext,
        unread: ApiError,
    ) -> Result<Session, ApiError> {
        let query = query_of(endpoint, parts)?;
        let seen = query.number(MIN_SEQUENCE.name)?;
        if seen.is_none() {
            return Err(unread);
        }
        let holder = context.tally.holder();
        let place = self.app.enter(holder)?;
        self.wait_for_sequence(&query, holder).await?;
        drop(place);
        let session = self.app.authenticate_at(&parts.headers, now_s(), || seen)?;
        context.session = Some(session);
        Ok(session)
    }
}
