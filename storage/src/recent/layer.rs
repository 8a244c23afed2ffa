//! Layer of recent rows: the writes between two flushes, in memory, readable in their state after any group that still
//! has a reader.

mod bytes;
mod ordered_rows;
mod rows;
#[cfg(test)]
mod tests;
mod versions;

use std::ops::Bound;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::RwLock;

use self::bytes::InlineBytes;
use self::rows::ShardRows;
use self::versions::{RowVersion, VersionWriter, seen};
use crate::tables::Table;

/// Key of a row; nearly all of them fit in without an allocation.
pub(crate) type RowKey = InlineBytes<38>;
/// Row of a reader: `None` if it was deleted.
pub(crate) type LayerRow = (RowKey, Option<Box<[u8]>>);

/// Locks of a table, mostly one for each first byte of a key: ids spread over all, and a walk in key order moves from
/// one to the next.
const SHARDS: usize = 256;
/// Bound on the rows of a shard that are written under one lock: as many as the processor can prefetch.
const RUN_MAX: usize = 16;

type LayerShard = RwLock<ShardRows>;

/// Range of keys.
pub(crate) struct KeyRange<'a> {
    pub(crate) from: Bound<&'a [u8]>,
    pub(crate) to: Bound<&'a [u8]>,
}

impl KeyRange<'_> {
    const ALL: Self = Self {
        from: Bound::Unbounded,
        to: Bound::Unbounded,
    };
}

/// Bitmap of the shards that hold rows: most walks find no recent row, and looking into every shard would cost them
/// more than the walk.
#[derive(Default)]
struct ShardBitmap([AtomicU64; SHARDS / 64]);

impl ShardBitmap {
    /// Called under the shard's lock. A reader of the row sees the bit, because it learns of the row's group later.
    fn fill(&self, number: u8) {
        self.0[usize::from(number) / 64].fetch_or(1 << (number % 64), Ordering::Relaxed);
    }

    fn holds(&self, number: u8) -> bool {
        self.0[usize::from(number) / 64].load(Ordering::Relaxed) >> (number % 64) & 1 == 1
    }
}

/// Effect of a write on a shard's size.
#[derive(Default)]
struct ShardDelta {
    /// Number of new rows.
    rows: usize,
    /// Bytes of keys and values.
    added_bytes: usize,
    freed_bytes: usize,
}

impl ShardDelta {
    /// Counts a new row.
    fn added(&mut self, key: &[u8], value: Option<&[u8]>) {
        self.rows += 1;
        self.added_bytes += key.len() + value.map_or(0, <[u8]>::len);
    }

    /// Counts a changed row, whose dropped versions had this many bytes.
    fn replaced(&mut self, value: Option<&[u8]>, freed_bytes: usize) {
        self.added_bytes += value.map_or(0, <[u8]>::len);
        self.freed_bytes += freed_bytes;
    }
}

/// The rows of all tables that were written since the layer began.
pub(crate) struct RecentLayer {
    shards: Vec<LayerShard>,
    filled: Vec<ShardBitmap>,
    rows: AtomicUsize,
    /// Bytes of keys and values.
    content_bytes: AtomicUsize,
    /// Overhead of the rows.
    row_bytes: AtomicUsize,
}

impl Default for RecentLayer {
    fn default() -> Self {
        let of = |table: &Table| LayerShard::new(ShardRows::of(*table));
        let shards = Table::ALL
            .iter()
            .flat_map(|table| (0..SHARDS).map(move |_| of(table)));
        Self {
            shards: shards.collect(),
            filled: Table::ALL.iter().map(|_| ShardBitmap::default()).collect(),
            rows: AtomicUsize::new(0),
            content_bytes: AtomicUsize::new(0),
            row_bytes: AtomicUsize::new(0),
        }
    }
}

impl RecentLayer {
    fn shard(&self, table: Table, number: u8) -> &LayerShard {
        &self.shards[table as usize * SHARDS + usize::from(number)]
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows.load(Ordering::Relaxed)
    }

    /// Bytes of all keys and values.
    pub(crate) fn content_bytes(&self) -> usize {
        self.content_bytes.load(Ordering::Relaxed)
    }

    /// Approximate memory.
    pub(crate) fn len_bytes(&self) -> usize {
        self.content_bytes() + self.row_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len_bytes() == 0
    }

