//! Comparison of two groups made from the same requests, by the rows they leave in a store.

use std::cmp::Ordering;

use super::WriteGroup;
use crate::snapshot::{StoreReadError, StoreSnapshot};
use crate::tables::{Table, meta};
use crate::verify::StoreDifference;

/// Table, key and value of a write; `None` deletes the row.
type TableWrite<'a> = (Table, &'a [u8], Option<&'a [u8]>);

/// True for rows that the log explains.
fn is_of_log((table, key, _): &TableWrite<'_>) -> bool {
    match table {
        Table::Meta => *key == meta::HEAD_KEY,
        table => table.is_derived(),
    }
}

impl WriteGroup {
    /// Checks that this group and another one leave the same rows of the log, and of all that follows from it, in the
    /// store of `before`. The writes may differ: one group may delete an absent row, or write the present value.
    pub fn compare(&self, other: &Self, before: &StoreSnapshot) -> Result<(), StoreDifference> {
        if self.action_ids != other.action_ids {
            let mut pairs = self.action_ids.iter().zip(&other.action_ids);
            let differing = pairs.find(|(our, their)| our != their);
            let id = differing.map_or([0; 16], |((id, _), _)| *id);
            return Err(StoreDifference::Id {
                id: kedge_protocol::hash::to_hex(&id)[2..].to_owned(),
            });
        }
        let mut ours = self.writes().filter(is_of_log).peekable();
        let mut theirs = other.writes().filter(is_of_log).peekable();
        loop {
            let place = |write: &TableWrite<'_>| write.0 as u8;
            let order = match (ours.peek(), theirs.peek()) {
                (None, None) => return Ok(()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(our), Some(their)) => (place(our), our.1).cmp(&(place(their), their.1)),
            };
            let our = if order.is_le() { ours.next() } else { None };
            let their = if order.is_ge() { theirs.next() } else { None };
            let Some((table, key, _)) = our.or(their) else {
                return Ok(());
            };
            let stored = stored(before, table, key)?;
            let left = |write: Option<TableWrite<'_>>| match write {
                Some((_, _, value)) => value.map(<[u8]>::to_vec),
                None => stored.clone(),
            };
            if left(our) != left(their) {
                return Err(StoreDifference::row(table, key));
            }
        }
    }
}

fn stored(
    before: &StoreSnapshot,
    table: Table,
    key: &[u8],
) -> Result<Option<Vec<u8>>, StoreReadError> {
    before.get(table, key, |value| Ok(value.to_vec()))
}

#[cfg(test)]
mod tests {
    use kedge_protocol::eip712::Domain;
    use kedge_protocol::{Address, Hash, Id, Prefix};

    use super::*;
    use crate::{SideWrite, Store, StoreOptions};

    const ONE: Id = Id {
        prefix: Prefix::Template,
        bytes: [1; 16],
    };
    const TWO: Id = Id {
        prefix: Prefix::Template,
        bytes: [2; 16],
    };

    fn group(write: impl FnOnce(&mut WriteGroup)) -> WriteGroup {
        let mut group = WriteGroup::new();
        write(&mut group);
        group
    }

    /// A store in which one template has minted three objects.
    fn store(folder: &tempfile::TempDir) -> Store {
        let store = Store::open(StoreOptions {
            side_keys: crate::SideKeys::one(1, [1; 32]),
            ..StoreOptions::of_store(
                &folder.path().join("store"),
                Domain {
                    chain_id: 31_337,
                    verifying_contract: Address([7; 20]),
                },
                Address([9; 20]),
            )
        });
        let store = store.unwrap();
        store
            .commit(group(|group| group.put_minted(ONE, 3)))
            .unwrap();
        store
    }

    #[test]
    fn what_comes_to_the_same_rows_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let before = store(&folder).snapshot();
        let one = group(|group| {
            group.put_minted(TWO, 1);
            group.put_minted(TWO, 2);
            group.delete(Table::Lookup, b"was never there");
        });
        let two = group(|group| {
            group.put_minted(ONE, 3);
            group.put_minted(TWO, 2);
            let phc = "not the log's".to_owned();
            group.put_side(SideWrite::Operators(vec![Address([3; 20])]));
            group.put_side(SideWrite::Password {
                wallet: Id {
                    prefix: Prefix::Wallet,
                    ..ONE
                },
                phc,
            });
        });
        one.compare(&two, &before).unwrap();
        two.compare(&one, &before).unwrap();
    }

    // Holds invariant 151.
    #[test]
    fn every_difference_is_found_from_either_side() {
        let folder = tempfile::tempdir().unwrap();
        let before = store(&folder).snapshot();
        let whole = group(|group| {
            group.put_minted(ONE, 4);
            group.put_burned(ONE, 1);
        });
        let head = crate::LogHead {
            batches: 1,
            sequence: 1,
            head: Hash::ZERO,
            last_sealed_at_ms: 1,
        };
        let others = [
            group(|group| group.put_minted(ONE, 4)),
            group(|group| group.put_burned(ONE, 1)),
            group(|group| {
                group.put_minted(ONE, 5);
                group.put_burned(ONE, 1);
            }),
            group(|group| {
                group.put_minted(ONE, 4);
                group.put_burned(ONE, 1);
                group.delete(Table::Counters, &ONE.bytes);
            }),
            group(|group| {
                group.put_minted(ONE, 4);
                group.put_burned(ONE, 1);
                group.put_head(&head);
            }),
        ];
        for (i, other) in others.iter().enumerate() {
            assert!(whole.compare(other, &before).is_err(), "{i}");
            assert!(other.compare(&whole, &before).is_err(), "{i}");
        }
        let mut with_id = group(|group| {
            group.put_minted(ONE, 4);
            group.put_burned(ONE, 1);
        });
        with_id.action_ids.push(([8; 16], 1));
        assert!(whole.compare(&with_id, &before).is_err());
    }
}
