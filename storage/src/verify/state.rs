//! Two stores' state tables, held against each other.

use crate::snapshot::{ReadError, Snapshot};
use crate::tables::Table;

/// Where two stores differ.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Difference {
    /// A row is in one only, or holds other bytes.
    #[error("table {}: the rows under key 0x{key} differ", .table.name())]
    Row {
        /// Where.
        table: Table,
        /// The first key that differs, hexadecimal.
        key: String,
    },
    /// One of them cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl Difference {
    pub(crate) fn row(table: Table, key: &[u8]) -> Self {
        Self::Row {
            table,
            key: kedge_protocol::hash::to_hex(key)[2..].to_owned(),
        }
    }
}

/// Holds the state tables of two stores against each other, byte by byte: those of a store, and
/// those that a replay of its log has made in an empty one.
pub fn compare_state(one: &Snapshot, other: &Snapshot) -> Result<(), Difference> {
    compare_tables(one, other, Table::STATE)
}

/// Holds tables of two stores against each other, byte by byte.
pub fn compare_tables(
    one: &Snapshot,
    other: &Snapshot,
    tables: &[Table],
) -> Result<(), Difference> {
    for &table in tables {
        let (mut ours, mut theirs) = (one.cursor(table), other.cursor(table));
        ours.seek_to_first();
        theirs.seek_to_first();
        loop {
            let (our, their) = (ours.row()?, theirs.row()?);
            if our != their {
                let key = our.into_iter().chain(their).map(|(key, _)| key).min();
                return Err(Difference::row(table, key.unwrap_or_default()));
            }
            if our.is_none() {
                break;
            }
            ours.advance();
            theirs.advance();
        }
    }
    Ok(())
}
