//! Reads rows and writes them again: what fuzzing knows of all formats at once. A row has one form only, so what can be
//! read is written as it was.

use bincode::{BorrowDecode, Encode};
use kedge_protocol::resource::{Object, Trace};

use super::Table;
use super::residue::Residue;
use super::row::{Row, Stored};
use crate::codec::{CodecError, decode, encode_into};

/// Reads a value and writes it again.
pub(super) type Rewrite = fn(&[u8]) -> Result<Vec<u8>, CodecError>;

pub(super) fn plain<T: Encode + for<'a> BorrowDecode<'a, ()>>(
    value: &[u8],
) -> Result<Vec<u8>, CodecError> {
    let mut out = Vec::new();
    encode_into(&mut out, &decode::<T>(value)?);
    Ok(out)
}

pub(super) fn row<T: Stored>(value: &[u8]) -> Result<Vec<u8>, CodecError> {
    let Row(read) = decode::<Row<T>>(value)?;
    let mut out = Vec::new();
    encode_into(&mut out, &Row(&read));
    Ok(out)
}

pub(super) fn residue(value: &[u8]) -> Result<Vec<u8>, CodecError> {
    let (residue, secret) = Residue::decode(value)?;
    Ok(residue.encode(secret))
}

pub(super) fn object(value: &[u8]) -> Result<Vec<u8>, CodecError> {
    let (Row(object), Row(trace)) = decode::<(Row<Object>, Row<Trace>)>(value)?;
    let mut out = Vec::new();
    encode_into(&mut out, &(Row(&object), Row(&trace)));
    Ok(out)
}

/// The values of a table, each of its forms read and written again; empty for tables whose values are numbers, hashes,
/// ids or nothing. The idempotency keys' rows hold a form of their own, the second one.
#[doc(hidden)]
pub fn rewritten(table: Table, value: &[u8]) -> Vec<Result<Vec<u8>, CodecError>> {
    let forms = table.forms().iter();
    forms.map(|rewrite| rewrite(value)).collect()
}
