//! Comparison of two stores' tables.

use crate::snapshot::{RawRow, StoreReadError, StoreSnapshot};
use crate::tables::{Table, expiry};

/// Difference between two stores.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreDifference {
    /// A row is in only one of them, or holds other bytes.
    #[error("table {}: the rows under key 0x{key} differ", .table.name())]
    Row {
        table: Table,
        /// The first key that differs, hexadecimal.
        key: String,
    },
    /// An action has another id, or is only in one of them.
    #[error("the ids of actions: 0x{id} is only in one of them")]
    Id {
        /// The first id that differs, hexadecimal.
        id: String,
    },
    /// One of them cannot be read.
    #[error(transparent)]
    Read(#[from] StoreReadError),
}

impl StoreDifference {
    pub(crate) fn row(table: Table, key: &[u8]) -> Self {
        Self::Row {
            table,
            key: kedge_protocol::hash::to_hex(key)[2..].to_owned(),
        }
    }
}

/// Compares the state tables of two stores byte by byte: a store's, and the ones of a replay of its log into an empty
/// store.
pub fn compare_state(one: &StoreSnapshot, other: &StoreSnapshot) -> Result<(), StoreDifference> {
    let state = Table::ALL.iter().copied().filter(|table| table.is_state());
    compare_tables(one, other, &state.collect::<Vec<_>>())
}

/// Compares tables of two stores byte by byte.
pub fn compare_tables(
    one: &StoreSnapshot,
    other: &StoreSnapshot,
    tables: &[Table],
) -> Result<(), StoreDifference> {
    for &table in tables {
        let (mut ours, mut theirs) = (one.cursor(table), other.cursor(table));
        ours.seek_to_first();
        theirs.seek_to_first();
        loop {
            let (our, their) = (ours.row()?, theirs.row()?);
            if our != their {
                let key = our.into_iter().chain(their).map(|(key, _)| key).min();
                return Err(StoreDifference::row(table, key.unwrap_or_default()));
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

/// Compares a store with one made from its log alone: every row of every table, including those of side entries. Only
/// expired rows may differ: each store drops these in its own time.
///
/// # Errors
/// [`StoreDifference`] names the first row that differs.
pub fn compare_remade(live: &StoreSnapshot, made: &StoreSnapshot) -> Result<(), StoreDifference> {
    let now_s = live.head()?.last_sealed_at_ms / 1_000;
    let is_expired = |table: Table, row: &[u8]| {
        table.expires() && expiry(row).is_some_and(|(until_s, _)| until_s < now_s)
    };
    for &table in Table::ALL.iter().filter(|table| !table.is_of_copy()) {
        let rows = |snapshot: &StoreSnapshot| -> Result<Vec<RawRow>, StoreReadError> {
            let rows = snapshot.raw_rows(table).filter(|row| {
                row.as_ref()
                    .map_or(true, |(_, value)| !is_expired(table, value))
            });
            rows.collect()
        };
        let (ours, theirs) = (rows(live)?, rows(made)?);
        let same = ours
            .iter()
            .zip(&theirs)
            .take_while(|(our, their)| our == their);
        let count = same.count();
        let key = ours.get(count).into_iter().chain(theirs.get(count));
        if let Some(key) = key.map(|(key, _)| key).min() {
            return Err(StoreDifference::row(table, key));
        }
    }
    Ok(())
}
