//! The list of objects, and its filters.

use std::ops::{Range, RangeInclusive};

use kedge_http::error::{ApiError, ApiResult};
use kedge_http::query::RequestParameter;
use kedge_http::reply::HttpReply;
use kedge_protocol::resource::{Object, ObjectStatus};
use kedge_protocol::time::parse_bound_ns;
use kedge_protocol::{Id, Prefix};
use kedge_search::parse::parse_status;
use kedge_storage::{ObjectIndex, StoreSnapshot};

use crate::api::call::HandlerCall;
use crate::api::listing::{ListPage, ListRequest, ListSource, Rows};
use crate::api::objects::handlers::sees;
use crate::api::objects::views::ObjectView;
use crate::api::state::handlers::{ProvenRoom, StateReading, is_proven, within_history};
use crate::api::state::views::{ProvablePage, StateProofsView, StateTextsView};
use crate::api::templates::handlers::seen_template;

const TIME: &str = r#"{"type": "string", "format": "date-time", "pattern": "Z$"}"#;

const fn parameter(
    name: &'static str,
    schema_type: &'static str,
    description: &'static str,
) -> RequestParameter {
    RequestParameter {
        name,
        schema_type,
        description,
    }
}

/// The filters of the list; all given filters must match.
pub const FILTERS: &[RequestParameter] = &[
    parameter(
        "template_id",
        r#"{"type": "string", "pattern": "^tpl_[0-7][0-9a-hjkmnp-tv-z]{25}$"}"#,
        "Only objects of this template.",
    ),
    parameter(
        "owner_id",
        r#"{"type": "string", "pattern": "^wal_[0-7][0-9a-hjkmnp-tv-z]{25}$"}"#,
        "Only objects that this wallet owns.",
    ),
    parameter(
        "status",
        r#"{"type": "string", "enum": ["active", "locked", "burned"]}"#,
        "active, locked or burned.",
    ),
    parameter(
        "created_after",
        TIME,
        "Made at or after this RFC 3339 time.",
    ),
    parameter("created_before", TIME, "Made before this RFC 3339 time."),
    parameter(
        "updated_after",
        TIME,
        "Last changed at or after this RFC 3339 time.",
    ),
    parameter(
        "updated_before",
        TIME,
        "Last changed before this RFC 3339 time.",
    ),
];

struct ObjectListFilter {
    template_id: Option<Id>,
    owner_id: Option<Id>,
    status: Option<ObjectStatus>,
    /// Unix milliseconds.
    created: Range<u64>,
    updated: Range<u64>,
}

impl ObjectListFilter {
    fn of(call: &HandlerCall, snapshot: &StoreSnapshot) -> ApiResult<Self> {
        let get = |name: &str| call.query.get(name);
        let template_id = match get("template_id") {
            Some(text) => Some(seen_template(call, snapshot, text)?.id),
            None => None,
        };
        let owner_id = get("owner_id").map(|text| Id::parse_as(Prefix::Wallet, text));
        let status = get("status").map(parse_status);
        Ok(Self {
            template_id,
            owner_id: owner_id
                .transpose()
                .map_err(|error| ApiError::parameter("owner_id", error))?,
            status: status
                .transpose()
                .map_err(|message| ApiError::parameter("status", message))?,
            created: times(call, "created_after", "created_before")?,
            updated: times(call, "updated_after", "updated_before")?,
        })
    }

    fn list(&self, organization_id: Id) -> ObjectIndex {
        match (self.template_id, self.owner_id) {
            (_, Some(owner)) => ObjectIndex::Owner(owner),
            (Some(template), None) => ObjectIndex::Template(template),
            (None, None) => ObjectIndex::Organization(organization_id),
        }
    }

    fn keeps(&self, object: &Object) -> bool {
        self.template_id.is_none_or(|id| id == object.template_id)
            && self.status.is_none_or(|status| status == object.status)
            && self.updated.contains(&object.trace.updated_at_ms)
    }

    /// The range of sequences of the creations: time never decreases along the log.
    fn sequences(&self, snapshot: &StoreSnapshot) -> ApiResult<RangeInclusive<u64>> {
        let first = match self.created.start {
            0 => 1,
            start_ms => snapshot.first_sequence_at(start_ms)?,
        };
        let last = match self.created.end {
            u64::MAX => u64::MAX - 1,
            end_ms => snapshot.first_sequence_at(end_ms)? - 1,
        };
        Ok(first..=last)
    }
}

