//! The writes of a group, as they are gathered and as they go to the store.

use crate::tables::Table;

/// One write: where its key is in the bytes; its value follows the key.
#[derive(Clone, Copy)]
struct Operation {
    table: Table,
    start: usize,
    key_bytes: usize,
    /// `None` deletes.
    value_bytes: Option<usize>,
}

/// Writes, with their keys and values in sequence.
#[derive(Default)]
pub(super) struct Writes {
    operations: Vec<Operation>,
    bytes: Vec<u8>,
}

impl Writes {
    pub(super) fn with_capacity_bytes(capacity_bytes: usize) -> Self {
        Self {
            operations: Vec::new(),
            bytes: Vec::with_capacity(capacity_bytes),
        }
    }

    pub(super) fn clear(&mut self) {
        self.operations.clear();
        self.bytes.clear();
    }

    pub(super) fn len_bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn len(&self) -> usize {
        self.operations.len()
    }

    pub(super) fn put_with(&mut self, table: Table, key: &[u8], value: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        value(&mut self.bytes);
        self.operations.push(Operation {
            table,
            start,
            key_bytes: key.len(),
            value_bytes: Some(self.bytes.len() - key_end),
        });
    }

    pub(super) fn delete(&mut self, table: Table, key: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.operations.push(Operation {
            table,
            start,
            key_bytes: key.len(),
            value_bytes: None,
        });
    }

    /// The value that was written last; `None` if that was a deletion.
    pub(super) fn last_value(&self) -> Option<&[u8]> {
        self.value(self.operations.last()?)
    }

    /// Each row's last write, in the order of tables and keys: table, key, and the value, which is `None` if the row is
    /// deleted. No key is empty, so no two writes begin at one place. In this order a row's place in a table of 100,000
    /// is found from the previous row's place.
    pub(super) fn in_order(&self) -> impl Iterator<Item = (Table, &[u8], Option<&[u8]>)> {
        let mut order: Vec<(u8, u64, &Operation)> = self
            .operations
            .iter()
            .map(|write| (write.table as u8, first_8(self.key(write)), write))
            .collect();
        order.sort_unstable_by(|(table, first, write), (other_table, other_first, other)| {
            (table, first)
                .cmp(&(other_table, other_first))
                .then_with(|| self.key(write).cmp(self.key(other)))
                .then(write.start.cmp(&other.start))
        });
        let mut order = order.into_iter().map(|(_, _, write)| write).peekable();
        std::iter::from_fn(move || {
            loop {
                let write = order.next()?;
                let again = order.peek().is_some_and(|next| {
                    next.table == write.table && self.key(next) == self.key(write)
                });
                if !again {
                    return Some((write.table, self.key(write), self.value(write)));
                }
            }
        })
    }

    fn key(&self, write: &Operation) -> &[u8] {
        &self.bytes[write.start..write.start + write.key_bytes]
    }

    fn value(&self, write: &Operation) -> Option<&[u8]> {
        let start = write.start + write.key_bytes;
        let count = write.value_bytes?;
        Some(&self.bytes[start..start + count])
    }
}

/// The first bytes of a key as a number that sorts like the key; for equal numbers the whole keys decide.
fn first_8(key: &[u8]) -> u64 {
    let mut first = [0; 8];
    let count = key.len().min(8);
    first[..count].copy_from_slice(&key[..count]);
    u64::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const TABLES: [Table; 3] = [Table::Meta, Table::Wallets, Table::Objects];

    proptest! {
        #[test]
        fn the_last_write_of_each_row_in_the_order_of_keys(
            writes in prop::collection::vec(
                (0..3usize, prop::collection::vec(0..3u8, 1..12), prop::option::of(any::<u8>())),
                0..200,
            ),
        ) {
            let mut gathered = Writes::default();
            let mut expected = BTreeMap::new();
            for (table, key, value) in writes {
                let table = TABLES[table];
                match value {
                    Some(value) => gathered.put_with(table, &key, |out| out.push(value)),
                    None => gathered.delete(table, &key),
                }
                expected.insert((table as u8, key), value.map(|value| vec![value]));
            }
            let found: Vec<_> = gathered
                .in_order()
                .map(|(table, key, value)| ((table as u8, key.to_vec()), value.map(<[u8]>::to_vec)))
                .collect();
            prop_assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
        }
    }
}
