//! How a row of the table is written: with the values that most rows share.

use hyper::Method;

use super::Auth::Bearer;
use super::LimitClass::Tier;
use super::docs::Doc;
use super::{Answer, AnswerTo, Endpoint, Parameter, Replying, Signs, schema};
use crate::call::Call;

/// A parameter of every read of the log.
pub const MIN_SEQUENCE: Parameter = Parameter {
    name: "min_sequence",
    schema_type: r#"{"type": "integer", "minimum": 0}"#,
    description: "Waits up to 5 s until the answer reflects this sequence.",
};

/// The media type of most answers.
const JSON: &str = "application/json";
/// The media type of streams of events.
pub const EVENT_STREAM: &str = "text/event-stream";
/// Only the answer itself determines its media type.
pub const ANY: &str = "*/*";

macro_rules! handler {
    ($handler:path) => {
        |call| Box::pin($handler(call))
    };
}
pub(super) use handler;

macro_rules! answer {
    ($answer:path) => {
        |call, committed| Box::pin(std::future::ready($answer(call, committed)))
    };
}
pub(super) use answer;

macro_rules! prepare {
    ($prepare:path) => {
        |call, submission| Box::pin($prepare(call, submission))
    };
}
pub(super) use prepare;

/// A read, with the values that most rows share.
pub(super) fn get(
    path: &'static str,
    doc: &'static Doc,
    handler: fn(Call) -> Replying<'static>,
) -> Endpoint {
    unsigned(Method::GET, path, doc, handler)
}

/// A row whose requests a handler answers, with the values that most rows share.
pub(super) fn unsigned(
    method: Method,
    path: &'static str,
    doc: &'static Doc,
    handler: fn(Call) -> Replying<'static>,
) -> Endpoint {
    documented(method, path, doc, Signs::Nothing, Answer::Handler(handler))
}

/// A row whose requests are signed and submitted, with the values that most rows share.
pub(super) fn signed(
    method: Method,
    path: &'static str,
    doc: &'static Doc,
    signs: Signs,
    answer: AnswerTo,
) -> Endpoint {
    documented(method, path, doc, signs, Answer::Committed(answer))
}

fn documented(
    method: Method,
    path: &'static str,
    doc: &'static Doc,
    signs: Signs,
    answer: Answer,
) -> Endpoint {
    Endpoint {
        method,
        path,
        tag: doc.tag,
        summary: doc.summary,
        auth: Bearer,
        right: None,
        signs,
        limit: Tier,
        query: &[],
        request: None,
        status: 200,
        media_type: JSON,
        keeps_answer: false,
        etag: false,
        response: schema::<()>,
        prepare: None,
        answer,
        doc,
    }
}
