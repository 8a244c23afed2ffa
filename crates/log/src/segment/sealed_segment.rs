//! A sealed segment: the frames one after the other, cut into blocks of equal size that are compressed separately, and
//! a footer with their places.
//!
//! ```text
//! segment header, 128 bytes ‖ compressed blocks ‖ footer ‖ trailer
//! footer:  u64 next frame ‖ u64 next sequence ‖ u64 next batch ‖ 32 bytes hash of the last frame
//!          ‖ u64 bytes of the frames ‖ u32 bytes of a block ‖ u32 blocks ‖ blocks × entry
//! entry:   u32 compressed bytes ‖ u32 CRC32C of these ‖ u32 place of the first frame that begins in the block, or
//!          0xffffffff ‖ u64 its number ‖ u64 its first sequence ‖ u64 its first batch
//! trailer: u32 bytes of the footer ‖ u32 CRC32C of the footer ‖ 8 bytes magic
//! ```

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kedge_protocol::Hash;
use zstd::bulk::Decompressor;

use super::blocks::BlockSource;
use super::scan::read_header;
use super::{FrameKey, HEADER_BYTES, SegmentHeader, SegmentKind};
use crate::bytes::FieldReader;
use crate::env::{Env, FileHandle, OpenMode, read_exact, read_exact_into};
use crate::error::{IoError, LogDamage, LogReadError};

/// The last bytes of a sealed segment.
const MAGIC: [u8; 8] = *b"\xffKFOOTR\n";
const TRAILER_BYTES: usize = 16;
const FOOTER_FIXED_BYTES: usize = 72;
const ENTRY_BYTES: usize = 36;
/// No frame begins in the block.
pub(crate) const NO_FRAME: u32 = u32::MAX;
/// Size limit of a block: the size is read from the file and must not cause a huge allocation.
pub(crate) const BLOCK_BYTES_MAX: u32 = 16 * 1024 * 1024;

/// The footer's entry for a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BlockEntry {
    pub(crate) compressed: u32,
    pub(crate) crc: u32,
    /// Offset in the block of the first frame that begins there, or [`NO_FRAME`].
    pub(crate) place: u32,
    /// The number of that frame, or of the next one.
    pub(crate) frame: u64,
    pub(crate) sequence: u64,
    pub(crate) batch: u64,
}

/// The numbers and block entries after the blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SegmentFooter {
    pub(crate) next_frame: u64,
    pub(crate) next_sequence: u64,
    pub(crate) next_batch: u64,
    pub(crate) hash: Hash,
    pub(crate) raw_bytes: u64,
    pub(crate) block_bytes: u32,
    pub(crate) blocks: Vec<BlockEntry>,
}

impl SegmentFooter {
    /// Bytes of footer and trailer.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FOOTER_FIXED_BYTES + self.blocks.len() * ENTRY_BYTES);
        for number in [self.next_frame, self.next_sequence, self.next_batch] {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        bytes.extend_from_slice(&self.hash.0);
        bytes.extend_from_slice(&self.raw_bytes.to_be_bytes());
        bytes.extend_from_slice(&self.block_bytes.to_be_bytes());
        bytes.extend_from_slice(&(self.blocks.len() as u32).to_be_bytes());
        for block in &self.blocks {
            for number in [block.compressed, block.crc, block.place] {
                bytes.extend_from_slice(&number.to_be_bytes());
            }
            for number in [block.frame, block.sequence, block.batch] {
                bytes.extend_from_slice(&number.to_be_bytes());
            }
        }
        let (length, crc) = (bytes.len() as u32, crc32c::crc32c(&bytes));
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(&crc.to_be_bytes());
        bytes.extend_from_slice(&MAGIC);
        bytes
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut fields = FieldReader(bytes);
        let mut footer = Self {
            next_frame: fields.u64()?,
            next_sequence: fields.u64()?,
            next_batch: fields.u64()?,
            hash: Hash(fields.array()?),
            raw_bytes: fields.u64()?,
            block_bytes: fields.u32()?,
            blocks: Vec::new(),
        };
        let count = fields.u32()? as usize;
        if fields.0.len() != count.checked_mul(ENTRY_BYTES)? {
            return None;
        }
        for _ in 0..count {
            footer.blocks.push(BlockEntry {
                compressed: fields.u32()?,
                crc: fields.u32()?,
                place: fields.u32()?,
                frame: fields.u64()?,
                sequence: fields.u64()?,
                batch: fields.u64()?,
            });
        }
        Some(footer)
    }

