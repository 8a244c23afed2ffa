//! Rows that are newer than RocksDB's. RocksDB holds the rows after one frame of the log, and never a state between two
//! frames. The rows of later frames are kept here, in memory, and are flushed in one piece ([`RecentWrites::flush`]). A row
//! that changes a hundred times between two flushes is written once. None of this is durable, because the log has it
//! (adr/0016).
//!
//! The writes between two flushes form a [`RecentLayer`]. A flush freezes the layer, writes it to RocksDB in the order of
//! keys, and drops it when its last reader is done; meanwhile commits write to the next one. Readers look into the
//! layers first, newest first, each in its state after the group of the reader's snapshot.

mod layer;
mod readers;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use rocksdb::{ColumnFamily, FlushOptions, WriteBatch, WriteOptions};

use crate::group::WriteGroup;
use crate::rocks::RocksDatabase;
use crate::snapshot::{RocksRows, StoreSnapshot};
use crate::state::changes::FlushedChanges;
use crate::tables::Table;
use crate::tables::meta::{APPLIED_KEY, AppliedFrame};

pub(crate) use layer::{KeyRange, LayerRow, RecentLayer, RowKey};
use readers::ReaderGroups;
pub(crate) use readers::ReaderGuard;

/// Bound on the bytes that RocksDB adds before a key and a value: the kind, the family, two lengths.
const WRITE_HEADER_BYTES_MAX: usize = 16;

/// The parts of the next snapshot.
struct RecentState {
    base: Arc<RocksRows>,
    /// The layer that is being flushed, or could not be flushed yet.
    frozen: Option<Arc<RecentLayer>>,
    /// The layer that commits write to.
    active: Arc<RecentLayer>,
    /// The last applied group.
    group: u64,
    /// Keeps the rows of that group while they have no other reader.
    reading: ReaderGuard,
}

/// State from one flush to the next.
#[derive(Default)]
struct FlushState {
    /// True if rows in RocksDB's memory could not be written to the disk.
    is_pending: bool,
    /// Flushed layers that may still have readers.
    done: Vec<Arc<RecentLayer>>,
}

/// The rows that are newer than RocksDB's.
pub(crate) struct RecentWrites {
    database: Arc<RocksDatabase>,
    readers: Arc<ReaderGroups>,
    current: Mutex<RecentState>,
    /// Held while a group is written, and while a layer is frozen, so that a layer ends between two groups.
    writing: Mutex<()>,
    flushing: Mutex<FlushState>,
}

impl RecentWrites {
    pub(crate) fn new(database: Arc<RocksDatabase>) -> Self {
        let readers = Arc::<ReaderGroups>::default();
        let current = RecentState {
            base: Arc::new(RocksRows::take(&database)),
            frozen: None,
            active: Arc::default(),
            group: 0,
            reading: readers.begin(0),
        };
        Self {
            database,
            readers,
            current: Mutex::new(current),
            writing: Mutex::default(),
            flushing: Mutex::default(),
        }
    }