    /// Writes rows, in the order of tables and keys, for the group of this number. `read` are the groups with readers,
    /// in order: versions that none of them sees are dropped.
    pub(crate) fn write<'r>(
        &self,
        rows: impl Iterator<Item = (Table, &'r [u8], Option<&'r [u8]>)>,
        group: u64,
        read: &[u64],
    ) {
        let mut rows = rows.peekable();
        let mut run = Vec::with_capacity(RUN_MAX);
        while let Some((table, key, value)) = rows.next() {
            let number = shard_of(table, key);
            run.push((key, value));
            while run.len() < RUN_MAX
                && let Some((_, key, value)) =
                    rows.next_if(|(next, key, _)| *next == table && shard_of(table, key) == number)
            {
                run.push((key, value));
            }
            self.write_run(table, number, &run, VersionWriter { group, read });
            run.clear();
        }
    }

    /// Writes rows of one shard.
    fn write_run(
        &self,
        table: Table,
        number: u8,
        run: &[(&[u8], Option<&[u8]>)],
        writer: VersionWriter<'_>,
    ) {
        let mut rows = self.shard(table, number).write();
        let written = rows.write(run, writer);
        if written.rows > 0 {
            self.filled[table as usize].fill(number);
            self.rows.fetch_add(written.rows, Ordering::Relaxed);
            let row_bytes = written.rows * rows.row_bytes();
            self.row_bytes.fetch_add(row_bytes, Ordering::Relaxed);
        }
        // Added bytes first, so that the sum never falls below zero.
        let content_bytes = &self.content_bytes;
        content_bytes.fetch_add(written.added_bytes, Ordering::Relaxed);
        content_bytes.fetch_sub(written.freed_bytes, Ordering::Relaxed);
    }

    /// Passes a row in its state after a group to `found`, if it was written since the layer began.
    pub(crate) fn get<T>(
        &self,
        table: Table,
        key: &[u8],
        group: u64,
        found: impl FnOnce(Option<&[u8]>) -> T,
    ) -> Option<T> {
        let shard = self.shard(table, shard_of(table, key));
        let rows = shard.read();
        let version = seen(rows.get(key)?, group)?;
        Some(found(version.value()))
    }

    /// Appends up to `count_max` rows of a range in their state after a group, in either key order.
    pub(crate) fn scan(
        &self,
        table: Table,
        range: &KeyRange<'_>,
        descending: bool,
        group: u64,
        count_max: usize,
        rows: &mut impl Extend<LayerRow>,
    ) {
        let low = match range.from {
            Bound::Included(key) | Bound::Excluded(key) => shard_of(table, key),
            Bound::Unbounded => 0,
        };
        let high = match range.to {
            Bound::Included(key) | Bound::Excluded(key) => shard_of(table, key),
            Bound::Unbounded => u8::MAX,
        };
        let mut left = count_max;
        let filled = &self.filled[table as usize];
        for step in 0..=high.saturating_sub(low) {
            if left == 0 || low > high {
                return;
            }
            let number = if descending { high - step } else { low + step };
            if !filled.holds(number) {
                continue;
            }
            let shard = self.shard(table, number).read();
            let mut within = shard.range(range);
            let mut take = |(key, versions): (&[u8], &[RowVersion])| {
                if let Some(version) = seen(versions, group) {
                    rows.extend([(RowKey::from_slice(key), version.value().map(Box::from))]);
                    left -= 1;
                }
                left > 0
            };
            if descending {
                within.rev().all(&mut take);
            } else {
                within.all(&mut take);
            }
        }
    }

    /// Every row's last write, in the order of tables and keys. Only for a frozen layer.
    pub(crate) fn for_each_last(&self, mut each: impl FnMut(Table, &[u8], Option<&[u8]>)) {
        for (index, shard) in self.shards.iter().enumerate() {
            let rows = shard.read();
            for (key, versions) in rows.range(&KeyRange::ALL) {
                if let Some(last) = versions.last() {
                    each(Table::ALL[index / SHARDS], key, last.value());
                }
            }
        }
    }
}

/// The shard of a key, which never falls from a key to a later one.
fn shard_of(table: Table, key: &[u8]) -> u8 {
    let first = key.first().copied().unwrap_or(0);
    if table != Table::ObjectIndex {
        return first;
    }
    // A list's kind, of which there are three, and the first bits of its id.
    let second = key.get(1).copied().unwrap_or(0);
    match first {
        0..4 => first << 6 | second >> 2,
        _ => u8::MAX,
    }
}
