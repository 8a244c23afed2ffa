//! The row codec: bincode's legacy layout (fixed-width little endian numbers, u64 lengths) after one leading format
//! byte. Another codec would change this file alone; the first byte identifies old rows.

use bincode::config::{Configuration, Fixint, Limit, LittleEndian};
use bincode::enc::write::Writer;
use bincode::error::{DecodeError, EncodeError};
use bincode::{BorrowDecode, Encode};
pub use kedge_log::CodecError;
pub(crate) use kedge_log::codec::FORMAT;
use kedge_log::codec::body;

/// Bound on a row. A damaged length field must not become an allocation.
const ROW_BYTES_MAX: usize = 64 * 1024 * 1024;

const CONFIG: Configuration<LittleEndian, Fixint, Limit<ROW_BYTES_MAX>> =
    bincode::config::legacy().with_limit::<ROW_BYTES_MAX>();

/// bincode writer that appends to a vector.
struct VecWriter<'a>(&'a mut Vec<u8>);

impl Writer for VecWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

/// Appends a row to `out`.
pub(crate) fn encode_into<T: Encode>(out: &mut Vec<u8>, row: &T) {
    out.push(FORMAT);
    bincode::encode_into_writer(row, VecWriter(out), CONFIG)
        .expect("bincode encodes every row, and writing to memory cannot fail");
}

/// Reads a row that must use every byte.
pub(crate) fn decode<'a, T: BorrowDecode<'a, ()>>(bytes: &'a [u8]) -> Result<T, CodecError> {
    match decode_beginning(bytes)? {
        (row, []) => Ok(row),
        _ => Err(CodecError::bytes("bytes are left over after the row")),
    }
}

/// Reads a row at the beginning of `bytes`, and returns the rest.
pub(crate) fn decode_beginning<'a, T: BorrowDecode<'a, ()>>(
    bytes: &'a [u8],
) -> Result<(T, &'a [u8]), CodecError> {
    let body = body(bytes)?;
    let (row, used) =
        bincode::borrow_decode_from_slice::<T, _>(body, CONFIG).map_err(|error| match error {
            DecodeError::OtherString(meaningless) => CodecError::Bytes(meaningless),
            other => CodecError::Bytes(other.to_string()),
        })?;
    Ok((row, &body[used..]))
}

/// Reads a value that is exactly `N` bytes.
pub(crate) fn array<const N: usize>(bytes: &[u8]) -> Result<[u8; N], CodecError> {
    bytes
        .try_into()
        .map_err(|_| CodecError::Bytes(format!("{} bytes instead of {N}", bytes.len())))
}

/// Reads the id that a list's row begins with.
pub(crate) fn leading_id(bytes: &[u8]) -> Result<[u8; 16], CodecError> {
    let id = bytes.first_chunk();
    id.copied()
        .ok_or_else(|| CodecError::Bytes(format!("{} bytes instead of 16", bytes.len())))
}

/// Reads a big-endian number of exactly eight bytes.
pub(crate) fn number(bytes: &[u8]) -> Result<u64, CodecError> {
    array(bytes).map(u64::from_be_bytes)
}