    fn current(&self) -> MutexGuard<'_, RecentState> {
        self.current.lock()
    }

    fn writing(&self) -> MutexGuard<'_, ()> {
        self.writing.lock()
    }

    /// The rows after the last group.
    pub(crate) fn snapshot(&self) -> StoreSnapshot {
        let current = self.current();
        let layers = [Some(&current.active), current.frozen.as_ref()];
        let layers = layers
            .into_iter()
            .flatten()
            .filter(|layer| !layer.is_empty());
        StoreSnapshot::over(
            Arc::clone(&current.base),
            layers.cloned().collect(),
            current.group,
            Some(self.readers.begin(current.group)),
        )
    }

    /// Writes the rows of a group, and the last applied frame with them. Returns the rows after it.
    pub(crate) fn apply(&self, group: &WriteGroup, applied: AppliedFrame) -> StoreSnapshot {
        let writing = self.writing();
        let (active, number) = {
            let current = self.current();
            (Arc::clone(&current.active), current.group + 1)
        };
        // A reader that begins meanwhile reads the last group, which is among them.
        let read = self.readers.groups();
        active.write(group.writes(), number, &read);
        let row = applied.to_row();
        let row = [(Table::Meta, APPLIED_KEY, Some(&row[..]))];
        active.write(row.into_iter(), number, &read);
        let mut current = self.current();
        current.group = number;
        current.reading = self.readers.begin(number);
        drop(current);
        drop(writing);
        self.snapshot()
    }

    /// Number of held snapshots.
    pub(crate) fn snapshots(&self) -> usize {
        let held: usize = self.readers.counts().values().sum();
        // One of them is internal.
        held.saturating_sub(1)
    }

    /// Approximate memory that commits have filled since the last flush began.
    pub(crate) fn active_bytes(&self) -> usize {
        self.current().active.len_bytes()
    }

    /// Approximate memory of all layers that are not in RocksDB.
    pub(crate) fn len_bytes(&self) -> usize {
        let current = self.current();
        let frozen = current.frozen.as_ref();
        current.active.len_bytes() + frozen.map_or(0, |layer| layer.len_bytes())
    }

    /// Flushes the rows of every applied group to the disk, along with RocksDB's own memory. After a failure it can be
    /// called again. Returns the number of written rows.
    pub(crate) fn flush(&self) -> Result<usize, rocksdb::Error> {
        let mut flushing = self.flushing.lock();
        let mut rows = 0;
        if flushing.is_pending {
            // RocksDB accepts no second layer into its memory before the first one is on the disk.
            self.check_writable()?;
            self.to_disk()?;
            flushing.is_pending = false;
        }
        let left = self.current().frozen.clone();
        if let Some(left) = left {
            rows += self.flush_layer(&mut flushing, &left)?;
        }
        let frozen = self.freeze();
        rows += self.flush_layer(&mut flushing, &frozen)?;
        Ok(rows)
    }

    fn flush_layer(
        &self,
        flushing: &mut FlushState,
        frozen: &Arc<RecentLayer>,
    ) -> Result<usize, rocksdb::Error> {
        let (batch, rows) = self.batch(frozen);
        self.database.raw().write_opt(batch, &row_writes())?;
        flushing.is_pending = true;
        let base = Arc::new(RocksRows::take(&self.database));
        let mut current = self.current();
        current.base = base;
        current.frozen = None;
        drop(current);
        flushing.done.push(Arc::clone(frozen));
        self.to_disk()?;
        flushing.is_pending = false;
        Ok(rows)
    }

    /// Shows readers rows that were written to RocksDB directly.
    pub(crate) fn rebase(&self) {
        // A newer base is never replaced by an older one.
        let _no_flush = self.flushing.lock();
        let base = Arc::new(RocksRows::take(&self.database));
        self.current().base = base;
    }

    /// Writes rows that no layer has: those that this copy makes from others. No flush runs meanwhile, because RocksDB
    /// promises a whole snapshot only while one thread writes.
    pub(crate) fn write_beside(&self, batch: WriteBatch) -> Result<(), rocksdb::Error> {
        let _no_flush = self.flushing.lock();
        self.database.raw().write_opt(batch, &row_writes())?;
        let base = Arc::new(RocksRows::take(&self.database));
        self.current().base = base;
        Ok(())
    }

    /// Drops the layers without readers here, because dropping a hundred thousand rows would delay a reader.
    pub(crate) fn drop_read(&self) {
        if let Some(mut flushing) = self.flushing.try_lock() {
            flushing.done.retain(|layer| Arc::strong_count(layer) > 1);
        }
    }

    /// Freezes the active layer, and begins the next one.
    fn freeze(&self) -> Arc<RecentLayer> {
        let _between_groups = self.writing();
        let mut current = self.current();
        let frozen = std::mem::take(&mut current.active);
        current.frozen = Some(Arc::clone(&frozen));
        frozen
    }

    fn batch(&self, layer: &RecentLayer) -> (WriteBatch, usize) {
        let rows = layer.len();
        let mut batch = FlushBatch::with_room(&self.database, rows, layer.content_bytes());
        layer.for_each_last(|table, key, value| batch.put(table, key, value));
        (batch.end(), rows)
    }

    /// Fails while RocksDB recovers from a failed flush. A flush requested meanwhile fails too and keeps its background
    /// thread busy for a second, while the recovery waits for that thread to be idle: enough requests would block it
    /// for ever.
    fn check_writable(&self) -> Result<(), rocksdb::Error> {
        let nothing = WriteBatch::default();
        self.database.raw().write_opt(nothing, &row_writes())
    }

    fn to_disk(&self) -> Result<(), rocksdb::Error> {
        let mut options = FlushOptions::default();
        options.set_wait(true);
        let families = self.database.tables();
        self.database.raw().flush_cfs_opt(&families, &options)
    }
}

