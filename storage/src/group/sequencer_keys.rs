//! Writes of the sequencer keys that the log names.

use kedge_protocol::resource::SequencerKey;

use super::{NamedResource, WriteGroup};
use crate::codec::encode_into;
use crate::tables::Table;
use crate::tables::row::BincodeRow;

impl NamedResource for SequencerKey {
    /// Writes it under its first batch.
    fn put_into(&self, group: &mut WriteGroup, _: Option<&Self>) {
        let key = self.entry.from_batch.to_be_bytes();
        group.put_with(Table::SequencerKeys, &key, |out| {
            encode_into(out, &BincodeRow(self));
        });
    }
}
