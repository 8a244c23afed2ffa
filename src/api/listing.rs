//! Pages of lists: `limit`, `cursor`, `order`, and the deprecated `offset`. Rows are read in small pieces, which bounds
//! large records and filters that drop most rows. Every list uses [`ListRequest::walk`]. Searches have their own reader in
//! `kedge-search`, because their order and positions are those of an index.

use std::cell::Cell;

use kedge_http::cursor::CursorScope;
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::reply::HttpReply;
use kedge_protocol::limits::{
    PAGE_ITEMS_DEFAULT, PAGE_ITEMS_MAX, PAGE_OFFSET_MAX, SEARCH_BYTES_MAX,
};

pub use kedge_storage::RowPage as Rows;
use kedge_storage::{StoreSnapshot, StoredResource};
use serde::Serialize;

use crate::api::call::HandlerCall;
use kedge_http::query::RequestParameter;

use schemars::JsonSchema;

/// One page of a list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageOf{T}")]
pub struct ListPage<T> {
    /// The records.
    pub items: Vec<T>,
    /// Pass it to get the next page; null on the last one.
    pub cursor: Option<String>,
    /// True when more records follow.
    pub has_more: bool,
}

impl<T> ListPage<T> {
    /// The page with each record as another one.
    ///
    /// # Errors
    /// A record cannot be converted.
    pub fn map<U, E>(self, view: impl FnMut(T) -> Result<U, E>) -> Result<ListPage<U>, E> {
        let items: Result<_, E> = self.items.into_iter().map(view).collect();
        Ok(ListPage {
            items: items?,
            cursor: self.cursor,
            has_more: self.has_more,
        })
    }
}

const PIECE_ROWS: usize = 64;
/// Bytes of records read for one page, including filtered ones.
const LOOKED_AT_BYTES_MAX: usize = SEARCH_BYTES_MAX;
/// A page ends early at this many bytes of records.
pub const PAGE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// A page ends early after this many rows.
const PAGE_ROWS_MAX: usize = PAGE_OFFSET_MAX + 2 * PAGE_ITEMS_MAX;

pub const LIST: &[RequestParameter] = &[
    RequestParameter {
        name: "limit",
        schema_type: r#"{"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}"#,
        description: "Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow.",
    },
    RequestParameter {
        name: "cursor",
        schema_type: r#"{"type": "string", "pattern": "^[A-Za-z0-9_-]+$"}"#,
        description: "The cursor of the previous page.",
    },
    RequestParameter {
        name: "order",
        schema_type: r#"{"type": "string", "enum": ["asc", "desc"], "default": "asc"}"#,
        description: "asc (the default) or desc, by creation.",
    },
    RequestParameter {
        name: "offset",
        schema_type: r#"{"type": "integer", "minimum": 0, "maximum": 10000}"#,
        description: "Deprecated, at most 10,000: use cursor.",
    },
];

/// Parameters of a list with the newest records first unless `order` states otherwise.
pub const LIST_NEWEST_FIRST: &[RequestParameter] = &[
    LIST[0],
    LIST[1],
    RequestParameter {
        name: "order",
        schema_type: r#"{"type": "string", "enum": ["asc", "desc"], "default": "desc"}"#,
        description: "asc or desc (the default), by creation.",
    },
    LIST[3],
];

pub struct ListRequest {
    scope: CursorScope,
    /// Records of the page, at most.
    limit: usize,
    /// Records to skip first; deprecated.
    offset: usize,
    /// The position after which the page begins.
    after: Option<u128>,
    /// Newest first.
    pub descending: bool,
    /// Whether `offset` was used.
    deprecated: bool,
    /// Bytes of the records read so far, including filtered ones.
    looked_at: Cell<usize>,
}

/// The rest of a page.
pub struct PageRemainder {
    /// The position after which to read.
    pub after: Option<u128>,
    pub records_max: usize,
    /// Bytes of records that the page still has room for.
    pub bytes_max: usize,
    /// Limit of rows looked at.
    pub rows_max: usize,
}

pub struct ListPiece<T> {
    /// Rows in the list's order: the position, and the record with its bytes, or nothing if the caller may not see it.
    pub records: Vec<(u128, Option<(usize, T)>)>,
    /// The position of the last row looked at, if it is not the last record's.
    pub reached: Option<u128>,
    /// Number of rows looked at.
    pub rows: usize,
    /// Nothing more follows.
    pub ended: bool,
}

