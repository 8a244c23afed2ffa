//! Reads of the sequencer keys that the log names.

use kedge_protocol::resource::SequencerKey;
use kedge_protocol::{Address, SequencerKeys};

use crate::codec::{self, CodecError};
use crate::snapshot::{StoreReadError, StoreSnapshot};
use crate::tables::Table;
use crate::tables::meta::FIRST_KEY_KEY;
use crate::tables::row::BincodeRow;

impl StoreSnapshot {
    /// The key that signs from batch 0 on.
    pub fn first_sequencer_key(&self) -> Result<Address, StoreReadError> {
        let read = |bytes: &[u8]| Ok(Address(codec::array(bytes)?));
        let found = self.get(Table::Meta, FIRST_KEY_KEY, read)?;
        found.ok_or_else(|| StoreReadError::Missing {
            table: Table::Meta,
            what: "the log's first sequencer key".to_owned(),
        })
    }

    /// The keys that the log names after its first, in order.
    pub fn named_sequencer_keys(&self) -> Result<Vec<SequencerKey>, StoreReadError> {
        let rows = self.raw_rows(Table::SequencerKeys).map(|row| {
            let (key, value) = row?;
            let read = || -> Result<SequencerKey, CodecError> {
                let BincodeRow(mut named) = codec::decode::<BincodeRow<SequencerKey>>(&value)?;
                named.entry.from_batch = codec::number(&key)?;
                Ok(named)
            };
            read().map_err(StoreReadError::row(Table::SequencerKeys, &key))
        });
        rows.collect()
    }

    /// Every key of the log, with its first batch.
    pub fn sequencer_keys(&self) -> Result<SequencerKeys, StoreReadError> {
        let mut keys = SequencerKeys::from(self.first_sequencer_key()?);
        for named in self.named_sequencer_keys()? {
            let key = named.entry.from_batch.to_be_bytes();
            keys.push(named.entry)
                .map_err(|error| CodecError::bytes(&error.to_string()))
                .map_err(StoreReadError::row(Table::SequencerKeys, &key))?;
        }
        Ok(keys)
    }
}
