//! Events.

use super::{Doc, with_parameters};
use crate::endpoint::Parameter;

const TAG: &str = "Events";

pub(in crate::endpoint) const LIST: Doc = Doc {
    id: "listEvents",
    tag: TAG,
    summary: "List events",
    description: "What happened to the caller's organization's things, and the batches and anchors of the \
        whole log, in the order of `position`. Better than asking again and again: follow the stream, \
        or have them sent by a webhook.",
    links: &[with_parameters(
        "getAction",
        &[("id", "$response.body#/items/0/action_id")],
    )],
    ..Doc::MISSING
};

const LAST_EVENT_ID: &[Parameter] = &[Parameter {
    name: "Last-Event-ID",
    schema_type: r#"{"type": "string", "pattern": "^[0-9.]*$"}"#,
    description: "The `id` of the last event that was seen, as browsers send it; goes before `last_event_id`.",
}];

pub(in crate::endpoint) const STREAM: Doc = Doc {
    id: "streamEvents",
    tag: TAG,
    summary: "Follow events as they happen",
    description: "The same events as the list, one by one as they happen, as server-sent events. Each has its `position` as `id`: \
        a reader that comes again with it misses nothing and sees nothing twice. A comment every 15 s \
        shows that the stream lives. It ends when the access token does, and where the reader is too \
        slow: come again then.",
    request_headers: LAST_EVENT_ID,
    ..Doc::MISSING
};