    /// Whether the numbers are possible for a segment with this header and file size.
    fn fits(&self, header: &SegmentHeader, file_bytes: u64, footer_bytes: u64) -> bool {
        let block_bytes = u64::from(self.block_bytes);
        let compressed: u64 = self.blocks.iter().map(|b| u64::from(b.compressed)).sum();
        (1..=BLOCK_BYTES_MAX).contains(&self.block_bytes)
            && self.raw_bytes.div_ceil(block_bytes) == self.blocks.len() as u64
            && HEADER_BYTES as u64 + compressed + footer_bytes + TRAILER_BYTES as u64 == file_bytes
            && self.next_frame > header.first_frame
            && self.next_sequence >= header.first_sequence
            && self.next_batch >= header.first_batch
            && self.blocks.first().is_some_and(|first| first.place == 0)
            && self
                .blocks
                .iter()
                .all(|block| block.place == NO_FRAME || block.place < self.block_bytes)
    }
}

thread_local! {
    /// Per-thread state for reading blocks: a buffer for the compressed bytes, and the zstd decompressor.
    static KEPT: RefCell<(Vec<u8>, Option<Decompressor<'static>>)> = const {
        RefCell::new((Vec::new(), None))
    };
}

/// Decompresses a block of at most `length` bytes. The buffer may be larger.
fn decompress(
    kept: &mut Option<Decompressor<'static>>,
    compressed: &[u8],
    length: usize,
    out: &mut Vec<u8>,
) -> io::Result<()> {
    let decompressor = match kept {
        Some(kept) => kept,
        None => kept.insert(Decompressor::new()?),
    };
    out.clear();
    out.reserve(length);
    decompressor.decompress_to_buffer(compressed, out)?;
    Ok(())
}

pub(crate) struct SealedSegment {
    path: PathBuf,
    header: SegmentHeader,
    file: Arc<dyn FileHandle>,
    footer: SegmentFooter,
    /// Offset of each block in the file, and the end of the last one.
    starts: Vec<u64>,
}

impl SealedSegment {
    /// Opens a segment by reading header and footer.
    pub(crate) fn open(env: &dyn Env, path: &Path) -> Result<Self, LogReadError> {
        let file = env.open(path, OpenMode::Read).map_err(IoError::at(path))?;
        let header = read_header(path, &*file)?.map_err(LogReadError::Damaged)?;
        let bytes = file.len().map_err(IoError::at(path))?;
        let damaged = |offset: u64, what: &str| {
            LogReadError::Damaged(LogDamage {
                segment: path.to_owned(),
                offset,
                frame: None,
                first_sequence: header.first_sequence,
                last_sequence: None,
                what: what.to_owned(),
            })
        };
        if header.kind != SegmentKind::Sealed {
            return Err(damaged(0, "the segment's header is not a sealed segment's"));
        }
        let trailer_at = bytes.saturating_sub(TRAILER_BYTES as u64);
        let trailer = read_exact(&*file, trailer_at, (bytes - trailer_at) as usize);
        let trailer = trailer.map_err(IoError::at(path))?;
        let mut fields = FieldReader(&trailer);
        let (Some(length), Some(crc), Some(MAGIC)) = (fields.u32(), fields.u32(), fields.array())
        else {
            return Err(damaged(
                trailer_at,
                "the segment does not end with its trailer",
            ));
        };
        let at = trailer_at.checked_sub(u64::from(length));
        let at = at.filter(|at| *at >= HEADER_BYTES as u64);
        let at = at.ok_or_else(|| damaged(trailer_at, "the footer is longer than the segment"))?;
        let footer = read_exact(&*file, at, length as usize).map_err(IoError::at(path))?;
        if crc32c::crc32c(&footer) != crc {
            return Err(damaged(at, "the checksum of the footer does not match"));
        }
        let footer = SegmentFooter::read(&footer)
            .filter(|footer| footer.fits(&header, bytes, u64::from(length)));
        let footer = footer.ok_or_else(|| damaged(at, "the footer contradicts the segment"))?;
        let mut starts = vec![HEADER_BYTES as u64];
        for block in &footer.blocks {
            starts.push(starts[starts.len() - 1] + u64::from(block.compressed));
        }
        Ok(Self {
            path: path.to_owned(),
            header,
            file,
            footer,
            starts,
        })
    }

