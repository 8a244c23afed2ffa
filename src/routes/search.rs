//! Searching and counting objects.

use std::sync::Arc;

use hyper::StatusCode;
use kedge_api::Code;
use kedge_api::Page;
use kedge_api::resources::ObjectView;
use kedge_http::body;
use kedge_http::cursor::Scope;
use kedge_http::error::ApiError;
use kedge_http::reply::Reply;
use kedge_protocol::limits::{PAGE_ITEMS_DEFAULT, PAGE_ITEMS_MAX};
use kedge_search::{SearchError, Wanted, parse, sort};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::call::Call;
use crate::listing::PAGE_BYTES_MAX;
use crate::metrics::SEARCH_ROWS;

/// The request of a search for objects.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchBody {
    /// The condition for matches.
    #[schemars(schema_with = "filter_schema")]
    filter: Box<RawValue>,
    /// The order: by creation if absent.
    #[serde(default)]
    #[schemars(schema_with = "sort_schema")]
    sort: Option<Box<RawValue>>,
    /// Records per page: 1 to 1,000, 100 if absent.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u64>,
    /// The cursor from the previous page.
    #[serde(default)]
    cursor: Option<String>,
}

/// The request of a count of objects.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CountBody {
    /// The condition for matches.
    #[schemars(schema_with = "filter_schema")]
    filter: Box<RawValue>,
}

/// How many objects match.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CountView {
    /// The exact number of matches that the caller sees.
    pub count: u64,
}

/// A tree of conditions.
struct FilterTree;

impl JsonSchema for FilterTree {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Filter".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let tree = generator.subschema_for::<Self>();
        json_schema!({
            "description": "A tree of `and`, `or` and `not` over conditions. Values of different JSON types are \
                never equal and have no order; numbers are compared exactly, texts by code point. A condition on \
                a missing value is false; `ne` is the negation of `eq`.",
            "oneOf": [
                { "type": "object", "additionalProperties": false, "required": ["and"],
                  "properties": { "and": { "type": "array", "items": tree } } },
                { "type": "object", "additionalProperties": false, "required": ["or"],
                  "properties": { "or": { "type": "array", "items": tree } } },
                { "type": "object", "additionalProperties": false, "required": ["not"],
                  "properties": { "not": tree } },
                { "type": "object", "additionalProperties": false, "required": ["field", "op", "value"],
                  "properties": {
                    "field": { "type": "string", "description":
                        "id, template_id, variation_id, owner_id, owner_address, status, version, sequence, \
                         created_at, updated_at, or properties. and the keys that lead to a value, separated by dots; \
                         a dot or a backslash in a key has a backslash before it." },
                    "op": { "type": "string", "enum":
                        ["eq", "ne", "gt", "gte", "lt", "lte", "in", "exists", "prefix", "contains"] },
                    "value": { "description":
                        "For `in` an array of values, for `exists` true or false, otherwise a text, \
                         a number, true, false or null. `contains` finds part of a text, or an \
                         element of an array." },
                  } },
            ],
        })
    }
}

fn filter_schema(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<FilterTree>()
}

fn sort_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["array", "null"], "minItems": 1, "maxItems": 1,
        "items": {
            "type": "object", "additionalProperties": false, "required": ["field"],
            "properties": {
                "field": { "type": "string", "description":
                    "created_at, updated_at, or a property that the template's schema marks with `x-index`; then \
                     the filter must fix the template_id with eq." },
                "order": { "type": "string", "enum": ["asc", "desc"] },
            },
        },
    })
}

/// `POST /objects/search`
pub async fn search(call: Call) -> Result<Reply, ApiError> {
    let body: SearchBody = body::parse(&call.body.text)?;
    let limit = body.limit.unwrap_or(PAGE_ITEMS_DEFAULT as u64);
    if limit == 0 || limit > PAGE_ITEMS_MAX as u64 {
        let message = format!("must be 1 to {PAGE_ITEMS_MAX}");
        return Err(ApiError::field("/limit", "range", message));
    }
    let filter = parse::filter(body.filter.get()).map_err(refused)?;
    let sort = sort::read(body.sort.as_deref().map(RawValue::get)).map_err(refused)?;
    let viewer = call.viewer()?;
    let scope = Scope::of(&[
        call.endpoint.path,
        &viewer.wallet_id.to_string(),
        &kedge_machine::json::compact(body.filter.get()),
        &format!("{sort:?}"),
    ]);
    let open = |cursor: &String| call.app.cursors.open_behind(&scope, cursor);
    let wanted = Wanted {
        sort,
        limit: limit as usize,
        bytes_max: PAGE_BYTES_MAX,
        after: body.cursor.as_ref().map(open).transpose()?,
    };
    let published = call.published();
    let (app, route) = (Arc::clone(&call.app), call.endpoint.path);
    // The page is written on the same thread as it is read, because it may be large.
    let read = move || {
        let found = kedge_search::search(&published.snapshot, &viewer, &filter, &wanted);
        let found = found.map_err(refused)?;
        count_rows(route, found.rows);
        let page = Page {
            items: found.objects.into_iter().map(ObjectView::from).collect(),
            has_more: found.place.is_some(),
            cursor: found
                .place
                .map(|place| app.cursors.make_behind(&scope, &place)),
        };
        Reply::json(StatusCode::OK, published.head.sequence, &page)
    };
    call.app.read_long(call.holder, read).await
}

/// `POST /objects/count`
pub async fn count(call: Call) -> Result<Reply, ApiError> {
    let body: CountBody = body::parse(&call.body.text)?;
    let filter = parse::filter(body.filter.get()).map_err(refused)?;
    let viewer = call.viewer()?;
    let published = call.published();
    let sequence = published.head.sequence;
    let read = move || kedge_search::count(&published.snapshot, &viewer, &filter).map_err(refused);
    let counted = call.app.read_long(call.holder, read).await?;
    count_rows(call.endpoint.path, counted.rows);
    let count = counted.count;
    Reply::json(StatusCode::OK, sequence, &CountView { count })
}

fn count_rows(route: &'static str, rows: usize) {
    metrics::histogram!(SEARCH_ROWS, "route" => route).record(rows as f64);
}

/// A refused or failed search, for the caller.
fn refused(error: SearchError) -> ApiError {
    match error {
        SearchError::Field(field) => ApiError::fields(vec![field]),
        // The place comes from a sealed cursor, so this server made it.
        SearchError::Place => ApiError::new(Code::CursorInvalid, error.to_string()),
        SearchError::Read(error) => error.into(),
    }
}
