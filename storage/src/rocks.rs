//! RocksDB's configuration, and the one handle to it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamily, ColumnFamilyDescriptor, CompactionDecision, DB,
    DBCompressionType, ErrorKind, LogLevel, Options as RocksOptions,
};

use kedge_log::LogReader;
use kedge_runtime::env::{is_scarce, open_files_max};

use crate::action_index::{ActionIndex, IdFileError};
use crate::metric_definitions::READ_ONLY;
use crate::state::places::PlaceCache;
use crate::state::pruning::{KeptVersions, VersionFilters};
use crate::tables::{Table, TableShape, expiry};

/// Remedy for damaged tables.
pub(crate) const WHAT_TO_DO: &str = "Every row follows from the log: stop the server and run `kedge rebuild` to rebuild the store from it";

/// Memory of an open store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RocksBudget {
    pub(crate) block_cache_bytes: usize,
    pub(crate) memtable_bytes: usize,
}

/// Lower bound on the time: that of the log's last batch, Unix seconds. Rows expire by it and not by the system's
/// clock, which may be wrong. Until the log's end is known it is 0, and nothing expires.
#[derive(Clone, Default, Debug)]
pub(crate) struct LogTime(Arc<AtomicU64>);

impl LogTime {
    /// Advances to the time of the log's last batch.
    pub(crate) fn reached(&self, sealed_at_ms: u64) {
        self.0.fetch_max(sealed_at_ms / 1_000, Ordering::Relaxed);
    }

    /// Whether a row with this expiry has expired.
    fn is_past(&self, until_s: u64) -> bool {
        until_s < self.0.load(Ordering::Relaxed)
    }
}

/// Open database with every table.
pub(crate) struct RocksDatabase {
    db: DB,
    actions: ActionIndex,
    time: LogTime,
    /// The log that the rows follow from; a scratch database has none.
    log: OnceLock<LogReader>,
    /// The first damage found.
    damage: OnceLock<String>,
    /// Whether flushes note which entries of the state change.
    tracks_state: AtomicBool,
    kept_versions: KeptVersions,
    proven_places: PlaceCache,
}

/// How a database is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DatabaseAccess {
    /// For writing; it must exist.
    Write,
    /// For writing; created if absent.
    Create,
    /// For reading; nothing is changed.
    Read,
    /// For reading, although some of its files are missing or damaged.
    Lenient,
}

impl RocksDatabase {
    pub(crate) fn open(
        path: &Path,
        budget: RocksBudget,
        access: DatabaseAccess,
        actions: ActionIndex,
    ) -> Result<Self, rocksdb::Error> {
        let cache = Cache::new_lru_cache(budget.block_cache_bytes);
        let mut options = database_options(budget, access == DatabaseAccess::Create);
        options.set_paranoid_checks(access != DatabaseAccess::Lenient);
        let time = LogTime::default();
        let kept_versions = KeptVersions::default();
        let is_read = matches!(access, DatabaseAccess::Read | DatabaseAccess::Lenient);
        let present = if is_read {
            Some(DB::list_cf(&options, path)?)
        } else {
            None
        };
        // A store of an earlier format has fewer tables.
        let is_there = |table: &&Table| {
            present
                .as_ref()
                .is_none_or(|present| present.iter().any(|name| name == table.name()))
        };
        let tables = Table::ALL
            .iter()
            .filter(is_there)
            .map(|&table| {
                let options = table_options(table, budget, &cache, (&time, &kept_versions));
                ColumnFamilyDescriptor::new(table.name(), options)
            })
            // RocksDB also requires its default family, which stays empty.
            .chain([ColumnFamilyDescriptor::new(
                rocksdb::DEFAULT_COLUMN_FAMILY_NAME,
                memory_options(budget),
            )]);
        match access {
            DatabaseAccess::Read | DatabaseAccess::Lenient => {
                DB::open_cf_descriptors_read_only(&options, path, tables, false)
            }
            DatabaseAccess::Write | DatabaseAccess::Create => {
                DB::open_cf_descriptors(&options, path, tables)
            }
        }
        .and_then(|db| {
            let database = Self {
                db,
                actions,
                time: time.clone(),
                log: OnceLock::new(),
                damage: OnceLock::new(),
                tracks_state: AtomicBool::new(false),
                kept_versions: kept_versions.clone(),
                proven_places: PlaceCache::default(),
            };
            // A store that is read flushes nothing, and its files are not checked yet.
            if !is_read && database.has_root()? {
                database.track_state();
            }
            Ok(database)
        })
    }