/// How a list reads a table.
pub struct ListSource<F, P, K> {
    pub fetch: F,
    /// A record's position in the list.
    pub place: P,
    /// The record's bytes, or nothing if the caller may not see it.
    pub keep: K,
}

impl ListRequest {
    /// Parses the parameters. A cursor continues only the list that gave it: with the same path, caller, order, and
    /// values of all other parameters.
    pub fn of(call: &HandlerCall) -> ApiResult<Self> {
        Self::read(call, &call.id, false)
    }

    /// [`Self::of`] under a resource with several names: cursors are bound to `id` and fit all of them.
    pub fn under(call: &HandlerCall, id: &str) -> ApiResult<Self> {
        Self::read(call, id, false)
    }

    /// [`Self::of`], but newest first if `order` is absent: for [`LIST_NEWEST_FIRST`].
    pub fn newest_first(call: &HandlerCall) -> ApiResult<Self> {
        Self::read(call, &call.id, true)
    }

    fn read(call: &HandlerCall, id: &str, newest_first: bool) -> ApiResult<Self> {
        let query = &call.query;
        let limit = query.number("limit")?.unwrap_or(PAGE_ITEMS_DEFAULT as u64);
        let descending = match query.get("order") {
            None => newest_first,
            Some("asc") => false,
            Some("desc") => true,
            Some(_) => return Err(ApiError::parameter("order", "must be asc or desc")),
        };
        let offset = query.number("offset")?;
        if offset.is_some() && query.get("cursor").is_some() {
            return Err(ApiError::parameter(
                "offset",
                "and cursor exclude each other",
            ));
        }
        let caller = call.session.map(|session| session.subject().to_string());
        let order = if descending { "desc" } else { "asc" };
        let mut parts = vec![
            call.endpoint.path,
            caller.as_deref().unwrap_or_default(),
            order,
        ];
        parts.extend((!id.is_empty()).then_some(id));
        let own = call.endpoint.query.iter().copied().flatten();
        let filters = own.filter(|own| LIST.iter().all(|paging| paging.name != own.name));
        parts.extend(filters.map(|filter| query.get(filter.name).unwrap_or_default()));
        let scope = CursorScope::of(&parts);
        let open = |cursor: &str| {
            let place = call.services.reads.cursors.open(&scope, cursor)?;
            let place = place
                .try_into()
                .map_err(|_| ApiError::internal(&"a list's cursor without its number"))?;
            Ok::<_, ApiError>(u128::from_be_bytes(place))
        };
        let after = query.get("cursor").map(open).transpose()?;
        let limit = call.items_max.map_or(limit, |max| limit.min(max.into()));
        Ok(Self {
            scope,
            limit: limit as usize,
            offset: offset.unwrap_or(0) as usize,
            after,
            descending,
            deprecated: offset.is_some(),
            looked_at: Cell::default(),
        })
    }

    /// Counts bytes read but not shown: filtered records, records skipped by `offset`, and inputs of records. The page
    /// ends early after too many.
    pub fn look_at(&self, bytes: usize) {
        self.looked_at
            .set(self.looked_at.get().saturating_add(bytes));
    }

