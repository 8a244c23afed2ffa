//! A request after the edge has checked it.

use std::sync::Arc;

use hyper::{HeaderMap, Method, StatusCode};
use kedge_actors::Published;
use kedge_actors::api::Submission;
use kedge_http::auth::Session;
use kedge_http::body;
use kedge_http::error::ApiError;
use kedge_http::limits::{ClientAddress, Holder, Naming};
use kedge_http::query::Query;
use kedge_protocol::Code;
use kedge_protocol::resource::Role;
use kedge_protocol::{Address, Id, Prefix};
use kedge_rules::Caller;
use kedge_storage::{Resource, Snapshot};

use crate::api::Endpoint;
use crate::app::App;

/// A request for a handler.
pub struct Call {
    /// The server.
    pub app: Arc<App>,
    /// All rows of the table.
    pub table: &'static [Endpoint],
    /// The row of the table that matched it.
    pub endpoint: &'static Endpoint,
    /// The method; HEAD matches the row of GET.
    pub method: Method,
    /// `{id}` of the path.
    pub id: String,
    /// The second parameter, if the path has two.
    pub sub_id: String,
    /// The query.
    pub query: Query,
    /// The request's headers.
    pub headers: HeaderMap,
    /// The body; empty if the signed request has consumed it.
    pub body: body::Text,
    /// The caller, if the endpoint needs to know.
    pub session: Option<Session>,
    /// The signed request once it was submitted, or as it was submitted earlier with the same idempotency key.
    pub submission: Option<Arc<Submission>>,
    /// What is known of it, if that was earlier.
    pub earlier: Option<Earlier>,
    /// Its place among those that may show that an e-mail address is taken.
    pub naming: Option<Naming>,
    /// A secret that was made for it, to be shown once and never stored.
    pub shown_once: Option<String>,
    /// The caller's address.
    pub client_address: ClientAddress,
    /// The holder on whose share of scarce resources the request counts.
    pub holder: Holder,
    /// The request's id; of a request that was carried out earlier, the id that it had then.
    pub request_id: Arc<str>,
}

/// What the answer to a request that was carried out earlier needs besides its outcome.
pub struct Earlier {
    /// How many objects had been made from the template that it acts on.
    pub minted: u64,
}

impl Call {
    /// The caller.
    pub fn session(&self) -> Result<Session, ApiError> {
        self.session
            .ok_or_else(|| ApiError::new(Code::Unauthenticated, "this endpoint needs credentials"))
    }

    /// The status of success.
    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.endpoint.status).unwrap_or(StatusCode::OK)
    }

    /// The signed request.
    pub fn submission(&self) -> Result<&Submission, ApiError> {
        let submission = self.submission.as_deref();
        submission
            .ok_or_else(|| ApiError::internal(&"a request was answered before it was submitted"))
    }

    /// The store as last published.
    pub fn published(&self) -> Arc<Published> {
        self.app.published()
    }

    /// The path's id if it is of this kind; an id of another kind is answered like one that names
    /// nothing.
    pub fn id_of(&self, prefix: Prefix) -> Result<Id, ApiError> {
        Id::parse_as(prefix, &self.id).map_err(|_| self.missing(prefix))
    }

    /// The resource that the path names, if it belongs to the caller's organization and `shown` does not hide it.
    pub fn own<T: Resource>(
        &self,
        snapshot: &Snapshot,
        shown: impl FnOnce(&T) -> bool,
    ) -> Result<T, ApiError> {
        let organization_id = self.session()?.organization_id;
        let found = snapshot.resource::<T>(self.id_of(T::PREFIX)?)?;
        let is_own = |found: &T| {
            let of = found.list_place().map(|(of, _)| of);
            of == Some(organization_id) && shown(found)
        };
        found.filter(is_own).ok_or_else(|| self.missing(T::PREFIX))
    }

    fn missing(&self, prefix: Prefix) -> ApiError {
        ApiError::not_found(prefix.noun(), self.id.as_str())
    }

    /// The caller, in the form the rules of visibility need. A role or an address never makes more
    /// visible, so both are the least there is. An API key alone owns nothing, so its organization
    /// takes the wallet's place.
    pub fn viewer(&self) -> Result<Caller, ApiError> {
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
