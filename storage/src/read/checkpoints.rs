//! Reads of signed checkpoints.

use kedge_protocol::Hash;
use kedge_protocol::checkpoint::SignedCheckpoint;
use rocksdb::Direction;

use super::RowPage;
use crate::codec::{self, CodecError};
use crate::snapshot::{StoreReadError, StoreSnapshot};
use crate::tables::Table;
use crate::tables::checkpoints::checkpoint_key;
use crate::tables::meta::{ROOT_DUE_KEY, ROOTS_FROM_KEY};
use crate::tables::row::BincodeRow;

fn read(bytes: &[u8]) -> Result<SignedCheckpoint, CodecError> {
    codec::decode(bytes).map(|BincodeRow(signed)| signed)
}

impl StoreSnapshot {
    /// The number of batches from which on checkpoints have a root of the state; `None` in a log that does not say so yet.
    ///
    /// # Errors
    /// The row cannot be read.
    pub fn roots_from(&self) -> Result<Option<u64>, StoreReadError> {
        self.get_number(Table::Meta, ROOTS_FROM_KEY)
    }

    /// The number of batches after which the last root of the state was due.
    ///
    /// # Errors
    /// The row cannot be read.
    pub fn root_due(&self) -> Result<Option<u64>, StoreReadError> {
        self.get_number(Table::Meta, ROOT_DUE_KEY)
    }

    /// The signed checkpoint with a root over this number of batches, if it is kept.
    ///
    /// # Errors
    /// The row cannot be read.
    pub fn checkpoint(&self, batches: u64) -> Result<Option<SignedCheckpoint>, StoreReadError> {
        self.get(Table::Checkpoints, &checkpoint_key(batches), read)
    }

    /// The kept checkpoints over at most this number of batches, newest first.
    pub fn checkpoints_until(
        &self,
        batches: u64,
    ) -> impl Iterator<Item = Result<SignedCheckpoint, StoreReadError>> {
        let from = checkpoint_key(batches);
        let rows = self.rows_from(Table::Checkpoints, &from, Direction::Reverse);
        rows.map(signed)
    }

    /// The kept checkpoints over at least this number of batches, oldest first.
    pub fn checkpoints_from(
        &self,
        batches: u64,
    ) -> impl Iterator<Item = Result<SignedCheckpoint, StoreReadError>> {
        let from = checkpoint_key(batches);
        let rows = self.rows_from(Table::Checkpoints, &from, Direction::Forward);
        rows.map(signed)
    }

    /// Every signed checkpoint with a root that these rows hold, by its batches: the kept ones, and those of anchors.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn rooted_checkpoints(&self) -> Result<Vec<SignedCheckpoint>, StoreReadError> {
        let mut found: Vec<SignedCheckpoint> =
            self.checkpoints_from(0).collect::<Result<_, _>>()?;
        let mut page = RowPage {
            after: None,
            descending: false,
            limit: 100,
        };
        loop {
            let anchors = self.anchors(page)?;
            found.extend(anchors.iter().map(|anchor| anchor.checkpoint));
            match anchors.last() {
                Some(last) => page.after = Some(last.number),
                None => break,
            }
        }
        found.retain(|signed| signed.checkpoint.state != Hash::ZERO);
        found.sort_by_key(|signed| signed.checkpoint.batches);
        found.dedup();
        Ok(found)
    }

    /// The newest signed checkpoint with a root of the state.
    ///
    /// # Errors
    /// The row cannot be read.
    pub fn newest_checkpoint(&self) -> Result<Option<SignedCheckpoint>, StoreReadError> {
        self.checkpoints_until(u64::MAX).next().transpose()
    }
}

fn signed(
    row: Result<crate::snapshot::RawRow, StoreReadError>,
) -> Result<SignedCheckpoint, StoreReadError> {
    let (key, value) = row?;
    read(&value).map_err(StoreReadError::row(Table::Checkpoints, &key))
}
