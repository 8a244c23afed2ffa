//! RocksDB's setup, and the one handle to it.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamily, ColumnFamilyDescriptor, CompactionDecision, DB,
    DBCompressionType, ErrorKind, LogLevel, Options as RocksOptions,
};

use kedge_log::LogReader;
use kedge_runtime::env::{is_scarce, open_files_max};

use crate::action_index::{ActionIndex, FileError};
use crate::metric_definitions::READ_ONLY;
use crate::tables::{Shape, Table, expiry};

/// What to do if tables are damaged.
pub(crate) const WHAT_TO_DO: &str = "Every row follows from the log: stop the server and run `kedge rebuild` to rebuild the store from it";

/// What an open store may use, and where it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) block_cache_bytes: usize,
    pub(crate) memtable_bytes: usize,
}

/// What time it is at the least: that of the log's last batch, Unix seconds. Expiring rows go by it and not by the
/// system's clock, which may be wrong. Until somebody has read where the log ends it is 0, and nothing expires.
#[derive(Clone, Default, Debug)]
pub(crate) struct LogTime(Arc<AtomicU64>);

impl LogTime {
    /// The log ends with a batch of this time.
    pub(crate) fn reached(&self, sealed_at_ms: u64) {
        self.0.fetch_max(sealed_at_ms / 1_000, Ordering::Relaxed);
    }

    /// Whether a row with this time of expiry is over.
    fn is_past(&self, until_s: u64) -> bool {
        until_s < self.0.load(Ordering::Relaxed)
    }
}

/// The opened database; every table is there.
pub(crate) struct Database {
    db: DB,
    actions: ActionIndex,
    time: LogTime,
    /// The log that the rows follow from; a scratch database has none.
    log: OnceLock<LogReader>,
    /// What was found damaged first.
    damage: OnceLock<String>,
}

/// How a database is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// To be written to; it must be there.
    Write,
    /// To be written to; made if it is not there.
    Create,
    /// To be read; nothing is changed.
    Read,
    /// To be read although some of its files are missing or damaged.
    Lenient,
}

impl Database {
    pub(crate) fn open(
        path: &Path,
        budget: Budget,
        access: Access,
        actions: ActionIndex,
    ) -> Result<Self, rocksdb::Error> {
        let cache = Cache::new_lru_cache(budget.block_cache_bytes);
        let mut options = database_options(budget, access == Access::Create);
        options.set_paranoid_checks(access != Access::Lenient);
        let time = LogTime::default();
        let tables = Table::ALL
            .iter()
            .map(|&table| {
                let options = table_options(table, budget, &cache, &time);
                ColumnFamilyDescriptor::new(table.name(), options)
            })
            // RocksDB wants its own default family named too; nothing is in it.
            .chain([ColumnFamilyDescriptor::new(
                rocksdb::DEFAULT_COLUMN_FAMILY_NAME,
                memory_options(budget),
            )]);
        match access {
            Access::Read | Access::Lenient => {
                DB::open_cf_descriptors_read_only(&options, path, tables, false)
            }
            Access::Write | Access::Create => DB::open_cf_descriptors(&options, path, tables),
        }
        .map(|db| Self {
            db,
            actions,
            time: time.clone(),
            log: OnceLock::new(),
            damage: OnceLock::new(),
        })
    }

    /// Says which log the rows follow from; only the first one counts.
    pub(crate) fn set_log(&self, log: LogReader) {
        // It is set once, by whoever opens the database.
        let _ = self.log.set(log);
    }

    /// The log that the rows follow from.
    pub(crate) fn log(&self) -> Option<&LogReader> {
        self.log.get()
    }

