//! Round trip of rows, for fuzzing all formats. A row has one form only, so every readable row is written unchanged.

use bincode::{BorrowDecode, Encode};
use kedge_protocol::checkpoint::SignedCheckpoint;
use kedge_protocol::for_each_resource;
use kedge_protocol::resource::{self, Object, SequencerKey};

use super::accounts::{SessionRow, UsageRow};
use super::anchors::AnchorRow;
use super::deliveries::{DeliveryRow, OutboxRow};
use super::events::EventRow;
use super::records::{IdempotencyRow, SecretRow};
use super::residue::IdempotencyResidue;
use super::row::{BincodeRow, RowCodec, StoredResource};
use super::{RowForm, Table};
use crate::codec::{CodecError, decode, encode_into};

fn plain<T: Encode + for<'a> BorrowDecode<'a, ()>>(value: &[u8]) -> Result<Vec<u8>, CodecError> {
    let mut out = Vec::new();
    encode_into(&mut out, &decode::<T>(value)?);
    Ok(out)
}

fn row<T: RowCodec>(value: &[u8]) -> Result<Vec<u8>, CodecError> {
    let BincodeRow(read) = decode::<BincodeRow<T>>(value)?;
    let mut out = Vec::new();
    encode_into(&mut out, &BincodeRow(&read));
    Ok(out)
}

fn residue(value: &[u8]) -> Result<Vec<u8>, CodecError> {
    let (residue, secret) = IdempotencyResidue::decode(value)?;
    Ok(residue.encode(secret))
}

fn resource<T: StoredResource>(value: &[u8]) -> Result<Vec<u8>, CodecError> {
    let mut out = Vec::new();
    T::read([0; 16], value)?.write(&mut out);
    Ok(out)
}

macro_rules! resource_forms {
    ($($type:ident, $prefix:ident, $history:ident, $count:ident $(($of:ident))?, $read:ident, $answer:ident, $secret:ident, $named:ident;)*) => {
        /// The form of a resource's rows; `None` if the table has none.
        fn resource_form(table: Table, value: &[u8]) -> Option<Result<Vec<u8>, CodecError>> {
            $(resource_forms!(@form $type, table, value);)*
            None
        }
    };
    // Stored under its first batch.
    (@form SequencerKey, $table:ident, $value:ident) => {};
    (@form $type:ident, $table:ident, $value:ident) => {
        if $table == <resource::$type as StoredResource>::TABLE {
            return Some(resource::<resource::$type>($value));
        }
    };
}

for_each_resource!(resource_forms);

/// The values of a table, read and written again in each of its forms; empty for tables whose values are numbers,
/// hashes, ids or nothing. The second form of the idempotency keys' rows is their residue.
#[doc(hidden)]
pub fn rewritten(table: Table, value: &[u8]) -> Vec<Result<Vec<u8>, CodecError>> {
    match table.form() {
        RowForm::Resource => resource_form(table, value).into_iter().collect(),
        RowForm::Plain => Vec::new(),
        RowForm::Several => own_forms(table, value),
    }
}

fn own_forms(table: Table, value: &[u8]) -> Vec<Result<Vec<u8>, CodecError>> {
    match table {
        Table::Milestones => vec![resource::<Object>(value)],
        Table::SequencerKeys => vec![row::<SequencerKey>(value)],
        Table::Events => vec![row::<EventRow>(value)],
        Table::Anchors => vec![row::<AnchorRow>(value)],
        Table::Checkpoints => vec![row::<SignedCheckpoint>(value)],
        Table::Secrets => vec![plain::<SecretRow>(value)],
        Table::Idempotency => vec![plain::<IdempotencyRow>(value), residue(value)],
        Table::Deliveries => vec![row::<DeliveryRow>(value), row::<OutboxRow>(value)],
        Table::Sessions => vec![row::<SessionRow>(value)],
        Table::Usage => vec![plain::<UsageRow>(value)],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_has_the_forms_that_it_says() {
        for &table in Table::ALL {
            let has_forms = !rewritten(table, &[]).is_empty();
            let says = table.form() != RowForm::Plain;
            assert_eq!(has_forms, says, "{}", table.name());
        }
    }
}