    /// Whether the rows have a root.
    fn has_root(&self) -> Result<bool, rocksdb::Error> {
        let mut roots = self.db.raw_iterator_cf(self.table(Table::StateRoots));
        roots.seek_to_first();
        roots.status()?;
        Ok(roots.valid())
    }

    /// Whether flushes note which entries of the state change.
    pub(crate) fn tracks_state(&self) -> bool {
        self.tracks_state.load(Ordering::Acquire)
    }

    /// Makes flushes note which entries of the state change.
    pub(crate) fn track_state(&self) {
        self.tracks_state.store(true, Ordering::Release);
    }

    /// The versions of the state that are not dropped.
    pub(crate) fn kept_versions(&self) -> &KeptVersions {
        &self.kept_versions
    }

    /// Places that proofs of the state went through.
    pub(crate) fn proven_places(&self) -> &PlaceCache {
        &self.proven_places
    }

    /// Sets the log that the rows follow from, once.
    pub(crate) fn set_log(&self, log: LogReader) {
        // The opening sets it once.
        let _ = self.log.set(log);
    }

    /// The log that the rows follow from.
    pub(crate) fn log(&self) -> Option<&LogReader> {
        self.log.get()
    }

    /// Notes that the log could not be read. A temporary lack of resources is no damage.
    pub(crate) fn note_log_damage(&self, error: &kedge_log::LogReadError) {
        let is_missing = matches!(error, kedge_log::LogReadError::Missing { .. });
        if !is_missing && !error.is_for_now() {
            self.set_damage(format!(
                "the log cannot be read: {error}. Restore the newest backup; run `kedge verify log` for details"
            ));
        }
    }

    fn set_damage(&self, text: String) {
        if self.damage.set(text).is_ok() {
            let text = self.damage();
            tracing::error!(text, "the store is damaged; it is read-only from now on");
            metrics::gauge!(READ_ONLY).set(1.0);
        }
    }

    /// The time that expiring rows go by.
    pub(crate) fn time(&self) -> &LogTime {
        &self.time
    }

    /// Notes that a table could not be read: acknowledged rows may be in it.
    pub(crate) fn note_damage(&self, table: Table, error: &rocksdb::Error) {
        let is_damage = match error.kind() {
            ErrorKind::Corruption => true,
            ErrorKind::IOError => !is_for_now(error.as_ref()),
            _ => false,
        };
        if is_damage {
            self.set_damage(format!(
                "the table {} cannot be read: {error}. {}",
                table.name(),
                WHAT_TO_DO
            ));
        }
    }

    /// Notes that the action ids could not be read.
    pub(crate) fn note_index_damage(&self, error: &IdFileError) {
        if matches!(error, IdFileError::Io { source, .. } if is_scarce(source)) {
            return;
        }
        self.set_damage(format!(
            "the ids of actions cannot be read: {error}. {WHAT_TO_DO}"
        ));
    }

    /// The first damage found since the store was opened.
    pub(crate) fn damage(&self) -> Option<&str> {
        self.damage.get().map(String::as_str)
    }

    pub(crate) fn raw(&self) -> &DB {
        &self.db
    }

    pub(crate) fn actions(&self) -> &ActionIndex {
        &self.actions
    }

    /// The families of all tables, in the order of their numbers.
    pub(crate) fn tables(&self) -> Vec<&ColumnFamily> {
        let tables = Table::ALL.iter();
        tables.map(|&table| self.table(table)).collect()
    }

    /// Tables that the store does not have.
    pub(crate) fn missing_tables(&self) -> impl Iterator<Item = Table> {
        let tables = Table::ALL.iter().copied();
        tables.filter(|table| self.db.cf_handle(table.name()).is_none())
    }

    /// The family of a table. A store of an earlier format that is opened for reading may lack one: then it is RocksDB's
    /// default family, which stays empty.
    pub(crate) fn table(&self, table: Table) -> &ColumnFamily {
        let default = rocksdb::DEFAULT_COLUMN_FAMILY_NAME;
        self.db
            .cf_handle(table.name())
            .or_else(|| self.db.cf_handle(default))
            .expect("the default family is opened with the database")
    }
}

/// Whether a text of RocksDB says that a disk or a quota is full.
pub(crate) fn is_no_space(text: &str) -> bool {
    text.contains("No space left on device") || text.contains("Disk quota exceeded")
}

/// The system's messages for errors that may pass: RocksDB's errors have only a text.
const FOR_NOW: [&str; 4] = [
    "Too many open files",
    "Cannot allocate memory",
    "Resource temporarily unavailable",
    "Interrupted system call",
];

