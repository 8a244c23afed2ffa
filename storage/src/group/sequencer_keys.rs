//! Writes of the sequencer keys that the log names.

use kedge_protocol::resource::SequencerKey;

use super::WriteGroup;
use crate::codec::encode_into;
use crate::tables::Table;
use crate::tables::row::BincodeRow;

impl WriteGroup {
    /// Writes a sequencer key, under its first batch.
    pub fn put_sequencer_key(&mut self, named: &SequencerKey) {
        let key = named.entry.from_batch.to_be_bytes();
        self.put_with(Table::SequencerKeys, &key, |out| {
            encode_into(out, &BincodeRow(named));
        });
    }
}
