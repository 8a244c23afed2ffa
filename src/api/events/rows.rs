//! Endpoints of events.

use kedge_http::events::filter;
use kedge_http::query::RequestParameter;
use kedge_protocol::resource::Area;

use crate::api::EndpointRow;
use crate::api::document::{AnswerLink, ApiHeading, EndpointDoc};
use crate::api::endpoint::{EVENT_STREAM, schema};
use crate::api::events::handlers;
use crate::api::events::views::{EventText, EventView};
use crate::api::listing;
use crate::api::listing::ListPage;
use crate::api::row::{get, handler};

pub(in crate::api) fn rows() -> Vec<EndpointRow> {
    vec![
        EndpointRow {
            query: &[listing::LIST, filter::FILTERS, handlers::BEFORE],
            response: schema::<ListPage<EventView>>,
            ..get("/ebus/events", &LIST, handler!(handlers::list))
        },
        EndpointRow {
            query: &[filter::FILTERS, handlers::RESUME],
            media_type: EVENT_STREAM,
            response: schema::<EventText>,
            ..get("/ebus/events/stream", &STREAM, handler!(handlers::stream))
        },
    ]
}

pub(in crate::api) static HEADING: ApiHeading = ApiHeading {
    name: "Events",
    description: "What happened, as a list and as a stream.",
    area: Some(Area::Events),
    ids: &[],
};

const LIST: EndpointDoc = EndpointDoc {
    id: "listEvents",
    heading: &HEADING,
    summary: "List events",
    description: "What happened in the caller's organization, and the batches and anchors of the whole \
        log, in the order of `position`. An API key sees the events of the areas that it may read, or all \
        with `actions.read`; a `type` that it may not read is refused. Instead of polling, follow the stream, or have events sent by \
        a webhook.",
    links: &[AnswerLink::with_parameters(
        "getAction",
        &[("id", "$response.body#/items/0/action_id")],
    )],
    ..EndpointDoc::MISSING
};

const LAST_EVENT_ID: &[RequestParameter] = &[RequestParameter {
    name: "Last-Event-ID",
    schema_type: r#"{"type": "string", "pattern": "^[0-9.]*$"}"#,
    description: "The `id` of the last event that was seen, as browsers send it; overrides `last_event_id`.",
}];

const STREAM: EndpointDoc = EndpointDoc {
    id: "streamEvents",
    heading: &HEADING,
    summary: "Follow events as they happen",
    description: "The same events as the list, one by one as they happen, as server-sent events. Each has its \
        `position` as `id`: a reader that reconnects with it misses nothing and sees nothing twice. A comment \
        every 15 s shows that the stream is alive. It ends when the access token expires, or if the reader is \
        too slow: reconnect then.",
    request_headers: LAST_EVENT_ID,
    ..EndpointDoc::MISSING
};
