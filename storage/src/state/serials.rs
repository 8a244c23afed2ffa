//! Serials of all objects in the order of their ids. The lists that hold them are in the order of creation, so a look-up of
//! each would read all over the table. Instead the lists are read whole, once for each part of the ids that fits in memory.

use kedge_protocol::resource::Object;

use super::making::StateError;
use crate::codec::{self, CodecError};
use crate::snapshot::{StoreReadError, StoreSnapshot};
use crate::tables::Table;
use crate::tables::objects::{TEMPLATE_LISTS, serial_of_row};

type ObjectKey = [u8; 16];

/// Serials in memory: 24 bytes each, so 288 MiB.
const HELD_MAX: usize = 12 << 20;
/// Rows between two looks at whether to go on.
const PAUSE_ROWS: usize = 1 << 10;

/// The serials of objects that are asked for in the order of their ids.
pub(super) struct SerialParts<'a> {
    rows: &'a StoreSnapshot,
    /// The present part, in the order of the ids.
    part: Vec<(ObjectKey, u64)>,
    /// How many of the part were passed.
    passed: usize,
    /// The part's last id, if there are ids after it.
    last: Option<ObjectKey>,
    is_read: bool,
    held_max: usize,
}

impl<'a> SerialParts<'a> {
    pub(super) fn new(rows: &'a StoreSnapshot) -> Self {
        Self::of_size(rows, HELD_MAX)
    }

    fn of_size(rows: &'a StoreSnapshot, held_max: usize) -> Self {
        Self {
            rows,
            part: Vec::new(),
            passed: 0,
            last: None,
            is_read: false,
            held_max,
        }
    }

    /// Reads the part with an id, which is above those before it. `pause` is called after each small part of the work.
    ///
    /// # Errors
    /// The rows cannot be read, or `pause` refused to go on.
    pub(super) fn reach(
        &mut self,
        id: ObjectKey,
        pause: &mut dyn FnMut() -> Result<(), StateError>,
    ) -> Result<(), StateError> {
        while !self.is_read || self.last.is_some_and(|last| id > last) {
            self.read_part(pause)?;
        }
        Ok(())
    }

    /// The serial of an object in the part, whose id is above that of the last one.
    ///
    /// # Errors
    /// No list has the object.
    pub(super) fn serial(&mut self, object: &Object) -> Result<u64, StoreReadError> {
        let id = object.id.bytes;
        let after = &self.part[self.passed..];
        let before = after.iter().take_while(|(key, _)| *key < id).count();
        self.passed += before;
        match self.part.get(self.passed) {
            Some((key, serial)) if *key == id => Ok(*serial),
            _ => Err(StoreReadError::Missing {
                table: Table::ObjectIndex,
                what: format!("{} in its template's list", object.id),
            }),
        }
    }

    /// Reads the lists for the next part: the lowest ids after the last one, as many as fit.
    fn read_part(
        &mut self,
        pause: &mut dyn FnMut() -> Result<(), StateError>,
    ) -> Result<(), StateError> {
        let after = self.last.take();
        self.part.clear();
        self.passed = 0;
        // When there are more, the lowest two thirds stay.
        let kept = (self.held_max / 3 * 2).max(1);
        let mut rows = self.rows.cursor(Table::ObjectIndex);
        rows.seek(&[TEMPLATE_LISTS]);
        let mut count = 0_usize;
        while let Some((key, row)) = rows.row()? {
            if key.first() != Some(&TEMPLATE_LISTS) {
                break;
            }
            let (id, serial) =
                place_of(row).map_err(StoreReadError::row(Table::ObjectIndex, key))?;
            if after.is_none_or(|after| id > after) && self.last.is_none_or(|last| id <= last) {
                self.part.push((id, serial));
            }
            if self.part.len() > self.held_max {
                self.part.select_nth_unstable(kept - 1);
                self.part.truncate(kept);
                self.last = self.part.last().map(|(id, _)| *id);
            }
            rows.advance();
            count += 1;
            if count.is_multiple_of(PAUSE_ROWS) {
                pause()?;
            }
        }
        self.part.sort_unstable();
        self.is_read = true;
        Ok(())
    }
}

fn place_of(row: &[u8]) -> Result<(ObjectKey, u64), CodecError> {
    let id = codec::array(row.get(..16).unwrap_or_default())?;
    Ok((id, serial_of_row(row)?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

    use kedge_protocol::eip712::Domain;
    use kedge_protocol::hash::keccak;
    use kedge_protocol::resource::{ObjectStatus, ResourceTrace};
    use kedge_protocol::{Address, Hash, Id, Prefix};

    use super::*;
    use crate::WriteGroup;
    use crate::state::ResourceEntries;
    use crate::store::{Store, StoreOptions};

    const OBJECTS: u64 = 200;

    fn object(number: u64) -> Object {
        let id = |prefix, number: u64| Id::of_hash(prefix, &keccak(&number.to_be_bytes()));
        let mut trace = ResourceTrace::made_by(&Hash::ZERO, 0);
        trace.place(number + 1, number);
        Object {
            id: id(Prefix::Object, number),
            organization_id: id(Prefix::Organization, 0),
            template_id: id(Prefix::Template, number % 3),
            variation_id: None,
            owner_id: id(Prefix::Wallet, 0),
            owner_address: Address([1; 20]),
            properties: "{}".to_owned(),
            status: ObjectStatus::Active,
            trace,
        }
    }

    #[test]
    fn every_object_has_its_serial_however_little_fits_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        let domain = Domain {
            chain_id: 1,
            verifying_contract: Address([7; 20]),
        };
        let options =
            StoreOptions::of_store(&folder.path().join("store"), domain, Address([8; 20]));
        let store = Store::scratch(options).unwrap();
        let mut objects: Vec<_> = (0..OBJECTS)
            .map(|number| (object(number), number / 3 + 1))
            .collect();
        let mut group = WriteGroup::new();
        for (object, serial) in &objects {
            group.put_mint(object, &object.trace, *serial);
        }
        store.put_rows(&group).unwrap();
        objects.sort_unstable_by_key(|(object, _)| object.id);

        let rows = store.snapshot();
        let (only, expected): (Vec<_>, Vec<_>) = objects.iter().cloned().unzip();
        let looked_up = ResourceEntries::new(&rows, &rows).serials(&only);
        assert_eq!(looked_up.unwrap(), expected);
        for held_max in [1, 2, 7, 199, 200, 1_000] {
            let mut parts = SerialParts::of_size(&rows, held_max);
            for (object, serial) in &objects {
                parts.reach(object.id.bytes, &mut || Ok(())).unwrap();
                assert_eq!(parts.serial(object).unwrap(), *serial, "of {held_max}");
                assert!(parts.part.len() <= held_max);
            }
            // Its id is above none that was passed, and no list has it.
            let mut stranger = object(OBJECTS);
            stranger.id.bytes = [u8::MAX; 16];
            parts.reach(stranger.id.bytes, &mut || Ok(())).unwrap();
            assert!(parts.serial(&stranger).is_err());
        }
    }
}
