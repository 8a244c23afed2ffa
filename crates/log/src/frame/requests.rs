//! The section of packed requests. It begins with a table of places and checksums, so one request of many is found by
//! its sequence, and checked, without reading the others.
//!
//! ```text
//! u32 count ‖ u32 CRC32C of count and entries ‖ count × entry ‖ packed requests
//! entry: u32 first sequence, counted from the frame's ‖ u32 end, counted from the first request ‖ u32 CRC32C
//! ```

use super::FrameRejection;
use crate::bytes::FieldReader;
use crate::codec::CodecError;

/// Bytes before the entries.
pub(crate) const TABLE_HEAD_BYTES: usize = 8;
/// Bytes of an entry.
pub(crate) const ENTRY_BYTES: usize = 12;

/// Collects the requests of a frame.
#[derive(Default)]
pub(crate) struct RequestsWriter {
    first: u64,
    next: u64,
    entries: Vec<[u32; 3]>,
    packed: Vec<u8>,
}

impl RequestsWriter {
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.packed.clear();
    }

    pub(crate) fn push(
        &mut self,
        first_sequence: u64,
        actions: usize,
        pack: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), FrameRejection> {
        if self.entries.is_empty() {
            (self.first, self.next) = (first_sequence, first_sequence);
        }
        if first_sequence != self.next || actions == 0 {
            return Err(FrameRejection(
                "a request does not continue the previous one",
            ));
        }
        let next = first_sequence.checked_add(actions as u64);
        let next = next.ok_or(FrameRejection("a request's sequences overflow"))?;
        let start = self.packed.len();
        pack(&mut self.packed);
        let too_long = || FrameRejection("the frame is too long");
        let relative = u32::try_from(first_sequence - self.first).map_err(|_| too_long())?;
        let end = u32::try_from(self.packed.len()).map_err(|_| too_long())?;
        let crc = crc32c::crc32c(&self.packed[start..]);
        self.entries.push([relative, end, crc]);
        self.next = next;
        Ok(())
    }

    /// First sequence, and the one after the last.
    pub(crate) fn bounds(&self) -> Option<(u64, u64)> {
        (!self.entries.is_empty()).then_some((self.first, self.next))
    }

    pub(crate) fn bytes(&self) -> usize {
        TABLE_HEAD_BYTES + self.entries.len() * ENTRY_BYTES + self.packed.len()
    }

    pub(crate) fn packed(&self) -> &[u8] {
        &self.packed
    }

    /// Writes the table that precedes the packed requests.
    pub(crate) fn write_table(&self, out: &mut Vec<u8>) {
        out.reserve(TABLE_HEAD_BYTES + self.entries.len() * ENTRY_BYTES);
        let count = self.entries.len() as u32;
        out.extend_from_slice(&count.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        for number in self.entries.iter().flatten() {
            out.extend_from_slice(&number.to_be_bytes());
        }
        let crc = table_crc(out);
        out[4..TABLE_HEAD_BYTES].copy_from_slice(&crc.to_be_bytes());
    }
}

fn table_crc(table: &[u8]) -> u32 {
    crate::bytes::crc_around(table, 4)
}

/// Place of a request in the section.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RequestRange {
    /// First sequence, relative to the frame's.
    pub(crate) first: u32,
    /// Byte range, relative to the section.
    pub(crate) range: std::ops::Range<usize>,
    crc: u32,
}

impl RequestRange {
    /// Whether `bytes` have the request's checksum.
    pub(crate) fn is_of(&self, bytes: &[u8]) -> bool {
        crc32c::crc32c(bytes) == self.crc
    }
}

/// Size of the table at the start of a section, from the section's first bytes.
pub(crate) fn table_bytes(head: &[u8]) -> Option<usize> {
    let count = FieldReader(head).u32()? as usize;
    count
        .checked_mul(ENTRY_BYTES)?
        .checked_add(TABLE_HEAD_BYTES)
}

/// The table at the start of a section.
pub(crate) struct RequestTable<'a> {
    entries: &'a [[u8; ENTRY_BYTES]],
    /// Size of the table itself.
    bytes: usize,
}

impl<'a> RequestTable<'a> {
    /// Reads the table. `section` may be cut off after it; `whole` is the section's length.
    pub(crate) fn read(section: &'a [u8], whole: usize, actions: u32) -> Result<Self, CodecError> {
        let early = || CodecError::bytes("the table of requests ends too early");
        let bytes = table_bytes(section).ok_or_else(early)?;
        let table = section.get(..bytes).ok_or_else(early)?;
        let crc = FieldReader(&table[4..]).u32();
        if crc != Some(table_crc(table)) {
            return Err(CodecError::bytes(
                "the checksum of the table of requests does not match",
            ));
        }
        let (entries, _) = table[TABLE_HEAD_BYTES..].as_chunks::<ENTRY_BYTES>();
        let read = Self { entries, bytes };
        let wrong = || CodecError::bytes("the table of requests contradicts itself");
        if entries.is_empty() || read.entry(0)[0] != 0 {
            return Err(wrong());
        }
        let rises = |pair: &[[u8; ENTRY_BYTES]]| {
            let [[first, end, _], [next, later, _]] = [entry(&pair[0]), entry(&pair[1])];
            first < next && end < later
        };
        let [last, end, _] = read.entry(entries.len() - 1);
        if !entries.windows(2).all(rises) || last >= actions || bytes + end as usize != whole {
            return Err(wrong());
        }
        Ok(read)
    }

    pub(crate) fn count(&self) -> usize {
        self.entries.len()
    }

    fn entry(&self, index: usize) -> [u32; 3] {
        entry(&self.entries[index])
    }

    pub(crate) fn place(&self, index: usize) -> RequestRange {
        let start = match index {
            0 => 0,
            _ => self.entry(index - 1)[1] as usize,
        };
        let [first, end, crc] = self.entry(index);
        RequestRange {
            first,
            range: self.bytes + start..self.bytes + end as usize,
            crc,
        }
    }

    /// Index of the request that holds the action at `offset` from the frame's first one.
    pub(crate) fn find(&self, offset: u32) -> usize {
        // The first entry is 0, so at least one is not above `offset`.
        self.entries
            .partition_point(|bytes| entry(bytes)[0] <= offset)
            - 1
    }
}

fn entry(bytes: &[u8; ENTRY_BYTES]) -> [u32; 3] {
    let (words, _) = bytes.as_chunks::<4>();
    [0, 1, 2].map(|i| u32::from_be_bytes(words[i]))
}
