//! Snapshots: the store after a commit, readable from any thread for as long as it is held.

mod error;
mod past_resources;
mod rows;

use std::ops::Bound;
use std::sync::{Arc, OnceLock};

use rocksdb::{Direction, IteratorMode, ReadOptions, SnapshotWithThreadMode};
use self_cell::self_cell;

use crate::action_index::IdFile;
use crate::codec::{self, CodecError};
use crate::recent::{ReaderGuard, RecentLayer, RowKey};
use crate::rocks::RocksDatabase;
use crate::tables::Table;
use crate::tables::meta::{APPLIED_KEY, AppliedFrame, HEAD_KEY, LogHead};
use crate::tables::row::BincodeRow;

pub use error::StoreReadError;
pub use past_resources::PastResources;
pub(crate) use rows::TableCursor;
use rows::{MergedRows, RecentRows};

type RocksSnapshot<'a> = SnapshotWithThreadMode<'a, rocksdb::DB>;

self_cell!(
    struct PinnedDatabase {
        owner: Arc<RocksDatabase>,
        #[covariant]
        dependent: RocksSnapshot,
    }
);

/// RocksDB's rows at one moment.
pub(crate) struct RocksRows(PinnedDatabase);

impl RocksRows {
    /// RocksDB's present rows.
    pub(crate) fn take(database: &Arc<RocksDatabase>) -> Self {
        Self(PinnedDatabase::new(Arc::clone(database), |database| {
            database.raw().snapshot()
        }))
    }

    fn database(&self) -> &Arc<RocksDatabase> {
        self.0.borrow_owner()
    }

    fn rows(&self) -> &RocksSnapshot<'_> {
        self.0.borrow_dependent()
    }
}

/// The store at one moment: its rows, and the log up to their head. Cheap to clone; the database stays open while one
/// is held.
#[derive(Clone)]
pub struct StoreSnapshot(Arc<SnapshotState>);

struct SnapshotState {
    base: Arc<RocksRows>,
    /// Layers newer than those rows, newest first.
    layers: Vec<Arc<RecentLayer>>,
    /// The last group whose rows are visible in the layers.
    group: u64,
    /// Keeps those rows from being dropped.
    _reading: Option<ReaderGuard>,
    /// The log's head, cached at the first request.
    head: OnceLock<LogHead>,
}

impl std::fmt::Debug for StoreSnapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").finish_non_exhaustive()
    }
}

/// A key and its value.
pub type RawRow = (Box<[u8]>, Box<[u8]>);

/// A borrowed key and its value.
pub(crate) type RowRef<'a> = (&'a [u8], &'a [u8]);

impl StoreSnapshot {
    /// RocksDB's present rows, for a store without recent ones.
    pub(crate) fn take(database: &Arc<RocksDatabase>) -> Self {
        Self::over(Arc::new(RocksRows::take(database)), Vec::new(), 0, None)
    }

    /// RocksDB's rows, and those of the layers above them, newest first, in their state after a group.
    pub(crate) fn over(
        base: Arc<RocksRows>,
        layers: Vec<Arc<RecentLayer>>,
        group: u64,
        reading: Option<ReaderGuard>,
    ) -> Self {
        Self(Arc::new(SnapshotState {
            base,
            layers,
            group,
            _reading: reading,
            head: OnceLock::new(),
        }))
    }

