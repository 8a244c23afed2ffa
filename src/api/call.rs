//! A request after the checks at the edge.

use std::sync::Arc;

use hyper::{HeaderMap, Method, StatusCode};
use kedge_actors::PublishedState;
use kedge_actors::api::Submission;
use kedge_http::auth::CallerSession;
use kedge_http::body;
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::fixed_body::FixedBody;
use kedge_http::limits::{ClientAddress, EmailProbe, ShareHolder};
use kedge_http::query::{RequestQuery, decimal};
use kedge_protocol::Code;
use kedge_protocol::resource::Role;
use kedge_protocol::{Address, Id, Prefix};
use kedge_rules::Caller;
use kedge_storage::{StoreReadError, StoreSnapshot, StoredResource};

use crate::api::EndpointRow;
use crate::api::services::ApiServices;

pub struct HandlerCall {
    pub services: Arc<ApiServices>,
    /// Gives the OpenAPI document.
    pub document: fn() -> &'static FixedBody,
    /// The matching row.
    pub endpoint: &'static EndpointRow,
    /// HEAD matches the row of GET.
    pub method: Method,
    /// `{id}` of the path.
    pub id: String,
    /// The path's second parameter, if it has two.
    pub sub_id: String,
    pub query: RequestQuery,
    pub headers: HeaderMap,
    /// Empty if the signed request has consumed it.
    pub body: body::BodyText,
    /// The caller, if the endpoint needs to know.
    pub session: Option<CallerSession>,
    /// The signed request once it is submitted, or as it was submitted earlier with the same idempotency key.
    pub submission: Option<Arc<Submission>>,
    /// Set if it was submitted earlier.
    pub earlier: Option<EarlierRequest>,
    /// Held while the request may reveal that an e-mail address is taken.
    pub naming: Option<EmailProbe>,
    /// A new secret, shown once and never stored.
    pub shown_once: Option<String>,
    pub client_address: ClientAddress,
    /// The holder whose shares of scarce resources the request uses.
    pub holder: ShareHolder,
    /// Items of a page with proofs that were counted on the limits: no more are shown.
    pub items_max: Option<u32>,
    /// The request's id; for a request carried out earlier, its id at that time.
    pub request_id: Arc<str>,
}

/// What the answer to an earlier request needs besides its outcome.
pub struct EarlierRequest {
    /// Number of objects made from the template that it acts on.
    pub minted: u64,
}

impl HandlerCall {
    pub fn session(&self) -> ApiResult<CallerSession> {
        self.session
            .ok_or_else(|| ApiError::new(Code::Unauthenticated, "this endpoint needs credentials"))
    }

    /// The status of success.
    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.endpoint.status).unwrap_or(StatusCode::OK)
    }

    pub fn submission(&self) -> ApiResult<&Submission> {
        let submission = self.submission.as_deref();
        submission
            .ok_or_else(|| ApiError::internal(&"a request was answered before it was submitted"))
    }

    /// The last published state.
    pub fn published(&self) -> Arc<PublishedState> {
        self.services.published()
    }

    /// The path's id if it is of this kind; any other id is answered like an unknown one.
    pub fn id_of(&self, prefix: Prefix) -> ApiResult<Id> {
        Id::parse_as(prefix, &self.id).map_err(|_| self.missing(prefix))
    }

    /// The resource of the path, if it belongs to the caller's organization and `shown` does not hide it.
    pub fn own<T: StoredResource>(
        &self,
        snapshot: &StoreSnapshot,
        shown: impl FnOnce(&T) -> bool,
    ) -> ApiResult<T> {
        let organization_id = self.session()?.organization_id;
        let found = snapshot.resource::<T>(self.id_of(T::PREFIX)?)?;
        let is_own = |found: &T| {
            let of = found.list_place().map(|(of, _)| of);
            of == Some(organization_id) && shown(found)
        };
        found.filter(is_own).ok_or_else(|| self.missing(T::PREFIX))
    }

    /// The number in the path, or that of the id in the path.
    pub fn number_of(
        &self,
        prefix: Prefix,
        of_id: impl FnOnce(Id) -> Result<Option<u64>, StoreReadError>,
    ) -> ApiResult<u64> {
        match decimal(&self.id) {
            Some(number) => Ok(number),
            None => of_id(self.id_of(prefix)?)?.ok_or_else(|| self.missing(prefix)),
        }
    }

    /// What the path names is not there, or not the caller's to see.
    pub fn missing(&self, prefix: Prefix) -> ApiError {
        ApiError::not_found(prefix.noun(), self.id.as_str())
    }

    /// The caller as the visibility rules need it. Roles and addresses never make more visible, so both are the least
    /// there is. An API key alone owns nothing, so its organization takes the wallet's place.
    pub fn viewer(&self) -> ApiResult<Caller> {
        let session = self.session()?;
        Ok(Caller {
            wallet_id: session.subject(),
            organization_id: session.organization_id,
            role: Role::Member,
            address: Address::ZERO,
        })
    }

    /// Whether the request prefers `return=minimal` (RFC 7240).
    pub fn prefers_minimal(&self) -> bool {
        let values = self.headers.get_all("prefer").iter();
        values
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .any(|preference| preference.trim().eq_ignore_ascii_case("return=minimal"))
    }
}
