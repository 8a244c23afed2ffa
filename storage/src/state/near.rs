//! A cursor for keys that rise and often stand close together: it steps to a near one instead of seeking it in every file.

use crate::snapshot::{RowRef, StoreReadError, TableCursor};

/// Steps that cost less than a seek in blocks that may be cached.
const STEPS_MAX: u32 = 4;
/// Steps that cost less than a seek where every block is read anyway.
const DENSE_STEPS_MAX: u32 = 24;

/// Walk along a table to one key after the other.
pub(super) struct NearCursor<'a> {
    rows: TableCursor<'a>,
    steps_max: u32,
    /// No row is between this key and the present row.
    passed: Option<Vec<u8>>,
}

impl<'a> NearCursor<'a> {
    pub(super) fn new(rows: TableCursor<'a>) -> Self {
        Self {
            rows,
            steps_max: STEPS_MAX,
            passed: None,
        }
    }

    /// For keys that are found in most blocks of the table.
    pub(super) fn dense(rows: TableCursor<'a>) -> Self {
        Self {
            steps_max: DENSE_STEPS_MAX,
            ..Self::new(rows)
        }
    }

    /// Moves to the first row whose key is at least `key`, as fast as possible if that is not far ahead.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub(super) fn seek(&mut self, key: &[u8]) -> Result<(), StoreReadError> {
        if self.passed.as_deref().is_some_and(|passed| key > passed) {
            for _ in 0..self.steps_max {
                match self.rows.row()? {
                    Some((at, _)) if at < key => self.advance()?,
                    _ => return Ok(()),
                }
            }
        }
        self.rows.seek(key);
        self.pass(key);
        Ok(())
    }

    /// Moves to the first row whose key is above `key`.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub(super) fn seek_past(&mut self, key: &[u8]) -> Result<(), StoreReadError> {
        self.seek(key)?;
        match self.rows.row()? {
            Some((at, _)) if at == key => self.advance(),
            _ => Ok(()),
        }
    }

    /// The present row; `None` after the last one.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub(super) fn row(&mut self) -> Result<Option<RowRef<'_>>, StoreReadError> {
        self.rows.row()
    }

    /// Moves to the next row.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub(super) fn advance(&mut self) -> Result<(), StoreReadError> {
        if let Some((key, _)) = self.rows.row()? {
            let passed = self.passed.get_or_insert_default();
            passed.clear();
            passed.extend_from_slice(key);
        }
        self.rows.advance();
        Ok(())
    }

    fn pass(&mut self, key: &[u8]) {
        let passed = self.passed.get_or_insert_default();
        passed.clear();
        passed.extend_from_slice(key);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

    use kedge_protocol::eip712::Domain;
    use kedge_protocol::hash::keccak;
    use kedge_protocol::{Address, Id, Prefix};

    use super::*;
    use crate::WriteGroup;
    use crate::store::{Store, StoreOptions};
    use crate::tables::Table;

    const ROWS: u16 = 300;
    const SEEKS: u16 = 4_000;

    fn dice(number: u16, of: &str) -> u16 {
        let hash = keccak(format!("{of} {number}").as_bytes());
        u16::from_be_bytes([hash.0[0], hash.0[1]])
    }

    fn key(number: u16) -> [u8; 16] {
        let mut key = [0; 16];
        key[..2].copy_from_slice(&number.to_be_bytes());
        key
    }

    #[test]
    fn a_near_key_is_found_as_a_seek_finds_it_whichever_way_the_keys_go() {
        let folder = tempfile::tempdir().unwrap();
        let domain = Domain {
            chain_id: 1,
            verifying_contract: Address([7; 20]),
        };
        let options =
            StoreOptions::of_store(&folder.path().join("store"), domain, Address([8; 20]));
        let store = Store::scratch(options).unwrap();
        let mut group = WriteGroup::new();
        for number in 0..ROWS {
            let template = Id {
                prefix: Prefix::Template,
                bytes: key(dice(number, "row")),
            };
            group.put_minted(template, u64::from(number));
            if number == ROWS / 2 {
                store.put_rows(&group).unwrap();
                store.flush().unwrap();
                group = WriteGroup::new();
            }
        }
        store.put_rows(&group).unwrap();

        let rows = store.snapshot();
        let seeker = || rows.seeker(Table::Counters);
        for mut near in [NearCursor::new(seeker()), NearCursor::dense(seeker())] {
            let mut wanted = 0_u16;
            for number in 0..SEEKS {
                // Mostly a little ahead, sometimes far ahead or back, sometimes the same key.
                wanted = match dice(number, "way") % 8 {
                    0 => dice(number, "place"),
                    1 => wanted,
                    _ => wanted.wrapping_add(dice(number, "step") % 600),
                };
                let key = key(wanted);
                near.seek(&key).unwrap();
                let mut plain = rows.seeker(Table::Counters);
                plain.seek(&key);
                assert_eq!(near.row().unwrap(), plain.row().unwrap(), "seek {number}");
                if dice(number, "advance").is_multiple_of(3) {
                    near.advance().unwrap();
                    plain.advance();
                    assert_eq!(
                        near.row().unwrap(),
                        plain.row().unwrap(),
                        "after seek {number}"
                    );
                }
            }
        }
    }
}
