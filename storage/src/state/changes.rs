//! Entries that may have changed. A flush knows from the rows that it writes which resources they are about, and writes
//! their keys in the same batch. So the path of a commit does nothing, a crash loses nothing, and a resource that changed
//! a thousand times between two flushes is named once.

use kedge_protocol::{Id, Prefix};
use rocksdb::WriteBatch;

use crate::codec::{self, CodecError};
use crate::rocks::RocksDatabase;
use crate::snapshot::{StoreReadError, StoreSnapshot};
use crate::tables::Table;
use crate::tables::meta::{APPLIED_KEY, AppliedFrame};

/// Prefix number ‖ the first 16 bytes of a row's key.
const CHANGE_BYTES: usize = 17;

/// The tables whose rows an entry is made from, with the prefix of the resource. A sequencer key is stored under its first
/// batch.
pub(super) const SOURCES: [(Table, Prefix); 10] = [
    (Table::Objects, Prefix::Object),
    (Table::Wallets, Prefix::Wallet),
    (Table::Organizations, Prefix::Organization),
    (Table::Templates, Prefix::Template),
    (Table::Variations, Prefix::Variation),
    (Table::ApiKeys, Prefix::Key),
    (Table::Webhooks, Prefix::Webhook),
    (Table::Files, Prefix::File),
    (Table::Disputes, Prefix::Dispute),
    (Table::SequencerKeys, Prefix::Action),
];

fn prefix_of(table: Table) -> Option<Prefix> {
    if table == Table::Counters {
        return Some(Prefix::Template);
    }
    let mut sources = SOURCES.iter();
    let source = sources.find(|(source, _)| *source == table);
    source.map(|(_, prefix)| *prefix)
}

/// A resource whose entry may have changed. The id of a sequencer key has its first batch in the first 8 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct ChangedEntry(pub(super) Id);

impl ChangedEntry {
    pub(super) fn of_row(prefix: Prefix, key: &[u8]) -> Self {
        let mut bytes = [0; 16];
        let count = key.len().min(bytes.len());
        bytes[..count].copy_from_slice(&key[..count]);
        Self(Id { prefix, bytes })
    }
}

/// The changes of one flush.
#[derive(Default)]
pub(crate) struct FlushedChanges {
    bytes: Vec<u8>,
    /// The last frame whose rows the flush writes.
    frame: Option<u64>,
}

impl FlushedChanges {
    /// Notes a row of the flush.
    pub(crate) fn note(&mut self, table: Table, key: &[u8], value: Option<&[u8]>) {
        if let Some(prefix) = prefix_of(table) {
            let ChangedEntry(id) = ChangedEntry::of_row(prefix, key);
            self.bytes.push(prefix as u8);
            self.bytes.extend_from_slice(&id.bytes);
        } else if table == Table::Meta
            && key == APPLIED_KEY
            && let Some(Ok(applied)) = value.map(AppliedFrame::of_row)
        {
            self.frame = Some(applied.frame);
        }
    }

    /// Sets the number of a flush that writes no frame: above that of every flush before.
    pub(crate) fn set_number(&mut self, number: u64) {
        self.frame = Some(number);
    }

    /// Adds the changes to the batch of the flush.
    pub(crate) fn put_into(&self, database: &RocksDatabase, batch: &mut WriteBatch) {
        if let Some(frame) = self.frame.filter(|_| !self.bytes.is_empty()) {
            let family = database.table(Table::StateChanges);
            batch.put_cf(family, frame.to_be_bytes(), &self.bytes);
        }
    }
}

/// All changes that no root covers yet, each once and in order, with the frames of their flushes.
pub(super) struct PendingChanges {
    pub(super) entries: Vec<ChangedEntry>,
    pub(super) frames: Vec<u64>,
}

impl PendingChanges {
    pub(super) fn read(rows: &StoreSnapshot) -> Result<Self, StoreReadError> {
        let (mut entries, mut frames) = (Vec::new(), Vec::new());
        for row in rows.raw_rows(Table::StateChanges) {
            let (key, value) = row?;
            let mut read = || -> Result<(), CodecError> {
                frames.push(codec::number(&key)?);
                let (changes, rest) = value.as_chunks::<CHANGE_BYTES>();
                if !rest.is_empty() {
                    return Err(CodecError::bytes("a change is cut off"));
                }
                for change in changes {
                    let prefix = Prefix::of_number(change[0]);
                    let prefix =
                        prefix.ok_or(CodecError::Number(change[0], "prefix of a changed entry"))?;
                    entries.push(ChangedEntry::of_row(prefix, &change[1..]));
                }
                Ok(())
            };
            read().map_err(StoreReadError::row(Table::StateChanges, &key))?;
            // A resource that changes all the time is in every flush.
            if entries.len() >= 1 << 20 {
                entries.sort_unstable();
                entries.dedup();
            }
        }
        entries.sort_unstable();
        entries.dedup();
        Ok(Self { entries, frames })
    }
}

#[cfg(test)]
mod tests {
    use kedge_protocol::for_each_resource;
    use kedge_protocol::resource;
    use kedge_protocol::state::entry::has_entries;

    use super::*;
    use crate::tables::row::StoredResource;

    macro_rules! tables_of_resources {
        ($($type:ident, $prefix:ident, $history:ident, $count:ident $(($of:ident))?, $read:ident, $answer:ident, $secret:ident, $named:ident;)*) => {
            [$(tables_of_resources!(@table $type)),*]
        };
        (@table SequencerKey) => { Some((Table::SequencerKeys, Prefix::Action)) };
        // It has no entry, although its id is an action's.
        (@table Invitation) => { None };
        (@table $type:ident) => {
            Some((<resource::$type as StoredResource>::TABLE, <resource::$type as StoredResource>::PREFIX))
        };
    }

    #[test]
    fn every_type_of_resource_with_an_entry_is_a_source_of_changes() {
        let of = for_each_resource!(tables_of_resources);
        let mut sources: Vec<_> = of.into_iter().flatten().collect();
        assert!(sources.iter().all(|(_, prefix)| has_entries(*prefix)));
        for source in SOURCES {
            let place = sources.iter().position(|of| *of == source);
            sources.remove(place.unwrap());
        }
        assert_eq!(sources, []);
    }
}