    /// Notes that the log could not be read. What the system lacks for now is no damage.
    pub(crate) fn note_log_damage(&self, error: &kedge_log::ReadError) {
        let is_missing = matches!(error, kedge_log::ReadError::Missing { .. });
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

    /// Notes that a table could not be read: what was acknowledged may be in it.
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

    /// Notes that the ids of actions could not be read.
    pub(crate) fn note_index_damage(&self, error: &FileError) {
        if matches!(error, FileError::Io { source, .. } if is_scarce(source)) {
            return;
        }
        self.set_damage(format!(
            "the ids of actions cannot be read: {error}. {WHAT_TO_DO}"
        ));
    }

    /// What was found damaged since the store was opened.
    pub(crate) fn damage(&self) -> Option<&str> {
        self.damage.get().map(String::as_str)
    }

    pub(crate) fn raw(&self) -> &DB {
        &self.db
    }

    /// The index of actions.
    pub(crate) fn actions(&self) -> &ActionIndex {
        &self.actions
    }

    /// The families of all tables, in the order of their numbers.
    pub(crate) fn tables(&self) -> Vec<&ColumnFamily> {
        let tables = Table::ALL.iter();
        tables.map(|&table| self.table(table)).collect()
    }

    pub(crate) fn table(&self, table: Table) -> &ColumnFamily {
        self.db
            .cf_handle(table.name())
            .expect("every table is opened with the database")
    }
}

/// Whether a text of RocksDB says that a disk or a quota is full.
pub(crate) fn is_no_space(text: &str) -> bool {
    text.contains("No space left on device") || text.contains("Disk quota exceeded")
}

/// What the system says of an error that can be over soon: of RocksDB's errors the text is all there is.
const FOR_NOW: [&str; 4] = [
    "Too many open files",
    "Cannot allocate memory",
    "Resource temporarily unavailable",
    "Interrupted system call",
];

/// Whether a text says that the system lacked something for now, so that the same read can succeed later.
pub(crate) fn is_for_now(text: &str) -> bool {
    FOR_NOW.iter().any(|lack| text.contains(lack))
}

/// Files of tables that RocksDB may have open, of so many that the process may have open in all.
pub fn table_files_max(open_files_max: u64) -> u64 {
    (open_files_max / 4).clamp(TABLE_FILES.0, TABLE_FILES.1)
}

/// The fewest files of tables that may be open, and the most.
const TABLE_FILES: (u64, u64) = (128, 1_024);

fn database_options(budget: Budget, create: bool) -> RocksOptions {
    let mut options = RocksOptions::default();
    options.create_if_missing(create);
    options.create_missing_column_families(true);
    // There is no write-ahead log (`Store::apply`): what is not flushed is applied again from the log. All tables
    // reach the disk together, with the row that says up to which frame.
    options.set_atomic_flush(true);
    // With one writer nothing is out of order. It is this way of writing that takes hints for where the
    // next row goes.
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

fn compression(shape: Shape) -> DBCompressionType {
    if shape.text {
        DBCompressionType::Lz4
    } else {
        DBCompressionType::None
    }
}

fn block_options(shape: Shape) -> BlockBasedOptions {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_size(shape.block_kilobytes * 1024);
    if shape.points {
        blocks.set_bloom_filter(10.0, false);
    }
    blocks
}

fn table_options(table: Table, budget: Budget, cache: &Cache, time: &LogTime) -> RocksOptions {
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
    options.set_compression_type(compression(shape));
    if table.grows_with_mints() {
        options.set_level_zero_file_num_compaction_trigger(GROWING_FLUSHES);
        let mut levels = [compression(shape); LEVELS];
        // What was just flushed is soon read and written again.
        levels[0] = DBCompressionType::None;
        options.set_compression_per_level(&levels);
    }
    options
}

/// RocksDB's own number of levels.
const LEVELS: usize = 7;

/// So many flushed files of a growing table are merged at once. With each merge the first level's files are written
/// again, and RocksDB's own four files mean twice as many merges. A read looks into the filter of each.
const GROWING_FLUSHES: i32 = 8;

/// How old a file of expiring rows may get before it is looked through.
const EXPIRED_LOOK_S: u64 = 24 * 60 * 60;

fn drop_expired(time: &LogTime, row: &[u8]) -> CompactionDecision {
    match expiry(row) {
        Some((until_s, _)) if time.is_past(until_s) => CompactionDecision::Remove,
        _ => CompactionDecision::Keep,
    }
}

/// The bounds of a family's rows in memory.
fn memory_options(budget: Budget) -> RocksOptions {
    let mut options = RocksOptions::default();
    // The shared bound (db_write_buffer_size) flushes. This one is also the room that RocksDB
    // wants to see before it continues after a full disk. Small arenas keep twenty tables from
    // filling the bound with air.
    options.set_write_buffer_size(budget.memtable_bytes);
    options.set_max_write_buffer_number(4);
    options.set_arena_block_size(128 * 1024);
    options
}
