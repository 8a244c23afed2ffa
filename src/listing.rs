//! Pages of lists: `limit`, `cursor`, `order`, and the deprecated `offset`. Rows are read in small pieces, so neither
//! large records nor a filter that drops most of them run away.

use kedge_api::Page;
use kedge_http::cursor::Scope;
use kedge_http::error::ApiError;
use kedge_protocol::limits::{PAGE_ITEMS_DEFAULT, PAGE_ITEMS_MAX, PAGE_OFFSET_MAX};
pub use kedge_storage::Page as Rows;

use crate::call::Call;
use crate::endpoint::Parameter;

/// Rows that are read at once.
const PIECE_ROWS: usize = 64;
/// A page ends early when its records have grown to this many bytes.
pub const PAGE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// A page ends early when this many rows have been read.
pub const PAGE_ROWS_MAX: usize = PAGE_OFFSET_MAX + 2 * PAGE_ITEMS_MAX;

/// The parameters of every list.
pub const LIST: &[Parameter] = &[
    Parameter {
        name: "limit",
        schema_type: r#"{"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}"#,
        description: "Records per page: 1 to 1,000, 100 if absent. A page may hold fewer although more follow.",
    },
    Parameter {
        name: "cursor",
        schema_type: r#"{"type": "string", "pattern": "^[A-Za-z0-9_-]+$"}"#,
        description: "The cursor of the previous page.",
    },
    Parameter {
        name: "order",
        schema_type: r#"{"type": "string", "enum": ["asc", "desc"], "default": "asc"}"#,
        description: "asc (the default) or desc, by creation.",
    },
    Parameter {
        name: "offset",
        schema_type: r#"{"type": "integer", "minimum": 0, "maximum": 10000}"#,
        description: "Deprecated, at most 10,000: use cursor.",
    },
];

/// The parameters of a list whose newest records come first unless `order` states otherwise.
pub const LIST_NEWEST_FIRST: &[Parameter] = &[
    LIST[0],
    LIST[1],
    Parameter {
        name: "order",
        schema_type: r#"{"type": "string", "enum": ["asc", "desc"], "default": "desc"}"#,
        description: "asc or desc (the default), by creation.",
    },
    LIST[3],
];

/// The requested part of a list.
pub struct Listing {
    scope: Scope,
    /// Most records of the page.
    pub limit: usize,
    /// Records to skip first: the deprecated form.
    pub offset: usize,
    /// The position after which the page begins.
    pub after: Option<u128>,
    /// Newest first.
    pub descending: bool,
    /// The deprecated form was used.
    pub deprecated: bool,
}

/// How a list reads its records.
pub struct Source<F, P, K> {
    /// Reads rows.
    pub fetch: F,
    /// A record's position in the list.
    pub place: P,
    /// The bytes of the record, or nothing if the caller may not see it.
    pub keep: K,
}

impl Listing {
    /// Reads the parameters; `filters` are the values that narrow the list.
    pub fn of(call: &Call, filters: &[&str]) -> Result<Self, ApiError> {
        Self::read(call, filters, false)
    }

    /// As [`Self::of`], but newest first if `order` is absent: for [`LIST_NEWEST_FIRST`].
    pub fn newest_first(call: &Call, filters: &[&str]) -> Result<Self, ApiError> {
        Self::read(call, filters, true)
    }

    fn read(call: &Call, filters: &[&str], newest_first: bool) -> Result<Self, ApiError> {
        let query = &call.query;
        let limit = query.number("limit")?.unwrap_or(PAGE_ITEMS_DEFAULT as u64);
        if limit == 0 || limit > PAGE_ITEMS_MAX as u64 {
            let message = format!("must be 1 to {PAGE_ITEMS_MAX}");
            return Err(ApiError::parameter("limit", message));
        }
        let descending = match query.get("order") {
            None => newest_first,
            Some("asc") => false,
            Some("desc") => true,
            Some(_) => return Err(ApiError::parameter("order", "must be asc or desc")),
        };
        let offset = query.number("offset")?;
        if offset.is_some_and(|offset| offset > PAGE_OFFSET_MAX as u64) {
            let message = format!("may be at most {PAGE_OFFSET_MAX}; use cursor");
            return Err(ApiError::parameter("offset", message));
        }
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
        parts.extend(filters);
        let scope = Scope::of(&parts);
        let open = |cursor: &str| {
            let place = call.app.cursors.open(&scope, cursor)?;
            let place = place
                .try_into()
                .map_err(|_| ApiError::internal(&"a list's cursor without its number"))?;
            Ok::<_, ApiError>(u128::from_be_bytes(place))
        };
        let after = query.get("cursor").map(open).transpose()?;
        Ok(Self {
            scope,
            limit: limit as usize,
            offset: offset.unwrap_or(0) as usize,
            after,
            descending,
            deprecated: offset.is_some(),
        })
    }

    /// The cursor for the records after `place`.
    pub fn cursor(&self, call: &Call, place: u128) -> String {
        call.app.cursors.make(&self.scope, &place.to_be_bytes())
    }

    /// Reads the page.
    pub fn page<T, F, P, K>(
        &self,
        call: &Call,
        source: Source<F, P, K>,
    ) -> Result<Page<T>, ApiError>
    where
        F: FnMut(Rows) -> Result<Vec<T>, ApiError>,
        P: Fn(&T) -> u64,
        K: FnMut(&T) -> Result<Option<usize>, ApiError>,
    {
        let Source {
            mut fetch,
            place,
            mut keep,
        } = source;
        let mut items = Vec::new();
        let (mut skip, mut bytes, mut rows_read) = (self.offset, 0, 0);
        let place_of_cursor =
            |place| u64::try_from(place).map_err(|error| ApiError::internal(&error));
        let mut after = self.after.map(place_of_cursor).transpose()?;
        let has_more = 'pieces: loop {
            // One more than is still missing shows whether anything follows.
            let missing = skip + self.limit - items.len() + 1;
            let rows = Rows {
                after,
                descending: self.descending,
                limit: missing.min(PIECE_ROWS),
            };
            let piece = fetch(rows)?;
            let ended = piece.len() < rows.limit;
            for item in piece {
                if items.len() == self.limit || bytes > PAGE_BYTES_MAX || rows_read > PAGE_ROWS_MAX
                {
                    break 'pieces true;
                }
                rows_read += 1;
                let here = place(&item);
                match keep(&item)? {
                    Some(size) if skip == 0 => {
                        bytes += size;
                        items.push(item);
                    }
                    Some(_) => skip -= 1,
                    None => {}
                }
                after = Some(here);
            }
            if ended {
                break false;
            }
        };
        let cursor = after
            .filter(|_| has_more)
            .map(|place| self.cursor(call, place.into()));
        Ok(Page {
            items,
            cursor,
            has_more,
        })
    }
}
