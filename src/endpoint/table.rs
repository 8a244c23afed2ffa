//! The rows, in the order in which a reader meets them.

use std::sync::LazyLock;

use hyper::Method;

use super::Auth::Bearer;
use super::LimitClass::Tier;
use super::docs::Doc;
use super::{
    Endpoint, Parameter, Signs, accounts, bus, disputes, log, objects, organization, schema,
    service, templates, transfers, webhooks,
};
use crate::routes;

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

/// A row with the values that most rows share.
pub(super) fn documented(method: Method, path: &'static str, doc: &'static Doc) -> Endpoint {
    Endpoint {
        method,
        path,
        tag: doc.tag,
        summary: doc.summary,
        auth: Bearer,
        right: None,
        signs: Signs::Nothing,
        limit: Tier,
        query: &[],
        request: None,
        status: 200,
        media_type: JSON,
        keeps_answer: false,
        etag: false,
        response: schema::<()>,
        handler: handler!(routes::service::health),
        doc,
    }
}

/// Every route.
pub static TABLE: LazyLock<Vec<Endpoint>> = LazyLock::new(|| {
    let mut table = accounts::rows();
    table.extend(organization::rows());
    table.extend(templates::rows());
    table.extend(objects::rows());
    table.extend(bus::rows());
    table.extend(transfers::rows());
    table.extend(webhooks::rows());
    table.extend(log::rows());
    table.extend(disputes::rows());
    table.extend(service::rows());
    table
});