/// The milliseconds from one parameter (inclusive) until the other (exclusive).
fn times(call: &HandlerCall, from: &str, until: &str) -> ApiResult<Range<u64>> {
    let read = |name: &str, absent: u64| -> ApiResult<u64> {
        let Some(text) = call.query.get(name) else {
            return Ok(absent);
        };
        let ns = parse_bound_ns(text).ok_or_else(|| {
            let message = "must be an RFC 3339 time in UTC, such as 2026-01-31T12:00:00Z";
            ApiError::parameter(name, message)
        })?;
        // Times are stored in milliseconds, so this rounds up.
        Ok(u64::try_from(ns.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    };
    Ok(read(from, 0)?..read(until, u64::MAX)?)
}

/// A part of the list, within the sequences.
fn fetch(
    snapshot: &StoreSnapshot,
    index: ObjectIndex,
    sequences: &RangeInclusive<u64>,
    rows: Rows,
) -> ApiResult<Vec<Object>> {
    let after = if rows.descending {
        let end = sequences.end().saturating_add(1);
        rows.after.unwrap_or(u64::MAX).min(end)
    } else {
        let start = sequences.start() - 1;
        rows.after.unwrap_or(0).max(start)
    };
    let after = Some(after);
    let mut objects = snapshot.objects(index, Rows { after, ..rows })?;
    objects.retain(|object| sequences.contains(&object.trace.created_sequence));
    Ok(objects)
}

/// `GET /objects`
pub async fn list(call: HandlerCall) -> ApiResult<HttpReply> {
    let published = call.published();
    let snapshot = &published.snapshot;
    let listing = ListRequest::of(&call)?;
    if is_proven(&call)? {
        return list_proven(&call, listing).await;
    }
    let page = page(&call, &listing, snapshot)?;
    let page = page.map(|object| ObjectView::read(object, snapshot))?;
    listing.reply(&call, published.head.sequence, &ProvablePage::from(page))
}

/// The page's objects as they were at the newest checkpoint, with their state proofs.
async fn list_proven(call: &HandlerCall, listing: ListRequest) -> ApiResult<HttpReply> {
    let reading = StateReading::choose_now(call)?;
    let snapshot = &reading.snapshot;
    let mut page = page(call, &listing, snapshot)?;
    let mut objects = Vec::with_capacity(page.items.len());
    let mut room = ProvenRoom::default();
    for object in std::mem::take(&mut page.items) {
        let place = object.trace.created_sequence;
        if !room.replays(&object.trace, &reading) {
            room.end(call, &listing, &mut page);
            break;
        }
        // One that has changed too often since has no known text there, and the page is not its.
        let then = within_history(reading.object_then(call, object).await)?;
        if !room.takes(then.as_ref().map_or(0, |object| object.properties.len())) {
            room.end(call, &listing, &mut page);
            break;
        }
        room.pass(place);
        objects.extend(then);
    }
    let keys: Vec<Id> = objects.iter().map(|object| object.id).collect();
    let mut proven = reading.prove_here(call, &keys)?;
    for (state, object) in proven.iter_mut().zip(&objects) {
        state.texts = StateTextsView::of_object(object);
    }
    let views = objects
        .into_iter()
        .map(|object| ObjectView::read(object, snapshot));
    let page = ProvablePage {
        items: views.collect::<Result<_, _>>()?,
        cursor: page.cursor,
        has_more: page.has_more,
        state_proofs: Some(StateProofsView::of(proven, reading.checkpoint.clone())),
    };
    let reply = listing.reply(call, reading.sequence(), &page)?;
    Ok(reply.with_proven(page.items.len()))
}

fn page(
    call: &HandlerCall,
    listing: &ListRequest,
    snapshot: &StoreSnapshot,
) -> ApiResult<ListPage<Object>> {
    let narrowing = ObjectListFilter::of(call, snapshot)?;
    let index = narrowing.list(call.session()?.organization_id);
    let sequences = narrowing.sequences(snapshot)?;
    let mut known = None;
    listing.page(
        call,
        ListSource {
            fetch: |rows| fetch(snapshot, index, &sequences, rows),
            place: |object: &Object| object.trace.created_sequence,
            keep: |object: &Object| {
                listing.look_at(object.properties.len());
                let wanted = narrowing.keeps(object) && sees(call, snapshot, object, &mut known)?;
                Ok(wanted.then_some(object.properties.len()))
            },
        },
        Ok,
    )
}
