//! Errors of reading the store.

use crate::action_index::IdFileError;
use crate::codec::CodecError;
use crate::rocks::{RocksDatabase, is_for_now};
use crate::tables::Table;

/// Reason why a read failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreReadError {
    /// RocksDB's error; its text names the file.
    #[error("reading table {}: {text}", .table.name())]
    Rocks { table: Table, text: String },
    /// A row is not in its table's format.
    #[error("table {}, key 0x{key}: {source}", .table.name())]
    Row {
        table: Table,
        /// The row's key, hexadecimal.
        key: String,
        source: CodecError,
    },
    /// A file of action ids cannot be read, or is damaged; the text names it.
    #[error("the ids of actions: {0}")]
    Ids(String),
    /// The requested part is in segments that were removed from the log's directory.
    #[error("sequences up to {last_sequence} are archived{}", .place.as_ref().map(|place| format!(": they are in {place}")).unwrap_or_default())]
    Archived {
        /// The last missing sequence.
        last_sequence: u64,
        /// The first present batch.
        first_batch: u64,
        /// The segments' place, if known.
        place: Option<String>,
    },
    /// The log cannot be read, or lacks a part; the text has the details.
    #[error("the log: {0}")]
    Log(String),
    /// A row that must exist is missing.
    #[error("table {}: {what} is missing", .table.name())]
    Missing { table: Table, what: String },
}

impl StoreReadError {
    /// Whether the system temporarily lacked resources, such as file descriptors: the same read can succeed later.
    pub fn is_for_now(&self) -> bool {
        match self {
            Self::Rocks { text, .. } | Self::Ids(text) | Self::Log(text) => is_for_now(text),
            _ => false,
        }
    }

    /// Maps RocksDB's error about a table; the database remembers damage.
    pub(crate) fn rocks(database: &RocksDatabase, table: Table) -> impl Fn(rocksdb::Error) -> Self {
        move |error| {
            database.note_damage(table, &error);
            Self::Rocks {
                table,
                text: error.into_string(),
            }
        }
    }

    /// Maps an error of the action ids; the database remembers damage.
    pub(crate) fn ids(database: &RocksDatabase) -> impl Fn(IdFileError) -> Self {
        move |error| {
            database.note_index_damage(&error);
            Self::Ids(error.to_string())
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
