//! Snapshots: the store as it stood after a commit, readable from any thread for as long as it is
//! held.

use std::sync::{Arc, OnceLock};

use rocksdb::{Direction, IteratorMode, ReadOptions, SnapshotWithThreadMode};
use self_cell::self_cell;

use crate::codec::{self, CodecError};
use crate::rocks::Database;
use crate::tables::Table;
use crate::tables::meta::{APPLIED_KEY, Applied, HEAD_KEY, HeadRow, LogHead};

type Pinned<'a> = SnapshotWithThreadMode<'a, rocksdb::DB>;

self_cell!(
    struct Held {
        owner: Arc<Database>,
        #[covariant]
        dependent: Pinned,
    }
);

/// The store at one moment: its rows, and the log up to where they say that it ends. Cheap to clone; the database
/// stays open while one is held.
#[derive(Clone)]
pub struct Snapshot(Arc<Moment>);

struct Moment {
    held: Held,
    /// Where the log ends, once somebody has asked.
    head: OnceLock<LogHead>,
}

impl Moment {
    fn borrow_owner(&self) -> &Arc<Database> {
        self.held.borrow_owner()
    }

    fn borrow_dependent(&self) -> &Pinned<'_> {
        self.held.borrow_dependent()
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").finish_non_exhaustive()
    }
}

/// Why something could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// RocksDB says so; its text names the file.
    #[error("reading table {}: {text}", .table.name())]
    Rocks {
        /// Where.
        table: Table,
        /// What RocksDB says.
        text: String,
    },
    /// A row is not what its table holds.
    #[error("table {}, key 0x{key}: {source}", .table.name())]
    Row {
        /// Where.
        table: Table,
        /// The row's key, hexadecimal.
        key: String,
        /// What is wrong.
        source: CodecError,
    },
    /// What is asked for stands in segments that were taken out of the log's directory.
    #[error("sequences up to {last_sequence} are archived{}", .place.as_ref().map(|place| format!(": they are in {place}")).unwrap_or_default())]
    Archived {
        /// The last sequence that is not here.
        last_sequence: u64,
        /// Where they are, if that is known.
        place: Option<String>,
    },
    /// The log cannot be read, or lacks something; the text says what and where.
    #[error("the log: {0}")]
    Log(String),
    /// Something that must be there is not.
    #[error("table {}: {what} is missing", .table.name())]
    Missing {
        /// Where.
        table: Table,
        /// What.
        what: String,
    },
}

impl ReadError {
    /// What RocksDB says of a table; the database remembers damage.
    fn rocks(database: &Database, table: Table) -> impl Fn(rocksdb::Error) -> Self {
        move |error| {
            database.note_damage(table, &error);
            Self::Rocks {
                table,
                text: error.into_string(),
            }
        }
    }

    pub(crate) fn row(table: Table, key: &[u8]) -> impl Fn(CodecError) -> Self {
        move |source| Self::Row {
            table,
            key: kedge_protocol::hash::to_hex(key)[2..].to_owned(),
            source,
        }
    }
}

/// A key and its value.
pub type RawRow = (Box<[u8]>, Box<[u8]>);

/// A key and its value, where they lie.
pub(crate) type RowRef<'a> = (&'a [u8], &'a [u8]);

impl Snapshot {
    pub(crate) fn take(database: Arc<Database>) -> Self {
        Self(Arc::new(Moment {
            held: Held::new(database, |database| database.raw().snapshot()),
            head: OnceLock::new(),
        }))
    }

    /// Where the log ends.
    pub fn head(&self) -> Result<LogHead, ReadError> {
        if let Some(head) = self.0.head.get() {
            return Ok(*head);
        }
        let head = self.get(Table::Meta, HEAD_KEY, |bytes| {
            codec::decode::<HeadRow>(bytes).map(LogHead::from)
        })?;
        let head = head.ok_or_else(|| ReadError::Missing {
            table: Table::Meta,
            what: "the log's head".to_owned(),
        })?;
        Ok(*self.0.head.get_or_init(|| head))
    }

    /// Up to which frame of the log everything is applied.
    pub(crate) fn applied(&self) -> Result<Applied, ReadError> {
        let applied = self.get(Table::Meta, APPLIED_KEY, Applied::of_row)?;
        applied.ok_or_else(|| ReadError::Missing {
            table: Table::Meta,
            what: "the last applied frame".to_owned(),
        })
    }

    /// Reads the log.
    pub(crate) fn in_log<T>(
        &self,
        read: impl FnOnce(&kedge_log::LogReader) -> Result<T, kedge_log::ReadError>,
    ) -> Result<T, ReadError> {
        let database = self.0.borrow_owner();
        let log = database
            .log()
            .ok_or_else(|| ReadError::Log("there is no log beside it".to_owned()))?;
        read(log).map_err(|error| {
            database.note_log_damage(&error);
            ReadError::Log(error.to_string())
        })
    }

    /// Reads a value where it lies and gives it to `read`.
    pub(crate) fn get<T>(
        &self,
        table: Table,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> Result<T, CodecError>,
    ) -> Result<Option<T>, ReadError> {
        let database = self.0.borrow_owner();
        self.0
            .borrow_dependent()
            .get_pinned_cf(database.table(table), key)
            .map_err(ReadError::rocks(database, table))?
            .map(|value| read(&value).map_err(ReadError::row(table, key)))
            .transpose()
    }

