//! Constructors of rows, with the values and texts that most rows share.

use hyper::Method;
use kedge_http::query::RequestParameter;
use kedge_http::signing::SigningScheme;

use crate::api::EndpointRow;
use crate::api::call::HandlerCall;
use crate::api::document::{AnswerLink, EndpointDoc};
use crate::api::endpoint::{AnswerMode, CommittedAnswer, ReplyFuture};

macro_rules! handler {
    ($handler:path) => {
        |call| Box::pin($handler(call))
    };
}
pub(in crate::api) use handler;

macro_rules! answer {
    ($answer:path) => {
        |call, committed| Box::pin(std::future::ready($answer(call, committed)))
    };
}
pub(in crate::api) use answer;

macro_rules! prepare {
    ($prepare:path) => {
        |call, submission| Box::pin($prepare(call, submission))
    };
}
pub(in crate::api) use prepare;

/// Caching of answers for one caller.
pub(in crate::api) const PRIVATE: &str = "private, no-cache";
/// Caching of public answers that may change.
pub(in crate::api) const PUBLIC: &str = "public, no-cache";
/// Caching of public answers that never change.
pub(in crate::api) const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// Reason for breaking off a download whose place was reassigned.
pub(in crate::api) const PLACE_LOST: &str =
    "all downloads are in use, and a caller with fewer got this one's place";

/// A read, with the most common values.
pub(in crate::api) fn get(
    path: &'static str,
    doc: &'static EndpointDoc,
    handler: fn(HandlerCall) -> ReplyFuture<'static>,
) -> EndpointRow {
    unsigned(Method::GET, path, doc, handler)
}

/// A POST that is not signed, with the most common values.
pub(in crate::api) fn post(
    path: &'static str,
    doc: &'static EndpointDoc,
    handler: fn(HandlerCall) -> ReplyFuture<'static>,
) -> EndpointRow {
    unsigned(Method::POST, path, doc, handler)
}

/// A row answered by a handler, with the most common values.
pub(in crate::api) fn unsigned(
    method: Method,
    path: &'static str,
    doc: &'static EndpointDoc,
    handler: fn(HandlerCall) -> ReplyFuture<'static>,
) -> EndpointRow {
    EndpointRow::new(
        method,
        path,
        doc,
        SigningScheme::Nothing,
        AnswerMode::Handler(handler),
    )
}

/// A row of signed and submitted requests, with the most common values.
pub(in crate::api) fn signed(
    method: Method,
    path: &'static str,
    doc: &'static EndpointDoc,
    signs: SigningScheme,
    answer: CommittedAnswer,
) -> EndpointRow {
    EndpointRow::new(method, path, doc, signs, AnswerMode::Committed(answer))
}

/// The condition for changes of anything but objects.
pub(in crate::api) const IF_MATCH: &[RequestParameter] = &[RequestParameter {
    name: "If-Match",
    schema_type: r#"{"type": "string", "pattern": "^(\\*|\"[0-9]{1,20}\\.[0-9a-f]{16}(\\.[0-9a-f]{32})?(-gzip|-zstd)?\")$"}"#,
    description: "The ETag of the state that the change is meant for; 412 if that state has changed.",
}];

/// Link to the change's action and its proof.
pub(in crate::api) const TO_ACTION: AnswerLink =
    AnswerLink::with_parameters("getAction", &[("id", "$response.body#/action_id")]);
pub(in crate::api) const TO_PROOF: AnswerLink =
    AnswerLink::with_parameters("getActionProof", &[("id", "$response.body#/action_id")]);
