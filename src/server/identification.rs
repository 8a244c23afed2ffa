//! Who calls: credentials, and callers with a valid token whose wallet this node has not read yet. Such a request waits
//! for the sequence that it names before its caller is looked up, with permits of its organization.

use hyper::header::AUTHORIZATION;
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method};
use kedge_http::auth::CallerSession;
use kedge_http::auth::api_key::API_KEY;
use kedge_http::clock::now_s;
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::limits::LimitClass;
use kedge_http::query::RequestQuery;
use kedge_protocol::{Code, Id};

use super::active_request::ActiveRequest;
use super::dispatcher::RequestDispatcher;
use crate::api::EndpointRow;
use crate::api::endpoint::{EndpointAuth, MIN_SEQUENCE};

impl RequestDispatcher {
    /// Identifies the caller, and counts the request even if it will be refused for lack of a token. A public read with
    /// a token is counted on the token's organization; otherwise its caller is unknown.
    pub(super) async fn identify(
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
        let limits = &self.services.limits.rates;
        let counting = limits.count(&mut active.charge, endpoint.limit, organization);
        counting.await?;
        match session {
            Err(unread) if organization.is_some() => {
                let reading = self.caller_once_read(endpoint, parts, active, unread);
                reading.await.map(Some)
            }
            session => session,
        }
    }
}

fn query_of(endpoint: &EndpointRow, parts: &Parts) -> ApiResult<RequestQuery> {
    let query = RequestQuery::parse(parts.uri.query(), &[&endpoint.parameter_names()])?;
    endpoint.check_numbers(&query)?;
    Ok(query)
}

/// The sequence that the caller has seen, according to the request.
fn seen(endpoint: &EndpointRow, parts: &Parts) -> Option<u64> {
    let query = query_of(endpoint, parts).ok()?;
    query.number(MIN_SEQUENCE.name).ok().flatten()
}

impl RequestDispatcher {
    /// The organization of a valid token, if it was refused only because this node may not have read its wallet.
    fn organization_of_unread(
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
    async fn caller_once_read(
        &self,
        endpoint: &EndpointRow,
        parts: &Parts,
        active: &mut ActiveRequest,
        unread: ApiError,
    ) -> ApiResult<CallerSession> {
        let query = query_of(endpoint, parts)?;
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
