//! Events of an organization: a list, and a live stream.

use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue};
use kedge_http::auth::api_key::PresentedKey;
use kedge_http::clock::now_s;
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::events::{StreamRequest, filter};
use kedge_http::query::RequestParameter;
use kedge_http::reply::HttpReply;
use kedge_protocol::event::EventPosition;
use kedge_replay::events::EventSpan;
use kedge_rules::event::Event;

use crate::api::call::HandlerCall;
use crate::api::endpoint::{EVENT_STREAM, SEQUENCE_AGAIN_S};
use crate::api::listing::{ListPiece, ListRequest, PageRemainder};

/// The other end of a list.
pub const BEFORE: &[RequestParameter] = &[RequestParameter {
    name: "before_sequence",
    schema_type: r#"{"type": "integer", "minimum": 0, "maximum": 9223372036854775807}"#,
    description: "Only events before this sequence.",
}];

/// Where a stream resumes.
pub const RESUME: &[RequestParameter] = &[RequestParameter {
    name: "last_event_id",
    schema_type: r#"{"type": "string", "pattern": "^(0|[1-9][0-9]{0,18})(\\.[1-9][0-9]{0,8})?$"}"#,
    description: "The `position` of the last event that was seen: the stream begins after it. The header Last-Event-ID means the same and overrides it; it overrides after_sequence. With none of them the stream begins with new events.",
}];

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Duration of a stream opened with an API key alone: an expired key is noticed when the caller reconnects.
const KEY_STREAM_S: u64 = 15 * 60;
/// Keeps nginx and similar proxies from buffering the stream.
const NO_BUFFERING: (HeaderName, &str) = (HeaderName::from_static("x-accel-buffering"), "no");

/// `GET /ebus/events`
pub async fn list(call: HandlerCall) -> ApiResult<HttpReply> {
    let published = call.published();
    let session = call.session()?;
    let organization = session.organization_id;
    let filter = filter::of_caller(&call.query, &session)?;
    let after_sequence = call.query.number("after_sequence")?;
    let before_sequence = call.query.number("before_sequence")?;
    let listing = ListRequest::of(&call)?;
    let low = after_sequence.map(EventPosition::end_of);
    let high = before_sequence.map(EventPosition::start_of);
    let (first, until) = if listing.descending {
        (high, low)
    } else {
        (low, high)
    };
    let read = |wanted: PageRemainder| {
        let after = wanted.after.map(EventPosition::try_from).transpose();
        let span = EventSpan {
            after: after.map_err(|error| ApiError::internal(&error))?.or(first),
            until,
            descending: listing.descending,
            events_max: wanted.records_max.min(PIECE_EVENTS),
            // When the page is full, one more event shows whether anything follows.
            bytes_max: wanted.bytes_max.max(1),
            rows_max: wanted.rows_max,
        };
        let piece = kedge_replay::events::read(&published.snapshot, organization, &filter, span)?;
        listing.look_at(piece.looked_at_bytes);
        let record = |event: Event| (event.position.into(), Some((event.data.len(), event)));
        Ok(ListPiece {
            records: piece.events.into_iter().map(record).collect(),
            reached: piece.reached.map(u128::from),
            rows: piece.rows,
            ended: piece.ended,
        })
    };
    let page = listing.walk(&call, read)?;
    listing.reply(&call, published.head.sequence, &page)
}

/// Events read in one step.
const PIECE_EVENTS: usize = 256;

/// `GET /ebus/events/stream`
pub async fn stream(call: HandlerCall) -> ApiResult<HttpReply> {
    let session = call.session()?;
    let filter = filter::of_caller(&call.query, &session)?;
    let published = call.published();
    let after = match resumed(&call)? {
        Some(position) => Some(position),
        None => call
            .query
            .number("after_sequence")?
            .map(EventPosition::end_of),
    };
    if let Some(position) = after {
        let last = published.snapshot.last_position()?;
        let ends_sequence = position == EventPosition::end_of(position.sequence);
        if position > last && !(ends_sequence && position.sequence <= last.sequence) {
            let sequence = position.sequence;
            let message = format!("the last event is at {last}, and nothing is at {sequence} yet");
            return Err(ApiError::not_reached(message, SEQUENCE_AGAIN_S));
        }
    }
    let body = call.services.streams.open(StreamRequest {
        organization: session.organization_id,
        wallet: session.wallet_id,
        key: PresentedKey::of(&call.services.access.api_keys, &call.headers),
        filter,
        after,
        address: call.client_address,
        until_s: session
            .expires_at_s
            .unwrap_or_else(|| now_s() + KEY_STREAM_S),
    })?;
    let media_type = HeaderValue::from_static(EVENT_STREAM);
    let reply = HttpReply::bytes(StatusCode::OK, published.head.sequence, media_type, body);
    Ok(reply.with(NO_BUFFERING.0, NO_BUFFERING.1))
}

/// The position that the caller has already seen.
fn resumed(call: &HandlerCall) -> ApiResult<Option<EventPosition>> {
    let header = call.headers.get(LAST_EVENT_ID);
    // A browser that has not seen an id yet may send an empty one.
    let (name, text) = match header.filter(|value| !value.is_empty()) {
        Some(value) => ("Last-Event-ID", value.to_str().unwrap_or_default()),
        None => match call.query.get("last_event_id") {
            Some(text) => ("last_event_id", text),
            None => return Ok(None),
        },
    };
    let position = text.parse();
    position
        .map(Some)
        .map_err(|error| ApiError::parameter(name, format_args!("is not a position: {error}")))
}
