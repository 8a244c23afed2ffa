//! Write buffer of a group, and its order for the store.

use crate::tables::{Table, first_8};

/// Parts of a table: its lists of objects, by kind.
const LISTS: usize = 4;
const PARTS: usize = Table::ALL.len() * LISTS;

/// One write; its key begins at `start` of the bytes, and its value follows.
#[derive(Clone, Copy)]
struct WriteOperation {
    table: Table,
    start: usize,
    key_bytes: usize,
    /// `None` deletes.
    value_bytes: Option<usize>,
}

/// Sort position of a write.
#[derive(Clone, Copy)]
struct WritePosition<'a> {
    part: usize,
    /// The first bytes of its key.
    first: u64,
    write: &'a WriteOperation,
}

/// Writes with their keys and values, in the order of their addition.
#[derive(Default)]
pub(super) struct WriteBuffer {
    operations: Vec<WriteOperation>,
    bytes: Vec<u8>,
}

impl WriteBuffer {
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
        self.operations.push(WriteOperation {
            table,
            start,
            key_bytes: key.len(),
            value_bytes: Some(self.bytes.len() - key_end),
        });
    }

    pub(super) fn delete(&mut self, table: Table, key: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.operations.push(WriteOperation {
            table,
            start,
            key_bytes: key.len(),
            value_bytes: None,
        });
    }

    /// The last write's value; `None` if it was a deletion.
    pub(super) fn last_value(&self) -> Option<&[u8]> {
        self.value(self.operations.last()?)
    }

    /// Each row's last write, in the order of tables and keys: table, key and value, `None` if the row is deleted. In
    /// this order a row's place in a table of 100,000 is found from the previous row's place.
    pub(super) fn in_order(&self) -> impl Iterator<Item = (Table, &[u8], Option<&[u8]>)> {
        let mut order = self.in_parts();
        for part in order.chunk_by_mut(|one, other| one.part == other.part) {
            // Writes to one row stay in sequence. Most parts of lists are in order already.
            part.sort_by(|one, other| {
                let first = one.first.cmp(&other.first);
                first.then_with(|| self.key(one.write).cmp(self.key(other.write)))
            });
        }
        let mut order = order.into_iter().peekable();
        std::iter::from_fn(move || {
            loop {
                let WritePosition { part, first, write } = order.next()?;
                let again = order.peek().is_some_and(|next| {
                    (next.part, next.first) == (part, first)
                        && self.key(next.write) == self.key(write)
                });
                if !again {
                    return Some((write.table, self.key(write), self.value(write)));
                }
            }
        })
    }

    /// The writes of each part in sequence, parts in the order of tables and keys.
    fn in_parts(&self) -> Vec<WritePosition<'_>> {
        let part_of = |write: &WriteOperation| part(write.table, self.key(write));
        let mut places = [0; PARTS];
        for write in &self.operations {
            places[part_of(write)] += 1;
        }
        let mut before = 0;
        for place in &mut places {
            let count = std::mem::replace(place, before);
            before += count;
        }
        let Some(any) = self.operations.first() else {
            return Vec::new();
        };
        let nothing = WritePosition {
            part: 0,
            first: 0,
            write: any,
        };
        let mut order = vec![nothing; self.operations.len()];
        for write in &self.operations {
            let part = part_of(write);
            order[places[part]] = WritePosition {
                part,
                first: first_8(self.key(write)),
                write,
            };
            places[part] += 1;
        }
        order
    }

    fn key(&self, write: &WriteOperation) -> &[u8] {
        &self.bytes[write.start..write.start + write.key_bytes]
    }

    fn value(&self, write: &WriteOperation) -> Option<&[u8]> {
        let start = write.start + write.key_bytes;
        let count = write.value_bytes?;
        Some(&self.bytes[start..start + count])
    }
}

/// Part of a write: its table, and the kind of its list if lists of several kinds are written in turn. Parts have the
/// order of tables and keys.
fn part(table: Table, key: &[u8]) -> usize {
    let list = match (table, key.first()) {
        (Table::ObjectIndex, Some(kind)) => usize::from(*kind).min(LISTS - 1),
        _ => 0,
    };
    table as usize * LISTS + list
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const TABLES: [Table; 3] = [Table::Meta, Table::ObjectIndex, Table::Objects];

    proptest! {
        // Holds invariant 58.
        #[test]
        fn the_last_write_of_each_row_in_the_order_of_keys(
            writes in prop::collection::vec(
                (0..3usize, prop::collection::vec(0..5u8, 1..12), prop::option::of(any::<u8>())),
                0..200,
            ),
        ) {
            let mut gathered = WriteBuffer::default();
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