    pub(crate) fn header(&self) -> &SegmentHeader {
        &self.header
    }

    pub(crate) fn footer(&self) -> &SegmentFooter {
        &self.footer
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn file(&self) -> &dyn FileHandle {
        &*self.file
    }

    pub(crate) fn raw_bytes(&self) -> u64 {
        self.footer.raw_bytes
    }

    pub(crate) fn bytes(&self) -> u64 {
        let blocks_end = self.starts.last().copied().unwrap_or_default();
        let entries = self.footer.blocks.len() * ENTRY_BYTES;
        blocks_end + (FOOTER_FIXED_BYTES + entries + TRAILER_BYTES) as u64
    }

    /// Offset at which to start looking for the frame of a key.
    pub(crate) fn start_from(&self, key: FrameKey) -> Option<u64> {
        let blocks = &self.footer.blocks;
        let after =
            blocks.partition_point(|block| key.is_from(block.frame, block.sequence, block.batch));
        // The entry of a block without a frame start has the next frame's numbers, so look from the block before.
        let mut found = blocks[..after].iter().enumerate().rev();
        let (index, block) = found.find(|(_, block)| block.place != NO_FRAME)?;
        Some(index as u64 * u64::from(self.footer.block_bytes) + u64::from(block.place))
    }

    /// Reads bytes of the frames into a buffer, replacing its contents.
    pub(crate) fn read_into(
        &self,
        mut blocks: impl BlockSource,
        offset: u64,
        length: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), LogReadError> {
        let block_bytes = u64::from(self.footer.block_bytes);
        out.clear();
        out.reserve(length);
        let mut at = offset;
        while out.len() < length {
            let number = (at / block_bytes) as u32;
            let from = (at % block_bytes) as usize;
            let read = |bytes: &mut Vec<u8>| self.block(number, bytes);
            let copied = blocks.show(self.header.first_frame, number, read, |block| {
                let to = block.len().min(from + length - out.len());
                let bytes = block.get(from..to).unwrap_or_default();
                out.extend_from_slice(bytes);
                bytes.len()
            })?;
            if copied == 0 {
                return Err(self.damaged(number, "the frames end too early"));
            }
            at += copied as u64;
        }
        Ok(())
    }

    /// Reads a compressed block and checks its checksum.
    pub(crate) fn compressed(&self, number: u32, out: &mut Vec<u8>) -> Result<(), LogReadError> {
        let index = number as usize;
        let Some(entry) = self.footer.blocks.get(index) else {
            return Err(self.damaged(number, "the frames end too early"));
        };
        let bytes = entry.compressed as usize;
        read_exact_into(&*self.file, self.starts[index], bytes, out)
            .map_err(IoError::at(&self.path))?;
        if crc32c::crc32c(out) != entry.crc {
            return Err(self.damaged(number, "the checksum of the block does not match"));
        }
        Ok(())
    }

    pub(crate) fn block(&self, number: u32, out: &mut Vec<u8>) -> Result<(), LogReadError> {
        KEPT.with_borrow_mut(|(compressed, decompressor)| {
            self.compressed(number, compressed)?;
            let start = u64::from(number) * u64::from(self.footer.block_bytes);
            let length =
                (self.footer.raw_bytes - start).min(u64::from(self.footer.block_bytes)) as usize;
            match decompress(decompressor, compressed, length, out) {
                Ok(()) if out.len() == length => Ok(()),
                _ => Err(self.damaged(number, "the block cannot be decompressed")),
            }
        })
    }

    fn damaged(&self, block: u32, what: &str) -> LogReadError {
        let index = block as usize;
        let entry = self.footer.blocks.get(index);
        let next = self.footer.blocks.get(index + 1);
        // The bytes at the start of the block belong to a frame that begins in an earlier one.
        let first = index
            .checked_sub(1)
            .and_then(|before| self.footer.blocks.get(before));
        LogReadError::Damaged(LogDamage {
            segment: self.path.clone(),
            offset: *self.starts.get(index).unwrap_or(&0),
            frame: entry.map(|entry| entry.frame),
            first_sequence: first
                .or(entry)
                .map_or(self.header.first_sequence, |entry| entry.sequence),
            last_sequence: Some(
                next.map_or(self.footer.next_sequence, |next| next.sequence)
                    .saturating_sub(1),
            ),
            what: what.to_owned(),
        })
    }
}