/// Whether a text reports a temporary lack of resources, after which the same read can succeed.
pub(crate) fn is_for_now(text: &str) -> bool {
    FOR_NOW.iter().any(|lack| text.contains(lack))
}

/// How many of the process's `open_files_max` RocksDB may use for table files.
pub fn table_files_max(open_files_max: u64) -> u64 {
    (open_files_max / 4).clamp(TABLE_FILES.0, TABLE_FILES.1)
}

/// Smallest and largest number of open table files.
const TABLE_FILES: (u64, u64) = (128, 1_024);

fn database_options(budget: RocksBudget, create: bool) -> RocksOptions {
    let mut options = RocksOptions::default();
    options.create_if_missing(create);
    options.create_missing_column_families(true);
    // There is no write-ahead log (`Store::apply`): rows that are not flushed are applied again from the log. All
    // tables reach the disk together, with the row that names the applied frame.
    options.set_atomic_flush(true);
    // With one writer nothing is out of order. Only this way of writing takes hints for the next row's place.
    options.set_unordered_write(true);
    options.set_db_write_buffer_size(budget.memtable_bytes);
    let table_files = open_files_max().map_or(TABLE_FILES.1, table_files_max);
    options.set_max_open_files(table_files as i32);
    options.set_max_background_jobs(2);
    options.set_bytes_per_sync(1024 * 1024);
    options.set_log_level(LogLevel::Warn);
    options.set_max_log_file_size(4 * 1024 * 1024);
    options.set_keep_log_file_num(4);
    options.set_stats_dump_period_sec(0);
    options.set_stats_persist_period_sec(0);
    options
}

fn compression(shape: TableShape) -> DBCompressionType {
    if shape.text {
        DBCompressionType::Lz4
    } else {
        DBCompressionType::None
    }
}

fn block_options(shape: TableShape) -> BlockBasedOptions {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_size(shape.block_kilobytes * 1024);
    if shape.points {
        blocks.set_bloom_filter(10.0, false);
    }
    blocks
}

fn table_options(
    table: Table,
    budget: RocksBudget,
    cache: &Cache,
    (time, kept): (&LogTime, &KeptVersions),
) -> RocksOptions {
    let shape = table.shape();
    let mut blocks = block_options(shape);
    blocks.set_block_cache(cache);
    blocks.set_cache_index_and_filter_blocks(true);
    blocks.set_pin_l0_filter_and_index_blocks_in_cache(true);
    let mut options = memory_options(budget);
    options.set_block_based_table_factory(&blocks);
    if table.expires() {
        let time = time.clone();
        options.set_compaction_filter("expired", move |_level, _key, row| drop_expired(&time, row));
        options.set_periodic_compaction_seconds(EXPIRED_LOOK_S);
    }
    if table.has_versions() {
        options.set_compaction_filter_factory(VersionFilters(kept.clone()));
        options.set_periodic_compaction_seconds(EXPIRED_LOOK_S);
    }
    options.set_compression_type(compression(shape));
    if table.grows_with_mints() {
        options.set_level_zero_file_num_compaction_trigger(GROWING_FLUSHES);
        let mut levels = [compression(shape); LEVELS];
        // Freshly flushed files are soon read and written again.
        levels[0] = DBCompressionType::None;
        options.set_compression_per_level(&levels);
    }
    options
}

/// RocksDB's own number of levels.
const LEVELS: usize = 7;

/// Number of flushed files of a growing table that are merged together. Each merge writes the first level's files
/// again, and RocksDB's default of four would double the merges. A read checks the filter of each.
const GROWING_FLUSHES: i32 = 8;

/// Age of a file of expiring rows, or of versions, at which it is compacted.
const EXPIRED_LOOK_S: u64 = 24 * 60 * 60;

fn drop_expired(time: &LogTime, row: &[u8]) -> CompactionDecision {
    match expiry(row) {
        Some((until_s, _)) if time.is_past(until_s) => CompactionDecision::Remove,
        _ => CompactionDecision::Keep,
    }
}

/// Memory bounds of a family's rows.
fn memory_options(budget: RocksBudget) -> RocksOptions {
    let mut options = RocksOptions::default();
    // The shared bound (db_write_buffer_size) triggers flushes. This one is also the room that RocksDB requires before
    // it continues after a full disk. Small arenas keep twenty tables from filling the bound with unused memory.
    options.set_write_buffer_size(budget.memtable_bytes);
    options.set_max_write_buffer_number(4);
    options.set_arena_block_size(128 * 1024);
    options
}