/// Options for writing rows: no write-ahead log, because the log has them, and hints, because they come in the order of
/// keys and each row's place is found from the previous one's.
pub(crate) fn row_writes() -> WriteOptions {
    let mut options = WriteOptions::default();
    options.disable_wal(true);
    options.set_memtable_insert_hint_per_batch(true);
    options
}

/// Batch of rows for RocksDB.
struct FlushBatch<'a> {
    database: &'a RocksDatabase,
    families: Vec<&'a ColumnFamily>,
    batch: WriteBatch,
    /// The entries of the state that the rows may change, if they are noted.
    changes: Option<FlushedChanges>,
}

impl<'a> FlushBatch<'a> {
    /// Empty, with room for this many rows with this many bytes in total.
    fn with_room(database: &'a RocksDatabase, rows: usize, bytes: usize) -> Self {
        Self {
            database,
            families: database.tables(),
            batch: WriteBatch::with_capacity_bytes(bytes + rows * WRITE_HEADER_BYTES_MAX),
            changes: database.tracks_state().then(FlushedChanges::default),
        }
    }

    fn put(&mut self, table: Table, key: &[u8], value: Option<&[u8]>) {
        let family = self.families[table as usize];
        match value {
            Some(value) => self.batch.put_cf(family, key, value),
            None => self.batch.delete_cf(family, key),
        }
        if let Some(changes) = &mut self.changes {
            changes.note(table, key, value);
        }
    }

    /// The batch, with the changes that its rows make to the state.
    fn end(mut self) -> WriteBatch {
        if let Some(changes) = &self.changes {
            changes.put_into(self.database, &mut self.batch);
        }
        self.batch
    }
}

/// The rows of a group, in the order of tables and keys.
pub(crate) fn write_batch(database: &RocksDatabase, group: &WriteGroup) -> WriteBatch {
    rows_of(database, group).end()
}

fn rows_of<'a>(database: &'a RocksDatabase, group: &WriteGroup) -> FlushBatch<'a> {
    let mut rows = FlushBatch::with_room(database, group.len(), group.len_bytes());
    for (table, key, value) in group.writes() {
        rows.put(table, key, value);
    }
    rows
}

/// The rows of a group for a store without a log, whose changes are numbered by RocksDB's own count of writes.
pub(crate) fn scratch_batch(database: &RocksDatabase, group: &WriteGroup) -> WriteBatch {
    let mut rows = rows_of(database, group);
    if let Some(changes) = &mut rows.changes {
        changes.set_number(database.raw().latest_sequence_number());
    }
    rows.end()
}

/// The rows of a group, and the last applied frame with them.
pub(crate) fn batch_through(
    database: &RocksDatabase,
    group: &WriteGroup,
    applied: AppliedFrame,
) -> WriteBatch {
    let mut rows = rows_of(database, group);
    rows.put(Table::Meta, APPLIED_KEY, Some(&applied.to_row()));
    rows.end()
}
