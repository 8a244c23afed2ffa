//! Endpoints of events.

use kedge_api::Page;
use kedge_api::event::{EventText, EventView};
use kedge_http::events::filter;
use kedge_http::query::Parameter;
use kedge_openapi::{Doc, Link};

use super::row::{get, handler};
use super::{EVENT_STREAM, Endpoint, schema};
use crate::listing;
use crate::routes::events;

pub(super) fn rows() -> Vec<Endpoint> {
    vec![
        Endpoint {
            query: &[listing::LIST, filter::FILTERS, events::BEFORE],
            response: schema::<Page<EventView>>,
            ..get("/ebus/events", &LIST, handler!(events::list))
        },
        Endpoint {
            query: &[filter::FILTERS, events::RESUME],
            media_type: EVENT_STREAM,
            response: schema::<EventText>,
            ..get("/ebus/events/stream", &STREAM, handler!(events::stream))
        },
    ]
}

const TAG: &str = "Events";

const LIST: Doc = Doc {
    id: "listEvents",
    tag: TAG,
    summary: "List events",
    description: "What happened in the caller's organization, and the batches and anchors of the whole \
        log, in the order of `position`. An API key sees the events of the areas that it may read, or all \
        with `actions.read`; a `type` that it may not read is refused. Instead of polling, follow the stream, or have events sent by \
        a webhook.",
    links: &[Link::with_parameters(
        "getAction",
        &[("id", "$response.body#/items/0/action_id")],
    )],
    ..Doc::MISSING
};

const LAST_EVENT_ID: &[Parameter] = &[Parameter {
    name: "Last-Event-ID",
    schema_type: r#"{"type": "string", "pattern": "^[0-9.]*$"}"#,
    description: "The `id` of the last event that was seen, as browsers send it; overrides `last_event_id`.",
}];

const STREAM: Doc = Doc {
    id: "streamEvents",
    tag: TAG,
    summary: "Follow events as they happen",
    description: "The same events as the list, one by one as they happen, as server-sent events. Each has its \
        `position` as `id`: a reader that reconnects with it misses nothing and sees nothing twice. A comment \
        every 15 s shows that the stream is alive. It ends when the access token expires, or if the reader is \
        too slow: reconnect then.",
    request_headers: LAST_EVENT_ID,
    ..Doc::MISSING
};
