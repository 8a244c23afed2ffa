//! Round trip of rows, for fuzzing all formats. A row has one form only, so every readable row is written unchanged.

use bincode::{BorrowDecode, Encode};
use kedge_protocol::resource::{Object, ResourceTrace};

use super::Table;
use super::residue::IdempotencyResidue;
use super::row::{BincodeRow, RowCodec};
use crate::codec::{CodecError, decode, encode_into};

/// Reads and writes a value in one form.
pub(super) type RowForm = fn(&[u8]) -> Result<Vec<u8>, CodecError>;

pub(super) fn plain<T: Encode + for<'a> BorrowDecode<'a, ()>>(
    value: &[u8],
) -> Result<Vec<u8>, CodecError> {
    let mut out = Vec::new();
    encode_into(&mut out, &decode::<T>(value)?);
    Ok(out)
}

pub(super) fn row<T: RowCodec>(value: &[u8]) -> Result<Vec<u8>, CodecError> {
    let BincodeRow(read) = decode::<BincodeRow<T>>(value)?;
    let mut out = Vec::new();
    encode_into(&mut out, &BincodeRow(&read));
    Ok(out)
}

pub(super) fn residue(value: &[u8]) -> Result<Vec<u8>, CodecError> {
    let (residue, secret) = IdempotencyResidue::decode(value)?;
    Ok(residue.encode(secret))
}

pub(super) fn object(value: &[u8]) -> Result<Vec<u8>, CodecError> {
    let (BincodeRow(object), BincodeRow(trace)) =
        decode::<(BincodeRow<Object>, BincodeRow<ResourceTrace>)>(value)?;
    let mut out = Vec::new();
    encode_into(&mut out, &(BincodeRow(&object), BincodeRow(&trace)));
    Ok(out)
}

/// The values of a table, read and written again in each of its forms.
#[doc(hidden)]
pub fn rewritten(table: Table, value: &[u8]) -> Vec<Result<Vec<u8>, CodecError>> {
    table.forms().iter().map(|form| form(value)).collect()
}
