//! Building blocks of the packed record: variable-length numbers, and a bounds-checked reader.

use crate::codec::CodecError;

/// Writes `number` with seven bits per byte, lowest first (LEB128).
pub(super) fn push_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads from the front of a slice.
pub(super) struct ByteReader<'a>(pub(super) &'a [u8]);

impl<'a> ByteReader<'a> {
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], CodecError> {
        let (taken, rest) = self
            .0
            .split_at_checked(count)
            .ok_or_else(|| CodecError::bytes("the record ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], CodecError> {
        let (taken, rest) = self
            .0
            .split_first_chunk()
            .ok_or_else(|| CodecError::bytes("the record ends too early"))?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(super) fn u8(&mut self) -> Result<u8, CodecError> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self) -> Result<u16, CodecError> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, CodecError> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, CodecError> {
        self.array().map(u64::from_be_bytes)
    }

    /// Reads a number that [`push_varint`] wrote; rejects overlong forms, so that a record has only one form.
    pub(super) fn varint(&mut self) -> Result<u64, CodecError> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                if byte == 0 && shift > 0 {
                    break;
                }
                return Ok(number);
            }
        }
        Err(CodecError::bytes("a number is not in its shortest form"))
    }

    pub(super) fn text(&mut self, bytes: usize) -> Result<&'a str, CodecError> {
        core::str::from_utf8(self.take(bytes)?)
            .map_err(|_| CodecError::bytes("a text is not UTF-8"))
    }
}
