//! The entry of a resource, from the rows of a snapshot.

use std::collections::HashMap;

use kedge_protocol::resource::{Object, ResourceTrace, SequencerKey, Template, Variation};
use kedge_protocol::state::StateEntry;
use kedge_protocol::state::entry::{
    ApiKeyEntry, DisputeEntry, EntryFields, FileEntry, NamedKeyEntry, ObjectEntry, TemplateEntry,
    VariationEntry, WalletEntry, WebhookEntry,
};
use kedge_protocol::{Address, Hash, Id, Prefix, chain};

use super::changes::ChangedEntry;
use super::making::StateError;
use super::near::NearCursor;
use super::serials::SerialParts;
use crate::codec::{self, CodecError};
use crate::snapshot::{StoreReadError, StoreSnapshot};
use crate::tables::Table;
use crate::tables::objects::{ObjectIndex, serial_of_row};
use crate::tables::row::{BincodeRow, StoredResource};

/// Remembered addresses of owners.
const OWNERS_MAX: usize = 1 << 16;
/// Remembered contents of actions that made variations. One action makes many, and may be large.
const CONTENTS_MAX: usize = 1 << 16;
/// Variations of one action are looked for up to this number.
const VARIATIONS_MAX: u32 = 1 << 16;

/// Makes the entries of one snapshot.
pub struct ResourceEntries<'a> {
    rows: &'a StoreSnapshot,
    /// The snapshot whose log holds the actions of these rows.
    log: &'a StoreSnapshot,
    owners: HashMap<Id, Address>,
    contents: HashMap<u64, Hash>,
    /// Serials for the objects of a walk over all rows; without, each is looked up.
    serials: Option<SerialParts<'a>>,
}

impl<'a> ResourceEntries<'a> {
    /// Entries of `rows`, whose actions are in the log of `log`: the same snapshot, except for rows without a log.
    pub fn new(rows: &'a StoreSnapshot, log: &'a StoreSnapshot) -> Self {
        Self {
            rows,
            log,
            owners: HashMap::new(),
            contents: HashMap::new(),
            serials: None,
        }
    }

    /// Entries for a walk over all rows, table by table and each in the order of its keys.
    pub(super) fn walking(rows: &'a StoreSnapshot, log: &'a StoreSnapshot) -> Self {
        let serials = Some(SerialParts::new(rows));
        Self {
            serials,
            ..Self::new(rows, log)
        }
    }

    /// Reads ahead what a walk needs for the entry of this id. `pause` is called after each small part of the work.
    ///
    /// # Errors
    /// The rows cannot be read, or `pause` refused to go on.
    pub(super) fn reach(
        &mut self,
        ChangedEntry(id): ChangedEntry,
        pause: &mut dyn FnMut() -> Result<(), StateError>,
    ) -> Result<(), StateError> {
        match &mut self.serials {
            Some(serials) if id.prefix == Prefix::Object => serials.reach(id.bytes, pause),
            _ => Ok(()),
        }
    }