    /// Whether this is the same snapshot.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn database(&self) -> &Arc<RocksDatabase> {
        self.0.base.database()
    }

    /// Passes a recent row to `found`, if a layer has it.
    fn recent<T>(
        &self,
        table: Table,
        key: &[u8],
        mut found: impl FnMut(Option<&[u8]>) -> T,
    ) -> Option<T> {
        let SnapshotState { layers, group, .. } = &*self.0;
        let mut layers = layers.iter();
        layers.find_map(|layer| layer.get(table, key, *group, &mut found))
    }

    /// The log's head.
    pub fn head(&self) -> Result<LogHead, StoreReadError> {
        if let Some(head) = self.0.head.get() {
            return Ok(*head);
        }
        let head = self.get(Table::Meta, HEAD_KEY, |bytes| {
            codec::decode(bytes).map(|BincodeRow(head)| head)
        })?;
        let head = head.ok_or_else(|| StoreReadError::Missing {
            table: Table::Meta,
            what: "the log's head".to_owned(),
        })?;
        Ok(*self.0.head.get_or_init(|| head))
    }

    /// The last frame whose rows are applied.
    pub(crate) fn applied(&self) -> Result<AppliedFrame, StoreReadError> {
        let applied = self.get(Table::Meta, APPLIED_KEY, AppliedFrame::of_row)?;
        applied.ok_or_else(|| StoreReadError::Missing {
            table: Table::Meta,
            what: "the last applied frame".to_owned(),
        })
    }

    /// Reads the log.
    pub(crate) fn in_log<T>(
        &self,
        read: impl FnOnce(&kedge_log::LogReader) -> Result<T, kedge_log::LogReadError>,
    ) -> Result<T, StoreReadError> {
        let database = self.database();
        let log = database
            .log()
            .ok_or_else(|| StoreReadError::Log("the store has no log".to_owned()))?;
        read(log).map_err(|error| {
            database.note_log_damage(&error);
            StoreReadError::Log(error.to_string())
        })
    }

    /// Reads a value in place and passes it to `read`.
    pub(crate) fn get<T>(
        &self,
        table: Table,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> Result<T, CodecError>,
    ) -> Result<Option<T>, StoreReadError> {
        let database = self.database();
        let mut read = Some(read);
        let recent = self.recent(table, key, |value| {
            value.zip(read.take()).map(|(value, read)| read(value))
        });
        let value = match (recent, read) {
            (Some(value), _) => value,
            (None, None) => None,
            (None, Some(read)) => {
                let rows = self.0.base.rows();
                let value = rows.get_pinned_cf(database.table(table), key);
                let value = value.map_err(StoreReadError::rocks(database, table))?;
                value.map(|value| read(&value))
            }
        };
        value
            .map(|value| value.map_err(StoreReadError::row(table, key)))
            .transpose()
    }

    /// Looks into the present action index. The caller must ignore actions later than the snapshot.
    pub(crate) fn indexed_action(&self, id: [u8; 16]) -> Result<Option<u64>, StoreReadError> {
        let database = self.database();
        let found = database.actions().sequence(id);
        found.map_err(StoreReadError::ids(database))
    }

    /// The files of action ids.
    pub(crate) fn id_files(&self) -> Arc<Vec<Arc<IdFile>>> {
        self.database().actions().files()
    }

    /// The sequence up to which every action's id is in a file; the later ones are in memory.
    pub fn indexed(&self) -> u64 {
        self.database().actions().in_files()
    }

    /// A value that is a big-endian number.
    pub(crate) fn get_number(
        &self,
        table: Table,
        key: &[u8],
    ) -> Result<Option<u64>, StoreReadError> {
        self.get(table, key, codec::number)
    }

    /// The values of many keys, in their order.
    pub(crate) fn get_many<const N: usize>(
        &self,
        table: Table,
        keys: &[[u8; N]],
    ) -> Vec<Result<Option<Vec<u8>>, StoreReadError>> {
        let database = self.database();
        let mut values: Vec<_> = keys
            .iter()
            .map(|key| self.recent(table, key, |value| value.map(<[u8]>::to_vec)))
            .collect();
        let family = database.table(table);
        let others = keys
            .iter()
            .zip(&values)
            .filter(|(_, found)| found.is_none());
        let others = others.map(|(key, _)| (family, key));
        let mut others = self.0.base.rows().multi_get_cf(others).into_iter();
        values
            .iter_mut()
            .map(|found| match found.take() {
                Some(value) => Ok(value),
                // There is one value for each key that was not found.
                None => others
                    .next()
                    .unwrap_or(Ok(None))
                    .map_err(StoreReadError::rocks(database, table)),
            })
            .collect()
    }

    /// The rows of a table from `from` on, forwards or backwards (then `from` or the nearest key below it comes first).
    pub(crate) fn rows_from<'a>(
        &'a self,
        table: Table,
        from: &[u8],
        direction: Direction,
    ) -> impl Iterator<Item = Result<RawRow, StoreReadError>> + use<'a> {
        let descending = matches!(direction, Direction::Reverse);
        let from_here = Bound::Included(RowKey::from_slice(from));
        let bounds = if descending {
            (Bound::Unbounded, from_here)
        } else {
            (from_here, Bound::Unbounded)
        };
        let base = self.base_rows(table, IteratorMode::From(from, direction), in_order());
        MergedRows::new(base, self.recent_rows(table, bounds, descending))
    }

    fn base_rows<'a>(
        &'a self,
        table: Table,
        mode: IteratorMode<'_>,
        options: ReadOptions,
    ) -> impl Iterator<Item = Result<RawRow, StoreReadError>> + use<'a> {
        let database = self.database();
        self.0
            .base
            .rows()
            .iterator_cf_opt(database.table(table), options, mode)
            .map(move |row| row.map_err(StoreReadError::rocks(database, table)))
    }

    fn recent_rows(
        &self,
        table: Table,
        bounds: (Bound<RowKey>, Bound<RowKey>),
        descending: bool,
    ) -> RecentRows<'_> {
        let SnapshotState { layers, group, .. } = &*self.0;
        RecentRows::new(layers, table, *group, bounds, descending)
    }

    /// About how many rows RocksDB has of a table.
    ///
    /// # Errors
    /// RocksDB does not say.
    pub(crate) fn estimated_rows(&self, table: Table) -> Result<u64, StoreReadError> {
        let database = self.database();
        let family = database.table(table);
        let count = database
            .raw()
            .property_int_value_cf(family, rocksdb::properties::ESTIMATE_NUM_KEYS)
            .map_err(StoreReadError::rocks(database, table))?;
        Ok(count.unwrap_or(0))
    }

    /// A cursor over a table, for walks through large parts of it.
    pub(crate) fn cursor(&self, table: Table) -> TableCursor<'_> {
        let mut options = in_order();
        // A single read must not evict rows that are read repeatedly from the cache.
        options.fill_cache(false);
        options.set_readahead_size(READAHEAD_BYTES);
        let family = self.database().table(table);
        let base = self.0.base.rows().raw_iterator_cf_opt(family, options);
        TableCursor::new(self, table, base)
    }

    /// A cursor over a table, for many reads of rows at or after rising keys. Blocks that are read once do not push others
    /// out of the cache.
    pub(crate) fn strider(&self, table: Table) -> TableCursor<'_> {
        let mut options = in_order();
        options.fill_cache(false);
        let family = self.database().table(table);
        let base = self.0.base.rows().raw_iterator_cf_opt(family, options);
        TableCursor::new(self, table, base)
    }

    /// A cursor over a table, for reads of single rows at or after a key.
    pub(crate) fn seeker(&self, table: Table) -> TableCursor<'_> {
        let family = self.database().table(table);
        let base = self.0.base.rows().raw_iterator_cf_opt(family, in_order());
        TableCursor::new(self, table, base)
    }

    /// The rows whose keys lie in a range, from either end.
    pub(crate) fn rows_between(
        &self,
        table: Table,
        keys: std::ops::Range<Vec<u8>>,
        descending: bool,
    ) -> impl Iterator<Item = Result<RawRow, StoreReadError>> + use<'_> {
        // RocksDB requires the ends in order.
        let rows = (keys.start < keys.end).then(|| {
            let bounds = (
                Bound::Included(RowKey::from_slice(&keys.start)),
                Bound::Excluded(RowKey::from_slice(&keys.end)),
            );
            let mut options = in_order();
            options.set_iterate_range(keys);
            let mode = if descending {
                IteratorMode::End
            } else {
                IteratorMode::Start
            };
            let base = self.base_rows(table, mode, options);
            MergedRows::new(base, self.recent_rows(table, bounds, descending))
        });
        rows.into_iter().flatten()
    }

    /// Every row of a table in its stored form, in key order, for comparing two stores byte by byte.
    pub fn raw_rows(&self, table: Table) -> impl Iterator<Item = Result<RawRow, StoreReadError>> {
        let all = (Bound::Unbounded, Bound::Unbounded);
        let base = self.base_rows(table, IteratorMode::Start, in_order());
        MergedRows::new(base, self.recent_rows(table, all, false))
    }

    /// Whether a table has no row.
    pub fn is_empty(&self, table: Table) -> Result<bool, StoreReadError> {
        let first = self.raw_rows(table).next().transpose()?;
        Ok(first.is_none())
    }
}

/// Options for reads in key order, whatever the table is built for.
fn in_order() -> ReadOptions {
    let mut options = ReadOptions::default();
    options.set_total_order_seek(true);
    options
}

/// Read-ahead of a cursor.
const READAHEAD_BYTES: usize = 1024 * 1024;
