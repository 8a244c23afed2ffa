//! Rows of one shard of a layer: ordered where walks are frequent, hashed where nearly every access is by whole key. A
//! look-up in a tree of a few hundred keys misses the cache at each level.

use std::hint::black_box;
use std::ops::RangeBounds;

use kedge_protocol::ids::IdMap;

use super::bytes::InlineBytes;
use super::ordered_rows::OrderedRows;
use super::versions::{RowVersion, RowVersions, VersionWriter};
use super::{KeyRange, ShardDelta};
use crate::tables::{Table, first_8};

/// Size of a prefetch.
const CACHE_LINE_BYTES: usize = 64;
/// Lines of a value that are prefetched; the processor predicts the rest of a longer walk.
const FETCHED_LINES_MAX: usize = 8;

/// An identifier.
type ShortKey = InlineBytes<22>;

/// Most rows that change have the newest version and the previous one.
type HashedRows = IdMap<ShortKey, RowVersions<2>>;

pub(super) enum ShardRows {
    Ordered(OrderedRows),
    Hashed(HashedRows),
}

impl ShardRows {
    /// No rows, for a table.
    pub(super) fn of(table: Table) -> Self {
        match table {
            Table::Objects | Table::LogBytes => Self::Hashed(IdMap::default()),
            _ => Self::Ordered(OrderedRows::default()),
        }
    }

    /// Approximate memory of a row besides its key and its values.
    pub(super) fn row_bytes(&self) -> usize {
        match self {
            Self::Ordered(_) => 64,
            Self::Hashed(_) => 128,
        }
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<&[RowVersion]> {
        match self {
            Self::Ordered(rows) => rows.get(key),
            Self::Hashed(rows) => rows.get(key).map(|versions| &**versions),
        }
    }

    /// Writes rows that are in key order.
    pub(super) fn write(
        &mut self,
        rows: &[(&[u8], Option<&[u8]>)],
        writer: VersionWriter<'_>,
    ) -> ShardDelta {
        match self {
            Self::Ordered(ordered) => ordered.write(rows, writer),
            Self::Hashed(hashed) => write_hashed(hashed, rows, writer),
        }
    }

    /// The rows of a range, in key order.
    pub(super) fn range<'a>(
        &'a self,
        range: &KeyRange<'a>,
    ) -> Box<dyn DoubleEndedIterator<Item = (&'a [u8], &'a [RowVersion])> + 'a> {
        let rows = match self {
            Self::Ordered(rows) => return Box::new(rows.range(range)),
            Self::Hashed(rows) => rows,
        };
        let bounds = (range.from, range.to);
        let rows = rows.iter().map(|(key, versions)| (&**key, &**versions));
        let within = rows.filter(|(key, _)| RangeBounds::<[u8]>::contains(&bounds, *key));
        let mut within: Vec<_> = within.map(|row| (first_8(row.0), row)).collect();
        within.sort_unstable_by_key(|(first, (key, _))| (*first, *key));
        Box::new(within.into_iter().map(|(_, row)| row))
    }
}

/// Writes hashed rows. They are scattered over the memory, so all of them are prefetched first, which takes about as
/// long as one.
fn write_hashed(
    hashed: &mut HashedRows,
    rows: &[(&[u8], Option<&[u8]>)],
    writer: VersionWriter<'_>,
) -> ShardDelta {
    for (key, _) in rows {
        fetch(hashed, key);
    }
    let mut written = ShardDelta::default();
    for (key, value) in rows {
        if let Some(versions) = hashed.get_mut(*key) {
            let freed = writer.push(versions, *value);
            written.replaced(*value, freed);
        } else {
            let version = RowVersion::new(writer.group, *value);
            hashed.insert(ShortKey::from_slice(key), RowVersions::from_iter([version]));
            written.added(key, *value);
        }
    }
    written
}

/// Prefetches a row that is about to be written, with its oldest version, whose memory the new one reuses.
fn fetch(rows: &HashedRows, key: &[u8]) {
    let oldest = rows.get(key).and_then(|versions| versions.first());
    let value = oldest.and_then(RowVersion::value);
    let lines = value.unwrap_or_default().chunks(CACHE_LINE_BYTES);
    for line in lines.take(FETCHED_LINES_MAX) {
        black_box(line.first());
    }
}
