//! Answers before the server completes their headers.

use bytes::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, LINK, VARY,
};
use hyper::{HeaderMap, StatusCode};
use kedge_protocol::resource::ResourceTrace;
use serde::Serialize;

use crate::error::{ApiError, ApiResult};
use crate::preconditions::{self, tag_of};
use crate::stream::ReplyBody;
use kedge_net::coding::{AcceptedCodings, CODED_BYTES_MIN, ContentCoding, opaque_tag};

#[derive(Debug)]
pub struct HttpReply {
    pub status: StatusCode,
    /// Headers in addition to those of every answer.
    pub headers: HeaderMap,
    pub body: ReplyBody,
    /// The highest sequence that the answer reflects.
    pub sequence: u64,
    /// The caller named exactly this state with `If-None-Match`, so the answer is 304 and costs nothing.
    pub is_known: bool,
    /// Never compressed.
    pub is_uncoded: bool,
    /// Items that come with their proofs, each of which counts as a request.
    pub proven_items: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BodyForm {
    Plain,
    Coded(ContentCoding),
}

/// Usual number of headers, allocated once.
const HEADERS_USUAL: usize = 16;
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

impl HttpReply {
    /// JSON that reflects the log up to `sequence`.
    pub fn json<T: Serialize + ?Sized>(
        status: StatusCode,
        sequence: u64,
        body: &T,
    ) -> ApiResult<Self> {
        let body = serde_json::to_vec(body).map_err(|error| ApiError::internal(&error))?;
        Ok(Self::json_text(status, sequence, body))
    }

    /// [`Self::json`] for encoded JSON.
    pub fn json_text(status: StatusCode, sequence: u64, body: Vec<u8>) -> Self {
        Self::bytes(status, sequence, JSON, body)
    }

    pub fn bytes(
        status: StatusCode,
        sequence: u64,
        media_type: HeaderValue,
        body: impl Into<ReplyBody>,
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
            is_uncoded: false,
            proven_items: 0,
        }
    }

    /// The answer has so many items that come with their proofs.
    #[must_use]
    pub fn with_proven(mut self, items: usize) -> Self {
        self.proven_items = u32::try_from(items).unwrap_or(u32::MAX);
        self
    }

    /// Turns compression off.
    #[must_use]
    pub fn uncoded(mut self) -> Self {
        self.is_uncoded = true;
        self
    }

    /// The body's form for a caller with these headers; `None` if it has only one form.
    pub fn form(&self, headers: &HeaderMap) -> Option<BodyForm> {
        let ReplyBody::Whole(body) = &self.body else {
            return None;
        };
        if self.is_uncoded || body.is_empty() || self.headers.contains_key(CONTENT_ENCODING) {
            return None;
        }
        let accepted = AcceptedCodings::of(headers);
        if body.len() <= CODED_BYTES_MIN && !accepted.refuses_plain() {
            return None;
        }
        Some(ContentCoding::preferred(&accepted).map_or(BodyForm::Plain, BodyForm::Coded))
    }

    /// Marks the answer as dependent on `Accept-Encoding`.
    #[must_use]
    pub fn varied(mut self) -> Self {
        let accepted = HeaderValue::from_static("Accept-Encoding");
        self.headers.append(VARY, accepted);
        self
    }

    /// Replaces the body by its coded form, and adapts its tag.
    #[must_use]
    pub fn coded(mut self, coding: ContentCoding, body: Bytes, is_read: bool) -> Self {
        self.body = ReplyBody::Whole(body);
        let tag = self.headers.get(ETAG).filter(|_| is_read);
        let tag = tag.and_then(|tag| tag.to_str().ok());
        let tag = tag.map(|tag| coding.tag(tag));
        let reply = self.with(CONTENT_ENCODING, coding.name());
        match tag {
            Some(tag) => reply.with(ETAG, &tag),
            None => reply,
        }
    }

    /// 200 with JSON.
    pub fn ok<T: Serialize + ?Sized>(sequence: u64, body: &T) -> ApiResult<Self> {
        Self::json(StatusCode::OK, sequence, body)
    }

    /// Adds a header; an invalid value is dropped.
    #[must_use]
    pub fn with(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }

    /// Adds a strong ETag of the body; 304 if the caller has it.
    #[must_use]
    pub fn etagged(self, headers: &HeaderMap, cache: &'static str) -> Self {
        // Streamed bodies have no tag.
        let ReplyBody::Whole(body) = &self.body else {
            return self;
        };
        let tag = format!("\"{}\"", tag_of(body));
        self.tagged(headers, &tag, cache)
    }

    /// [`Self::etagged`], with a tag that `If-Match` accepts for the resource with this trace.
    #[must_use]
    pub fn state_tagged(
        self,
        headers: &HeaderMap,
        trace: &ResourceTrace,
        cache: &'static str,
    ) -> Self {
        let ReplyBody::Whole(body) = &self.body else {
            return self;
        };
        let tag = preconditions::answer_tag(trace, body);
        self.tagged(headers, &tag, cache)
    }

    /// Adds this strong ETag; 304 if the caller has it.
    #[must_use]
    pub fn tagged(mut self, headers: &HeaderMap, tag: &str, cache: &'static str) -> Self {
        let named = headers.get_all(hyper::header::IF_NONE_MATCH).iter();
        let named: Vec<&str> = named
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .map(|named| named.trim().trim_start_matches("W/"))
            .collect();
        // Tags of compressed forms match too.
        let opaque = opaque_tag(tag);
        self.is_known = named.iter().any(|named| opaque_tag(named) == opaque);
        // `*` matches every state, but its sender may have none.
        let is_known = self.is_known || named.contains(&"*");
        self.headers
            .insert(CACHE_CONTROL, HeaderValue::from_static(cache));
        if !is_known {
            return self.with(ETAG, tag);
        }
        let form = self.form(headers);
        self.status = StatusCode::NOT_MODIFIED;
        self.body = ReplyBody::default();
        self.headers.remove(CONTENT_TYPE);
        // A 304 has the headers of the full answer (RFC 9110, 15.4.5).
        match form {
            None => self.with(ETAG, tag),
            Some(BodyForm::Plain) => self.varied().with(ETAG, tag),
            Some(BodyForm::Coded(coding)) => self.varied().with(ETAG, &coding.tag(tag)),
        }
    }

    /// Marks the answer as deprecated (RFC 9745) and names the successor.
    #[must_use]
    pub fn deprecated(self, successor: &str) -> Self {
        self.with(DEPRECATION, DEPRECATED_SINCE)
            .with(LINK, &successor_link(successor))
    }
}

/// `Deprecation` (RFC 9745).
pub const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
/// Deprecation date of v2 and `offset`: the release of v3, 2026-01-01.
pub const DEPRECATED_SINCE: &str = "@1767225600";

/// `Link` to the successor of something deprecated.
pub fn successor_link(successor: &str) -> String {
    format!("<{successor}>; rel=\"successor-version\"")
}
