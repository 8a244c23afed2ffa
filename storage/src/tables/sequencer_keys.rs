//! The sequencer's keys that the log names, by the first batch that each signs.

use bincode::{BorrowDecode, Encode};
use kedge_protocol::resource::SequencerKey;
use kedge_protocol::{Address, KeyFrom, Prefix};

use super::id;
use super::objects::TraceRow;

/// [`SequencerKey`] as stored, under its first batch.
#[derive(Encode, BorrowDecode)]
pub(crate) struct SequencerKeyRow {
    id: [u8; 16],
    key: [u8; 20],
    trace: TraceRow,
}

impl From<&SequencerKey> for SequencerKeyRow {
    fn from(named: &SequencerKey) -> Self {
        Self {
            id: named.id.bytes,
            key: named.entry.key.0,
            trace: TraceRow::from(&named.trace),
        }
    }
}

impl SequencerKeyRow {
    pub(crate) fn into_key(self, from_batch: u64) -> SequencerKey {
        SequencerKey {
            id: id(Prefix::Action, self.id),
            entry: KeyFrom {
                key: Address(self.key),
                from_batch,
            },
            trace: self.trace.into(),
        }
    }
}
