//! A request after the edge has checked it, and the answer that a handler gives.

use std::sync::Arc;

use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, LINK};
use hyper::{HeaderMap, Method, StatusCode};
use kedge_actors::Published;
use kedge_actors::api::Submission;
use kedge_api::Code;
use kedge_machine::Caller;
use kedge_protocol::resource::{Role, Trace};
use kedge_protocol::{Address, Id, Prefix};
use kedge_search::SearchError;
use kedge_storage::ReadError;
use serde::Serialize;

use crate::app::App;
use crate::auth::Session;
use crate::body;
use crate::conditional::{self, tag_of};
use crate::endpoint::Endpoint;
use crate::error::ApiError;
use crate::limits::{ClientAddress, Holder};
use crate::query::Query;
use crate::stream::Body;

/// A request for a handler.
pub struct Call {
    /// The server.
    pub app: Arc<App>,
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
    /// The signed request, if the endpoint changes something.
    pub submission: Option<Submission>,
    /// The caller's address.
    pub client_address: ClientAddress,
    /// The holder on whose share of scarce resources the request counts.
    pub holder: Holder,
    /// The request's id.
    pub request_id: Arc<str>,
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

    /// Takes the signed request.
    pub fn take_submission(&mut self) -> Result<Submission, ApiError> {
        self.submission
            .take()
            .ok_or_else(|| ApiError::internal(&"a signed endpoint was called without a submission"))
    }

    /// Takes the signed request, with the states that `If-Match` names.
    pub fn take_conditional(&mut self) -> Result<Submission, ApiError> {
        let mut submission = self.take_submission()?;
        submission.expected = conditional::expected(&self.headers)?;
        Ok(submission)
    }

    /// The store as last published.
    pub fn published(&self) -> Arc<Published> {
        self.app.published()
    }

    /// The path's id if it is of this kind; an id of another kind is answered like one that names
    /// nothing.
    pub fn id_of(&self, prefix: Prefix, resource: &'static str) -> Result<Id, ApiError> {
        Id::parse_as(prefix, &self.id).map_err(|_| ApiError::not_found(resource, self.id.as_str()))
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

impl From<SearchError> for ApiError {
    fn from(error: SearchError) -> Self {
        match error {
            SearchError::Field(field) => Self::fields(vec![field]),
            // The place comes from a sealed cursor, so this server made it.
            SearchError::Place => Self::new(Code::CursorInvalid, error.to_string()),
            SearchError::Read(error) => error.into(),
        }
    }
}

impl From<ReadError> for ApiError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Archived { .. } => Self::new(
                Code::Gone,
                format!("{error}; ask the server's operator for them"),
            ),
            error => Self::internal(&error),
        }
    }
}

/// An answer.
#[derive(Debug)]
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// Headers in addition to those that every answer has.
    pub headers: HeaderMap,
    /// The body.
    pub body: Body,
    /// The highest sequence that the answer reflects.
    pub sequence: u64,
    /// The caller named exactly this state with `If-None-Match`, so the answer is 304 and costs nothing.
    pub is_known: bool,
}

/// Headers that most answers end up with; room for them is allocated once.
const HEADERS_USUAL: usize = 16;
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

impl Reply {
    /// A JSON answer that reflects the log up to `sequence`.
    pub fn json<T: Serialize + ?Sized>(
        status: StatusCode,
        sequence: u64,
        body: &T,
    ) -> Result<Self, ApiError> {
        let body = serde_json::to_vec(body).map_err(|error| ApiError::internal(&error))?;
        Ok(Self::bytes(status, sequence, JSON, body))
    }

    /// An answer of any type.
    pub fn bytes(
        status: StatusCode,
        sequence: u64,
        media_type: HeaderValue,
        body: impl Into<Body>,
    ) -> Self {
        let mut headers = HeaderMap::with_capacity(HEADERS_USUAL);
        headers.insert(CONTENT_TYPE, media_type);
        headers.insert(CACHE_CONTROL, NO_STORE);
        Self {
            status,
            headers,
            body: body.into(),
            sequence,
            is_known: false,
        }
    }

    /// 200 with JSON.
    pub fn ok<T: Serialize + ?Sized>(sequence: u64, body: &T) -> Result<Self, ApiError> {
        Self::json(StatusCode::OK, sequence, body)
    }

    /// With a header; an invalid header value is left out.
    #[must_use]
    pub fn with(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }

    /// With a strong ETag made from the body, and 304 if the caller has it already.
    #[must_use]
    pub fn etagged(self, call: &Call, cache: &'static str) -> Self {
        // A body that is still being written has no tag.
        let Body::Whole(body) = &self.body else {
            return self;
        };
        let tag = format!("\"{}\"", tag_of(body));
        self.tagged(call, &tag, cache)
    }

    /// As [`Self::etagged`], with a tag that `If-Match` accepts for the resource with this trace.
    #[must_use]
    pub fn state_tagged(self, call: &Call, trace: &Trace, cache: &'static str) -> Self {
        let Body::Whole(body) = &self.body else {
            return self;
        };
        let tag = conditional::answer_tag(trace, body);
        self.tagged(call, &tag, cache)
    }

    /// With this strong ETag, and 304 if the caller has it already.
    #[must_use]
    pub fn tagged(mut self, call: &Call, tag: &str, cache: &'static str) -> Self {
        let named = call.headers.get_all(hyper::header::IF_NONE_MATCH).iter();
        let named: Vec<&str> = named
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .map(|named| named.trim().trim_start_matches("W/"))
            .collect();
        self.is_known = named.contains(&tag);
        // `*` matches every state, and its sender may have none of them.
        let is_known = self.is_known || named.contains(&"*");
        self.headers
            .insert(CACHE_CONTROL, HeaderValue::from_static(cache));
        if is_known {
            self.status = StatusCode::NOT_MODIFIED;
            self.body = Body::default();
            self.headers.remove(CONTENT_TYPE);
        }
        self.with(hyper::header::ETAG, tag)
    }

    /// Marks an answer as deprecated (RFC 9745) and names what to use instead.
    #[must_use]
    pub fn deprecated(self, successor: &str) -> Self {
        self.with(DEPRECATION, DEPRECATED_SINCE)
            .with(LINK, &successor_link(successor))
    }
}

/// `Deprecation` (RFC 9745).
pub const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
/// When v2, and `offset` with it, were deprecated: with v3, 2026-01-01.
pub const DEPRECATED_SINCE: &str = "@1767225600";

/// `Link` to the successor of something deprecated.
pub fn successor_link(successor: &str) -> String {
    format!("<{successor}>; rel=\"successor-version\"")
}
