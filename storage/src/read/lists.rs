//! Lists of objects without the objects: their positions in order of creation, or of a property's value. A search reads
//! these before it knows which objects it needs.

use std::ops::{Range, RangeInclusive};

use kedge_protocol::{Id, Prefix};

use super::place_of;
use crate::codec::{self, CodecError};
use crate::snapshot::{RawRow, StoreReadError, StoreSnapshot};
use crate::tables::objects::ObjectIndex;
use crate::tables::properties::{VALUE_AT, value_key};
use crate::tables::{Table, id};

/// An object in a list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ListedObject {
    /// The sequence of the mint.
    pub created_sequence: u64,
    pub id: Id,
}

impl ListedObject {
    fn read(key: &[u8], value: &[u8]) -> Result<Self, CodecError> {
        Ok(Self {
            created_sequence: place_of(key)?,
            id: id(Prefix::Object, codec::leading_id(value)?),
        })
    }
}

/// Range in the order of creation, with a direction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListWindow {
    /// Creation sequences, both ends included.
    pub sequences: RangeInclusive<u64>,
    /// Newest first.
    pub descending: bool,
}

impl ListWindow {
    /// Keys with `prefix` and a sequence of the window.
    fn keys(&self, prefix: Vec<u8>) -> Range<Vec<u8>> {
        let mut start = prefix.clone();
        start.extend_from_slice(&self.sequences.start().to_be_bytes());
        let mut end = prefix;
        end.extend_from_slice(&self.sequences.end().to_be_bytes());
        // The end is excluded, and nothing lies between a key and the same key with a zero appended.
        end.push(0);
        start..end
    }
}

/// Range of the property index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PropertyRange {
    pub template_id: Id,
    /// Number of the indexed property in the template.
    pub path: u8,
    /// Ordered values, from the first on, up to but without those with the second as a prefix.
    pub values: Range<Vec<u8>>,
}

/// An entry of the property index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexedObject {
    /// Sort position: the ordered value ‖ the creation sequence.
    pub place: Box<[u8]>,
    pub object: ListedObject,
}

fn listed(
    table: Table,
    row: Result<RawRow, StoreReadError>,
) -> Result<ListedObject, StoreReadError> {
    let (key, value) = row?;
    ListedObject::read(&key, &value).map_err(StoreReadError::row(table, &key))
}

impl StoreSnapshot {
    /// The objects of a list, without their rows.
    pub fn listed_objects(
        &self,
        index: ObjectIndex,
        window: &ListWindow,
    ) -> impl Iterator<Item = Result<ListedObject, StoreReadError>> + use<'_> {
        let (kind, of) = index.place();
        let keys = window.keys(crate::tables::kind_key(kind, &of.bytes));
        self.rows_between(Table::ObjectIndex, keys, window.descending)
            .map(|row| listed(Table::ObjectIndex, row))
    }

    /// The objects with this ordered value of an indexed property, in order of creation.
    pub fn objects_with_value(
        &self,
        template: Id,
        path: u8,
        value: &[u8],
        window: &ListWindow,
    ) -> impl Iterator<Item = Result<ListedObject, StoreReadError>> + use<'_> {
        let keys = window.keys(value_key(&template, path, value));
        self.rows_between(Table::PropertyIndex, keys, window.descending)
            .map(|row| listed(Table::PropertyIndex, row))
    }

    /// Entries of a range of the property index, ordered by value and then by creation; only the ones after `after`,
    /// the sort position of the last one seen.
    pub fn indexed_objects(
        &self,
        range: &PropertyRange,
        after: Option<&[u8]>,
        descending: bool,
    ) -> impl Iterator<Item = Result<IndexedObject, StoreReadError>> + use<'_> {
        let key = |rest: &[u8]| value_key(&range.template_id, range.path, rest);
        let mut keys = key(&range.values.start)..key(&range.values.end);
        if let Some(after) = after {
            let mut seen = key(after);
            if descending {
                keys.end = keys.end.min(seen);
            } else {
                seen.push(0);
                keys.start = keys.start.max(seen);
            }
        }
        let table = Table::PropertyIndex;
        self.rows_between(table, keys, descending).map(move |row| {
            let (key, value) = row?;
            let read = || {
                let place = key.get(VALUE_AT..).unwrap_or_default();
                Ok(IndexedObject {
                    object: ListedObject::read(&key, &value)?,
                    place: place.into(),
                })
            };
            read().map_err(StoreReadError::row(table, &key))
        })
    }

    /// The first sequence that was placed at this time or later; the one after the log's end if there is none.
    pub fn first_sequence_at(&self, time_ms: u64) -> Result<u64, StoreReadError> {
        let mut range = 1..self.head()?.sequence + 1;
        while range.start < range.end {
            let middle = range.start + (range.end - range.start) / 2;
            let (first, count, timestamp_ms) = self.request_times(middle)?;
            if timestamp_ms < time_ms {
                range.start = first + count;
            } else {
                range.end = first;
            }
        }
        Ok(range.start)
    }
}
