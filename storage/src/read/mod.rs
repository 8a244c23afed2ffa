//! Reads of a [`StoreSnapshot`].

mod accounts;
mod anchors;
mod checkpoints;
mod deliveries;
mod events;
mod lists;
mod log;
mod placed_action;
mod records;
mod sequencer_keys;
mod state;

use kedge_protocol::Id;
use rocksdb::Direction;

use crate::codec::{self, CodecError};
use crate::snapshot::{RawRow, StoreReadError, StoreSnapshot};
use crate::tables::Table;
use crate::tables::row::StoredResource;

pub use events::LoggedRequest;
pub use lists::{IndexedObject, ListWindow, ListedObject, PropertyRange};
pub use log::ActionReader;
pub(crate) use log::bad_request;
pub use placed_action::PlacedAction;

/// Page of a list. The cursor is the number of the last item seen: a creation sequence, an index or a number, depending
/// on the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowPage {
    /// Cursor: the page begins after it, in the direction of the list.
    pub after: Option<u64>,
    /// Highest first.
    pub descending: bool,
    /// Largest number of items.
    pub limit: usize,
}

impl RowPage {
    /// First number of the page; `None` if nothing can be there.
    fn start(&self) -> Option<u64> {
        match (self.after, self.descending) {
            (None, false) => Some(0),
            (None, true) => Some(u64::MAX),
            (Some(after), false) => after.checked_add(1),
            (Some(after), true) => after.checked_sub(1),
        }
    }

    fn direction(&self) -> Direction {
        if self.descending {
            Direction::Reverse
        } else {
            Direction::Forward
        }
    }
}

/// A key's last eight bytes: the number in a list.
fn place_of(key: &[u8]) -> Result<u64, CodecError> {
    let (_, place) = key
        .split_last_chunk()
        .ok_or_else(|| CodecError::bytes("the key is too short"))?;
    Ok(u64::from_be_bytes(*place))
}

impl StoreSnapshot {
    /// The rows of a list, whose keys are `prefix` and a number, from `start` on.
    fn list_rows<'a>(
        &'a self,
        table: Table,
        prefix: &[u8],
        start: u64,
        direction: Direction,
    ) -> impl Iterator<Item = Result<RawRow, StoreReadError>> + use<'a> {
        let mut from = prefix.to_vec();
        from.extend_from_slice(&start.to_be_bytes());
        let prefix = prefix.to_vec();
        let key_bytes = from.len();
        let rows = self.rows_from(table, &from, direction);
        rows.take_while(move |row| {
            row.as_ref().map_or(true, |(key, _)| {
                key.len() == key_bytes && key.starts_with(&prefix)
            })
        })
    }

    /// A page of a list.
    fn list<T>(
        &self,
        table: Table,
        prefix: &[u8],
        page: RowPage,
        read: impl Fn(u64, &[u8]) -> Result<T, CodecError>,
    ) -> Result<Vec<T>, StoreReadError> {
        let Some(start) = page.start() else {
            return Ok(Vec::new());
        };
        self.list_rows(table, prefix, start, page.direction())
            .take(page.limit)
            .map(|row| {
                let (key, value) = row?;
                place_of(&key)
                    .and_then(|place| read(place, &value))
                    .map_err(StoreReadError::row(table, &key))
            })
            .collect()
    }

    /// A page of ids, from a list of an index table.
    fn list_ids(
        &self,
        table: Table,
        kind: u8,
        of: &Id,
        page: RowPage,
    ) -> Result<Vec<[u8; 16]>, StoreReadError> {
        let prefix = crate::tables::kind_key(kind, &of.bytes);
        self.list(table, &prefix, page, |_, value| codec::leading_id(value))
    }

    /// The id under a lookup key.
    fn lookup(&self, key: &[u8]) -> Result<Option<[u8; 16]>, StoreReadError> {
        self.get(Table::Lookup, key, codec::array)
    }

    /// A resource, even an ended one; an id with another prefix names none.
    pub fn resource<T: StoredResource>(&self, id: Id) -> Result<Option<T>, StoreReadError> {
        self.by_id(T::TABLE, T::PREFIX, id, T::read)
    }

    /// Every resource of a kind, in the order of their ids.
    pub fn every<T: StoredResource>(&self) -> impl Iterator<Item = Result<T, StoreReadError>> {
        self.raw_rows(T::TABLE).map(|row| {
            let (key, value) = row?;
            codec::array(&key)
                .and_then(|id| T::read(id, &value))
                .map_err(StoreReadError::row(T::TABLE, &key))
        })
    }

    /// A page of the resources that belong to another one; the cursor is their number there, the creation sequence or
    /// an index.
    pub fn listed<T: StoredResource>(
        &self,
        of: Id,
        page: RowPage,
    ) -> Result<Vec<T>, StoreReadError> {
        let Some(list) = T::LIST else {
            return Ok(Vec::new());
        };
        let ids = self.list_ids(Table::Lookup, list, &of, page)?;
        self.rows_of(T::TABLE, &ids, T::read)
    }

    /// The rows of listed ids. Every listed id must have a row.
    fn rows_of<T>(
        &self,
        table: Table,
        ids: &[[u8; 16]],
        read: impl Fn([u8; 16], &[u8]) -> Result<T, CodecError>,
    ) -> Result<Vec<T>, StoreReadError> {
        let rows = self.get_many(table, ids).into_iter().zip(ids);
        rows.map(|(value, &id)| {
            let value = value?.ok_or_else(|| StoreReadError::Missing {
                table,
                what: format!(
                    "the row that a list names, {}",
                    kedge_protocol::hash::to_hex(&id)
                ),
            })?;
            read(id, &value).map_err(StoreReadError::row(table, &id))
        })
        .collect()
    }
}
