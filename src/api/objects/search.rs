//! Searches and counts of objects.

use std::sync::Arc;

use hyper::StatusCode;
use kedge_http::body;
use kedge_http::cursor::CursorScope;
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::reply::HttpReply;
use kedge_protocol::Code;
use kedge_protocol::limits::{PAGE_ITEMS_DEFAULT, PAGE_ITEMS_MAX};
use kedge_search::sort::SearchSort;
use kedge_search::{SearchError, SearchFilter, SearchPageRequest, parse, sort};
use serde_json::value::RawValue;

use crate::api::call::HandlerCall;
use crate::api::listing::ListPage;
use crate::api::listing::PAGE_BYTES_MAX;
use crate::api::objects::search_bodies::{CountBody, CountView, SearchBody};
use crate::api::objects::views::ObjectView;
use crate::metrics::SEARCH_ROWS;

struct SearchRequest {
    filter: SearchFilter,
    /// The filter's text, normalized.
    text: String,
    sort: SearchSort,
    limit: usize,
    cursor: Option<String>,
}

fn read_search(text: &str) -> ApiResult<SearchRequest> {
    let body: SearchBody = body::parse(text)?;
    let limit = body.limit.unwrap_or(PAGE_ITEMS_DEFAULT as u64);
    if limit == 0 || limit > PAGE_ITEMS_MAX as u64 {
        let message = format!("must be 1 to {PAGE_ITEMS_MAX}");
        return Err(ApiError::field("/limit", "range", message));
    }
    Ok(SearchRequest {
        filter: parse::filter(body.filter.get()).map_err(refused)?,
        text: kedge_rules::json::compact(body.filter.get()).into_owned(),
        sort: sort::read(body.sort.as_deref().map(RawValue::get)).map_err(refused)?,
        limit: limit as usize,
        cursor: body.cursor,
    })
}

fn read_count(text: &str) -> ApiResult<SearchFilter> {
    let body: CountBody = body::parse(text)?;
    parse::filter(body.filter.get()).map_err(refused)
}

/// `POST /objects/search`
pub async fn search(call: HandlerCall) -> ApiResult<HttpReply> {
    let text = &call.body.text;
    let read = || read_search(text);
    let asked = call
        .services
        .limits
        .work_in_place(text.len(), read)
        .await??;
    let (filter, sort) = (asked.filter, asked.sort);
    let viewer = call.viewer()?;
    let scope = CursorScope::of(&[
        call.endpoint.path,
        &viewer.wallet_id.to_string(),
        &asked.text,
        &format!("{sort:?}"),
    ]);
    let open = |cursor: &String| call.services.reads.cursors.open(&scope, cursor);
    let wanted = SearchPageRequest {
        sort,
        limit: asked.limit,
        bytes_max: PAGE_BYTES_MAX,
        after: asked.cursor.as_ref().map(open).transpose()?,
    };
    let published = call.published();
    let (services, route) = (Arc::clone(&call.services), call.endpoint.path);
    // A large page is encoded on the thread that reads it.
    let read = move || {
        let found = kedge_search::search(&published.snapshot, &viewer, &filter, &wanted);
        let found = found.map_err(refused)?;
        count_rows(route, found.rows);
        let objects = found.objects.into_iter();
        let items = objects.map(|object| ObjectView::read(object, &published.snapshot));
        let page = ListPage {
            items: items.collect::<Result<_, _>>()?,
            has_more: found.place.is_some(),
            cursor: found
                .place
                .map(|place| services.reads.cursors.make(&scope, &place)),
        };
        HttpReply::json(StatusCode::OK, published.head.sequence, &page)
    };
    call.services.reads.read_long(call.holder, read).await
}

/// `POST /objects/count`
pub async fn count(call: HandlerCall) -> ApiResult<HttpReply> {
    let text = &call.body.text;
    let filter = || read_count(text);
    let filter = call
        .services
        .limits
        .work_in_place(text.len(), filter)
        .await??;
    let viewer = call.viewer()?;
    let published = call.published();
    let sequence = published.head.sequence;
    let read = move || kedge_search::count(&published.snapshot, &viewer, &filter).map_err(refused);
    let counted = call.services.reads.read_long(call.holder, read).await?;
    count_rows(call.endpoint.path, counted.rows);
    let count = counted.count;
    HttpReply::json(StatusCode::OK, sequence, &CountView { count })
}

fn count_rows(route: &'static str, rows: usize) {
    metrics::histogram!(SEARCH_ROWS, "route" => route).record(rows as f64);
}

/// The caller's error for a refused or failed search.
fn refused(error: SearchError) -> ApiError {
    match error {
        SearchError::Field(field) => ApiError::fields(vec![field]),
        // The position comes from a sealed cursor, so this server made it.
        SearchError::Place => ApiError::new(Code::CursorInvalid, error.to_string()),
        SearchError::Read(error) => error.into(),
    }
}