    /// The entry under a key; `None` if there is none.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn entry(&mut self, key: Id) -> Result<Option<StateEntry>, StoreReadError> {
        if key.prefix == Prefix::Action {
            let keys = self.rows.named_sequencer_keys()?;
            return Ok(keys.iter().find(|named| named.id == key).map(named_key));
        }
        let entry = self.changed(ChangedEntry(key))?;
        Ok(entry.map(|(_, entry)| entry))
    }

    /// The present entry of a resource that changed, and its id.
    pub(super) fn changed(
        &mut self,
        change: ChangedEntry,
    ) -> Result<Option<(Id, StateEntry)>, StoreReadError> {
        self.entry_of(change, None)
    }

    /// The entry of a row that a walk has read, and the resource's id.
    pub(super) fn of_row(
        &mut self,
        change: ChangedEntry,
        row: &[u8],
    ) -> Result<Option<(Id, StateEntry)>, StoreReadError> {
        self.entry_of(change, Some(row))
    }

    fn entry_of(
        &mut self,
        ChangedEntry(id): ChangedEntry,
        row: Option<&[u8]>,
    ) -> Result<Option<(Id, StateEntry)>, StoreReadError> {
        let entry = match id.prefix {
            Prefix::Object => self.object(id, row)?,
            Prefix::Wallet => {
                self.resource(id, row, |wallet: kedge_protocol::resource::Wallet| {
                    let fields = WalletEntry::of(&wallet);
                    (wallet.trace, EntryFields::Wallet(fields))
                })?
            }
            Prefix::Organization => {
                self.resource(id, row, |of: kedge_protocol::resource::Organization| {
                    (of.trace, EntryFields::Organization {})
                })?
            }
            Prefix::Template => self.template(id, row)?,
            Prefix::Variation => self.variation(id, row)?,
            Prefix::Key => self.resource(id, row, |key: kedge_protocol::resource::ApiKey| {
                let fields = ApiKeyEntry::of(&key);
                (key.trace, EntryFields::ApiKey(fields))
            })?,
            Prefix::Webhook => {
                self.resource(id, row, |of: kedge_protocol::resource::Webhook| {
                    let fields = WebhookEntry::of(&of);
                    (of.trace, EntryFields::Webhook(fields))
                })?
            }
            Prefix::File => {
                self.resource(id, row, |file: kedge_protocol::resource::FileRecord| {
                    let fields = FileEntry::of(&file);
                    (file.trace, EntryFields::File(fields))
                })?
            }
            Prefix::Dispute => {
                self.resource(id, row, |of: kedge_protocol::resource::Dispute| {
                    let fields = DisputeEntry::of(&of);
                    (of.trace, EntryFields::Dispute(fields))
                })?
            }
            Prefix::Action => return self.sequencer_key(id),
            Prefix::Batch | Prefix::Anchor | Prefix::Event | Prefix::Delivery => None,
        };
        Ok(entry.map(|entry| (id, entry)))
    }

    /// The resource in a row that was read, or else in that of the snapshot.
    fn read<T: StoredResource>(
        &self,
        id: Id,
        row: Option<&[u8]>,
    ) -> Result<Option<T>, StoreReadError> {
        match row {
            Some(row) => T::read(id.bytes, row)
                .map(Some)
                .map_err(StoreReadError::row(T::TABLE, &id.bytes)),
            None => self.rows.resource(id),
        }
    }

    fn resource<T: StoredResource>(
        &self,
        id: Id,
        row: Option<&[u8]>,
        fields: impl FnOnce(T) -> (ResourceTrace, EntryFields),
    ) -> Result<Option<StateEntry>, StoreReadError> {
        let found: Option<T> = self.read(id, row)?;
        Ok(found
            .map(fields)
            .map(|(trace, fields)| StateEntry::of_trace(&trace, fields)))
    }

    fn object(&mut self, id: Id, row: Option<&[u8]>) -> Result<Option<StateEntry>, StoreReadError> {
        let Some(object) = self.read::<Object>(id, row)? else {
            return Ok(None);
        };
        let serial = match &mut self.serials {
            Some(serials) => serials.serial(&object)?,
            None => self.rows.serial(&object)?,
        };
        self.object_entry(&object, serial).map(Some)
    }

    /// What the state holds of an object with this serial.
    pub(super) fn object_entry(
        &mut self,
        object: &Object,
        serial: u64,
    ) -> Result<StateEntry, StoreReadError> {
        let owner_address = self.registered_address(object.owner_id)?;
        let fields = EntryFields::Object(ObjectEntry::of(object, serial, owner_address));
        Ok(StateEntry::of_trace(&object.trace, fields))
    }

    /// The serials of objects, read in the order of their lists.
    pub(super) fn serials(&self, objects: &[Object]) -> Result<Vec<u64>, StoreReadError> {
        let key_of = |object: &Object| {
            ObjectIndex::Template(object.template_id).key(object.trace.created_sequence)
        };
        let mut wanted: Vec<_> = objects.iter().map(key_of).zip(0..).collect();
        wanted.sort_unstable();
        let mut serials = vec![0; objects.len()];
        let mut rows = NearCursor::new(self.rows.strider(Table::ObjectIndex));
        for (key, place) in wanted {
            rows.seek(&key)?;
            let found = rows.row()?.filter(|(at, _)| *at == key);
            let (_, row) = found.ok_or_else(|| StoreReadError::Missing {
                table: Table::ObjectIndex,
                what: format!("{} in its template's list", objects[place].id),
            })?;
            serials[place] =
                serial_of_row(row).map_err(StoreReadError::row(Table::ObjectIndex, &key))?;
        }
        Ok(serials)
    }

    /// The address that registered a wallet. It never changes.
    fn registered_address(&mut self, wallet: Id) -> Result<Address, StoreReadError> {
        if let Some(address) = self.owners.get(&wallet) {
            return Ok(*address);
        }
        let found = self.rows.wallet(wallet)?;
        let address = found.map(|wallet| wallet.address);
        let address = address.ok_or_else(|| StoreReadError::Missing {
            table: Table::Wallets,
            what: wallet.to_string(),
        })?;
        if self.owners.len() >= OWNERS_MAX {
            self.owners.clear();
        }
        self.owners.insert(wallet, address);
        Ok(address)
    }

    fn template(&self, id: Id, row: Option<&[u8]>) -> Result<Option<StateEntry>, StoreReadError> {
        let Some(template) = self.read::<Template>(id, row)? else {
            return Ok(None);
        };
        let (minted, burned) = (self.rows.minted(id)?, self.rows.burned(id)?);
        let fields = EntryFields::Template(TemplateEntry::of(&template, minted, burned));
        Ok(Some(StateEntry::of_trace(&template.trace, fields)))
    }

    fn variation(
        &mut self,
        id: Id,
        row: Option<&[u8]>,
    ) -> Result<Option<StateEntry>, StoreReadError> {
        let Some(variation) = self.read::<Variation>(id, row)? else {
            return Ok(None);
        };
        Ok(Some(StateEntry {
            version: 1,
            sequence: variation.created_sequence,
            integrity: self.made_integrity(&variation)?,
            fields: EntryFields::Variation(VariationEntry::of(&variation)),
        }))
    }

    /// The integrity of a variation, which follows from the action that made it.
    fn made_integrity(&mut self, variation: &Variation) -> Result<Hash, StoreReadError> {
        let missing = |what: &str| StoreReadError::Missing {
            table: Table::Variations,
            what: format!("{what} of {}", variation.id),
        };
        let sequence = variation.created_sequence;
        let content = if let Some(content) = self.contents.get(&sequence) {
            *content
        } else {
            let mut reader = self.log.log_reader();
            let action = reader.action(sequence)?;
            let content = action.ok_or_else(|| missing("the action"))?.content();
            if self.contents.len() >= CONTENTS_MAX {
                self.contents.clear();
            }
            self.contents.insert(sequence, content);
            content
        };
        let mut places = 0..VARIATIONS_MAX;
        let place = places
            .find(|place| Id::made_by(Prefix::Variation, &content, *place) == variation.id)
            .ok_or_else(|| missing("the place"))?;
        Ok(chain::first_integrity(&content, place + 1))
    }

    /// The sequencer key of a row, whose first batch stands for its id.
    fn sequencer_key(&self, id: Id) -> Result<Option<(Id, StateEntry)>, StoreReadError> {
        let key = &id.bytes[..8];
        let found = self.rows.get(Table::SequencerKeys, key, |bytes| {
            let BincodeRow(mut named) = codec::decode::<BincodeRow<SequencerKey>>(bytes)?;
            named.entry.from_batch = codec::number(key)?;
            Ok::<_, CodecError>(named)
        })?;
        Ok(found.map(|named| (named.id, named_key(&named))))
    }
}

fn named_key(named: &SequencerKey) -> StateEntry {
    let fields = EntryFields::SequencerKey(NamedKeyEntry::of(named));
    StateEntry::of_trace(&named.trace, fields)
}