    /// The index of actions: the part in memory, and the table as it is now. Whatever it says of a
    /// later action than the snapshot's is for the caller to leave out.
    pub(crate) fn indexed_action(&self, id: [u8; 16]) -> Result<Option<u64>, ReadError> {
        let database = self.0.borrow_owner();
        if let Some(sequence) = database.actions().sequence(id) {
            return Ok(Some(sequence));
        }
        let table = Table::Actions;
        database
            .raw()
            .get_pinned_cf(database.table(table), id)
            .map_err(ReadError::rocks(database, table))?
            .map(|value| codec::number(&value).map_err(ReadError::row(table, &id)))
            .transpose()
    }

    /// A value that is a big-endian number.
    pub(crate) fn get_number(&self, table: Table, key: &[u8]) -> Result<Option<u64>, ReadError> {
        self.get(table, key, codec::number)
    }

    /// The values of many keys, in their order.
    pub(crate) fn get_many<const N: usize>(
        &self,
        table: Table,
        keys: &[[u8; N]],
    ) -> Vec<Result<Option<Vec<u8>>, ReadError>> {
        let database = self.0.borrow_owner();
        let family = database.table(table);
        let keys = keys.iter().map(|key| (family, key));
        self.0
            .borrow_dependent()
            .multi_get_cf(keys)
            .into_iter()
            .map(|value| value.map_err(ReadError::rocks(database, table)))
            .collect()
    }

    /// The rows of a table from `from` on, forwards or backwards (then `from` itself or the
    /// nearest below comes first).
    pub(crate) fn rows_from<'a>(
        &'a self,
        table: Table,
        from: &[u8],
        direction: Direction,
    ) -> impl Iterator<Item = Result<RawRow, ReadError>> + use<'a> {
        self.rows(table, IteratorMode::From(from, direction))
    }

    fn rows<'a>(
        &'a self,
        table: Table,
        mode: IteratorMode<'_>,
    ) -> impl Iterator<Item = Result<RawRow, ReadError>> + use<'a> {
        let mut options = ReadOptions::default();
        options.set_total_order_seek(true);
        let database = self.0.borrow_owner();
        self.0
            .borrow_dependent()
            .iterator_cf_opt(database.table(table), options, mode)
            .map(move |row| row.map_err(ReadError::rocks(database, table)))
    }

    /// A cursor over a table, for walks through much of it.
    pub(crate) fn cursor(&self, table: Table) -> Cursor<'_> {
        let mut options = ReadOptions::default();
        options.set_total_order_seek(true);
        // What is read once would only drive out of the cache what is read again.
        options.fill_cache(false);
        options.set_readahead_size(READAHEAD_BYTES);
        let database = self.0.borrow_owner();
        let family = database.table(table);
        let snapshot = self.0.borrow_dependent();
        Cursor {
            database,
            table,
            rows: snapshot.raw_iterator_cf_opt(family, options),
        }
    }

    /// The rows whose keys lie in a range, from either end.
    pub(crate) fn rows_between(
        &self,
        table: Table,
        keys: std::ops::Range<Vec<u8>>,
        descending: bool,
    ) -> impl Iterator<Item = Result<RawRow, ReadError>> + use<'_> {
        let database = self.0.borrow_owner();
        // RocksDB wants the ends in order.
        let rows = (keys.start < keys.end).then(|| {
            let mut options = ReadOptions::default();
            options.set_total_order_seek(true);
            options.set_iterate_range(keys);
            let mode = if descending {
                IteratorMode::End
            } else {
                IteratorMode::Start
            };
            self.0
                .borrow_dependent()
                .iterator_cf_opt(database.table(table), options, mode)
        });
        rows.into_iter()
            .flatten()
            .map(move |row| row.map_err(ReadError::rocks(database, table)))
    }

    /// Every row of a table as it is stored, in key order: for comparing two stores byte by byte.
    pub fn raw_rows(&self, table: Table) -> impl Iterator<Item = Result<RawRow, ReadError>> {
        self.rows(table, IteratorMode::Start)
    }

    /// Whether a table has no row.
    pub fn is_empty(&self, table: Table) -> Result<bool, ReadError> {
        let first = self.rows(table, IteratorMode::Start).next().transpose()?;
        Ok(first.is_none())
    }
}

/// Bytes that a cursor reads at one go.
const READAHEAD_BYTES: usize = 1024 * 1024;

/// Goes along a table in the order of its keys. Rows are read where they lie, none is copied.
pub(crate) struct Cursor<'a> {
    database: &'a Database,
    table: Table,
    rows: rocksdb::DBRawIterator<'a>,
}

impl Cursor<'_> {
    /// Goes to the first row.
    pub(crate) fn seek_to_first(&mut self) {
        self.rows.seek_to_first();
    }

    /// Goes to the first row whose key is `key` or more.
    pub(crate) fn seek(&mut self, key: &[u8]) {
        self.rows.seek(key);
    }

    /// The row that it stands at; `None` behind the last one.
    pub(crate) fn row(&self) -> Result<Option<RowRef<'_>>, ReadError> {
        match self.rows.item() {
            Some(row) => Ok(Some(row)),
            None => self
                .rows
                .status()
                .map(|()| None)
                .map_err(ReadError::rocks(self.database, self.table)),
        }
    }

    /// Goes to the next row.
    pub(crate) fn advance(&mut self) {
        if self.rows.valid() {
            self.rows.next();
        }
    }
}
