//! Reads of anchors, and of answers to the bond's cases.

use kedge_protocol::{Id, Prefix};
use rocksdb::Direction;

use super::{RowPage, place_of};
use crate::codec::{self, CodecError};
use crate::snapshot::{StoreReadError, StoreSnapshot};
use crate::tables::Table;
use crate::tables::anchors::{
    AnchorProgress, AnchorRow, BY_BATCHES, ROWS, batches_key, id_key, row_key,
};
use crate::tables::row::BincodeRow;

fn anchor(number: u64, bytes: &[u8]) -> Result<AnchorRow, CodecError> {
    let BincodeRow(row) = codec::decode::<BincodeRow<AnchorRow>>(bytes)?;
    Ok(AnchorRow { number, ..row })
}

impl StoreSnapshot {
    pub fn anchor(&self, number: u64) -> Result<Option<AnchorRow>, StoreReadError> {
        self.get(Table::Anchors, &row_key(number), |bytes| {
            anchor(number, bytes)
        })
    }

    pub fn anchor_number(&self, id: Id) -> Result<Option<u64>, StoreReadError> {
        if id.prefix != Prefix::Anchor {
            return Ok(None);
        }
        self.get_number(Table::Anchors, &id_key(&id))
    }

    /// A page of the anchors; the cursor is the number.
    pub fn anchors(&self, page: RowPage) -> Result<Vec<AnchorRow>, StoreReadError> {
        self.list(Table::Anchors, ROWS, page, anchor)
    }

    pub fn last_anchor(&self) -> Result<Option<AnchorRow>, StoreReadError> {
        let page = RowPage {
            after: None,
            descending: true,
            limit: 1,
        };
        Ok(self.anchors(page)?.pop())
    }

    /// The anchor with the fewest batches that has not failed and covers this batch.
    pub fn anchor_covering(&self, batch_number: u64) -> Result<Option<AnchorRow>, StoreReadError> {
        let Some(batches) = batch_number.checked_add(1) else {
            return Ok(None);
        };
        let from = batches_key(batches, 0);
        for row in self.rows_from(Table::Anchors, &from, Direction::Forward) {
            let (key, _) = row?;
            if !key.starts_with(BY_BATCHES) {
                break;
            }
            let number = place_of(&key).map_err(StoreReadError::row(Table::Anchors, &key))?;
            let anchor = self
                .anchor(number)?
                .ok_or_else(|| StoreReadError::Missing {
                    table: Table::Anchors,
                    what: format!("anchor {number}"),
                })?;
            if anchor.status != AnchorProgress::Failed {
                return Ok(Some(anchor));
            }
        }
        Ok(None)
    }

    /// Answers to the bond's cases, in the responder's format and in no particular order.
    pub fn bond_answers(&self) -> Result<Vec<Vec<u8>>, StoreReadError> {
        let rows = self.raw_rows(Table::BondAnswers);
        rows.map(|row| Ok(row?.1.to_vec())).collect()
    }
}