    /// Reads a page, piece by piece.
    pub fn walk<T>(
        &self,
        call: &HandlerCall,
        mut read: impl FnMut(PageRemainder) -> ApiResult<ListPiece<T>>,
    ) -> ApiResult<ListPage<T>> {
        let mut items = Vec::new();
        let (mut skip, mut after) = (self.offset, self.after);
        let (mut bytes_max, mut rows_max) = (PAGE_BYTES_MAX, PAGE_ROWS_MAX);
        let has_more = 'pieces: loop {
            let piece = read(PageRemainder {
                after,
                // One more than missing shows whether anything follows.
                records_max: skip + self.limit - items.len() + 1,
                bytes_max,
                rows_max,
            })?;
            for (place, record) in piece.records {
                if items.len() == self.limit || bytes_max == 0 {
                    break 'pieces true;
                }
                match record {
                    Some((bytes, item)) if skip == 0 => {
                        bytes_max = bytes_max.saturating_sub(bytes);
                        items.push(item);
                    }
                    Some((bytes, _)) => {
                        self.look_at(bytes);
                        skip -= 1;
                    }
                    None => {}
                }
                after = Some(place);
            }
            after = piece.reached.or(after);
            rows_max = rows_max.saturating_sub(piece.rows);
            let is_enough = self.looked_at.get() > LOOKED_AT_BYTES_MAX;
            if is_enough && skip > 0 && !piece.ended {
                let message =
                    "skips records that are too large together; use the cursor of the page before";
                return Err(ApiError::parameter("offset", message));
            }
            if piece.ended || rows_max == 0 || is_enough {
                break !piece.ended;
            }
        };
        Ok(ListPage {
            items,
            cursor: after
                .filter(|_| has_more)
                .map(|place| self.cursor(call, place)),
            has_more,
        })
    }

    /// The cursor of the page after this place.
    pub fn cursor(&self, call: &HandlerCall, place: u128) -> String {
        let cursors = &call.services.reads.cursors;
        cursors.make(&self.scope, &place.to_be_bytes())
    }

    /// Reads a page of a table; `view` converts each record.
    pub fn page<T, U, F, P, K>(
        &self,
        call: &HandlerCall,
        mut source: ListSource<F, P, K>,
        view: impl FnMut(T) -> ApiResult<U>,
    ) -> ApiResult<ListPage<U>>
    where
        F: FnMut(Rows) -> ApiResult<Vec<T>>,
        P: Fn(&T) -> u64,
        K: FnMut(&T) -> ApiResult<Option<usize>>,
    {
        let page = self.walk(call, |wanted| {
            let after = wanted.after.map(u64::try_from).transpose();
            let rows = Rows {
                after: after.map_err(|error| ApiError::internal(&error))?,
                descending: self.descending,
                limit: wanted.records_max.min(PIECE_ROWS).min(wanted.rows_max),
            };
            let read = (source.fetch)(rows)?;
            let (rows_read, ended) = (read.len(), read.len() < rows.limit);
            let mut record = |item: T| {
                let place = (source.place)(&item).into();
                Ok((place, (source.keep)(&item)?.map(|bytes| (bytes, item))))
            };
            Ok(ListPiece {
                records: read
                    .into_iter()
                    .map(&mut record)
                    .collect::<ApiResult<_>>()?,
                reached: None,
                rows: rows_read,
                ended,
            })
        })?;
        page.map(view)
    }

    /// The answer with a page of a table, at this sequence of the log.
    pub fn answer<T, U: Serialize, F, P, K>(
        &self,
        call: &HandlerCall,
        sequence: u64,
        source: ListSource<F, P, K>,
        view: impl FnMut(T) -> ApiResult<U>,
    ) -> ApiResult<HttpReply>
    where
        F: FnMut(Rows) -> ApiResult<Vec<T>>,
        P: Fn(&T) -> u64,
        K: FnMut(&T) -> ApiResult<Option<usize>>,
    {
        let page = self.page(call, source, view)?;
        self.reply(call, sequence, &page)
    }

    /// The answer with a page; callers that still use `offset` get the next page's link.
    pub fn reply(
        &self,
        call: &HandlerCall,
        sequence: u64,
        page: &impl Serialize,
    ) -> ApiResult<HttpReply> {
        let reply = HttpReply::ok(sequence, page)?;
        if !self.deprecated {
            return Ok(reply);
        }
        let path = call.endpoint.path.replace("{id}", &call.id);
        let next = format!("{}{path}?cursor=", call.services.node.public_url);
        Ok(reply.deprecated(&next))
    }
}

/// The answer with an unfiltered page of the organization's own resources.
pub fn list_own<T: StoredResource, U: Serialize>(
    call: &HandlerCall,
    keep: impl FnMut(&T) -> ApiResult<Option<usize>>,
    mut view: impl FnMut(&StoreSnapshot, T) -> ApiResult<U>,
) -> ApiResult<HttpReply> {
    let published = call.published();
    let snapshot = &published.snapshot;
    let organization_id = call.session()?.organization_id;
    let source = ListSource {
        fetch: |rows| Ok(snapshot.listed::<T>(organization_id, rows)?),
        place: |item: &T| item.list_place().map_or(0, |(_, number)| number),
        keep,
    };
    let listing = ListRequest::of(call)?;
    listing.answer(call, published.head.sequence, source, |item| {
        view(snapshot, item)
    })
}

/// The requested rows of a list in memory; `all` is in ascending order of its positions.
pub fn part_of<T>(all: &[T], place: impl Fn(&T) -> u64, rows: Rows) -> Vec<&T> {
    let part = match rows.after {
        None => all,
        Some(after) if rows.descending => &all[..all.partition_point(|row| place(row) < after)],
        Some(after) => &all[all.partition_point(|row| place(row) <= after)..],
    };
    if rows.descending {
        part.iter().rev().take(rows.limit).collect()
    } else {
        part.iter().take(rows.limit).collect()
    }
}
