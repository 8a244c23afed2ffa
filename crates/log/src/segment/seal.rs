//! Seals a closed segment: writes it compressed under another name, reads that back, renames it and only then removes
//! the raw one. A crash at any step leaves one good copy.
//!
//! The raw segment's frames must continue each other from the hash in the segment's header to the one in the next
//! segment's header, so every frame header holds what was appended. A frame that this process wrote must have the
//! checksum that its body had in memory, when its digests were computed; one such frame in 16 has its digests checked
//! as well. A frame found on the disk always has them checked.
//!
//! Each block is decompressed again before it is written, and compared. So the check of the file only has to compare
//! the bytes read with the bytes written, by one digest a block: a fifth of the frames' bytes.
//!
//! Leaves are dropped if the requests produce exactly the same ones: they are 32 bytes an action and do not compress.
//! Sealing recomputes them, except for most of the frames of this process, whose leaves were computed when their
//! actions were placed.

use std::io;
use std::path::Path;

use kedge_protocol::Hash;
use kedge_protocol::lanes::sha256_each;

use super::blocks::LastBlocks;
use super::raw_segment::WrittenFrame;
use super::sealed_segment::{BlockEntry, NO_FRAME, SealedSegment, SegmentFooter};
use super::{
    FrameKey, HEADER_BYTES, PAGE_BYTES, Segment, SegmentHeader, SegmentKind, UNFINISHED_ENDING,
    path_of,
};
use crate::env::{Env, FileHandle, OpenMode, write_all};
use crate::error::{IoError, LogReadError, MaintenanceError};
use crate::frame::{FrameHeader, SectionKind, StoredFrame};

/// Every 16th frame of this process has its digests checked and its leaves recomputed. Recomputing all leaves took a
/// third of the sealing time, and all digests a quarter of the rest; verification does both in any case.
const PROVED_EVERY: u64 = 16;

/// Digests computed in parallel: two take the time of one.
const HASHED_TOGETHER: usize = 2;

/// Every 16th block is compressed at both levels; the better one is used until the next comparison.
const COMPARED_EVERY: usize = 16;

/// The fast level is used if its block is larger by at most this fraction (1/8).
const LARGER_BY: usize = 8;

/// Levels and block size of sealed segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SegmentCompression {
    pub level: i32,
    /// zstd level that is used where it makes a block at most an eighth larger, in a third of the time: for texts that
    /// repeat each other. Negative levels only look for repetitions.
    pub fast_level: i32,
    /// Uncompressed size of a block.
    pub block_bytes: u32,
}

/// Result of sealing a segment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SealReport {
    pub first_frame: u64,
    pub frames: u64,
    pub actions: u64,
    /// Size of the frames before sealing.
    pub raw_bytes: u64,
    /// Size of the sealed file.
    pub sealed_bytes: u64,
    /// Frames that keep their leaves, because their requests produce different ones.
    pub leaves_kept: u64,
}

/// Writes a segment in sealed form and removes the raw one. `next` is the header of the following segment. `swap` is
/// called between the two steps, once the sealed one is durable. `is_ending` is polled after each frame written and
/// each block read back, and stops the sealing.
pub(crate) fn seal(
    env: &dyn Env,
    dir: &Path,
    (segment, next): (&Segment, &SegmentHeader),
    compression: SegmentCompression,
    is_ending: &mut dyn FnMut() -> bool,
    swap: impl FnOnce(SealedSegment),
) -> Result<SealReport, MaintenanceError> {
    let name = segment.header().name();
    let path = path_of(dir, name, SegmentKind::Sealed);
    let unfinished = path.with_extension(UNFINISHED_ENDING);
    let written = write(env, &unfinished, (segment, next), compression, is_ending);
    let sealed = match written {
        Ok(sealed) => sealed,
        Err(error) => {
            // The next start removes it otherwise.
            let _ = env.remove(&unfinished);
            return Err(error);
        }
    };
    env.rename(&unfinished, &path).map_err(IoError::at(&path))?;
    env.sync_dir(dir).map_err(IoError::at(dir))?;
    swap(SealedSegment::open(env, &path)?);
    env.remove(segment.path())
        .map_err(IoError::at(segment.path()))?;
    env.sync_dir(dir).map_err(IoError::at(dir))?;
    Ok(sealed)
}

fn write(
    env: &dyn Env,
    path: &Path,
    (segment, next): (&Segment, &SegmentHeader),
    compression: SegmentCompression,
    is_ending: &mut dyn FnMut() -> bool,
) -> Result<SealReport, MaintenanceError> {
    let file = env
        .open(path, OpenMode::Create)
        .map_err(IoError::at(path))?;
    let header = SegmentHeader {
        kind: SegmentKind::Sealed,
        ..segment.header().clone()
    };
    write_all(&*file, &header.to_bytes(), 0).map_err(IoError::at(path))?;
    let mut writer = BlockWriter::new(&*file, path, &header, compression)?;
    let (mut frames, mut leaves_kept) = (0, 0);
    let hash = each_frame(segment, |frame| {
        if is_ending() {
            return Err(MaintenanceError::Ended);
        }
        frames += 1;
        if is_without_leaves(segment, frame) {
            return writer.push_without(frame, SectionKind::Leaves);
        }
        leaves_kept += u64::from(frame.section(SectionKind::Leaves).is_some());
        writer.push(frame)
    })?;
    if hash != next.previous {
        let what = "its last frame is not the one that the next segment continues";
        return Err(segment.damaged(0, None, what).into());
    }
    let written = writer.finish(hash)?;
    file.sync().map_err(IoError::at(path))?;
    check(env, path, &header, &written, is_ending)?;
    Ok(SealReport {
        first_frame: header.first_frame,
        frames,
        actions: written.footer.next_sequence - header.first_sequence,
        raw_bytes: written.footer.raw_bytes,
        sealed_bytes: written.bytes,
        leaves_kept,
    })
}

/// The record of a frame that this process wrote to the segment.
fn written_of(segment: &Segment, header: &FrameHeader) -> Option<WrittenFrame> {
    segment.raw().and_then(|raw| raw.written(header.number))
}

/// Whether a frame is sealed without leaves, because its requests produce exactly the same ones.
fn is_without_leaves(segment: &Segment, frame: &StoredFrame) -> bool {
    let header = frame.header();
    let follow = written_of(segment, header).is_some_and(|written| written.leaves_follow);
    let proved = !follow || header.number.is_multiple_of(PROVED_EVERY);
    frame.section(SectionKind::Leaves).is_some() && (!proved || frame.leaves_follow())
}

/// Whether a frame's digests have to be checked; an error if it is not the frame that this process wrote.
fn is_hashed(segment: &Segment, at: u64, header: &FrameHeader) -> Result<bool, LogReadError> {
    let Some(written) = written_of(segment, header) else {
        return Ok(true);
    };
    if written.body_crc != header.body_crc {
        let what = "the frame's body is not the one that was written";
        return Err(segment.damaged(at, Some(header), what));
    }
    Ok(header.number.is_multiple_of(PROVED_EVERY))
}

/// Calls `each` with every frame of a segment, in order, after checking that each continues the one before; returns the
/// hash of the last one.
fn each_frame<E: From<LogReadError>>(
    segment: &Segment,
    mut each: impl FnMut(&StoredFrame) -> Result<(), E>,
) -> Result<Hash, E> {
    let (mut next, mut hash) = (segment.header().first_frame, segment.header().previous);
    let (mut at, end) = match segment {
        Segment::Sealed(sealed) => (0, sealed.raw_bytes()),
        Segment::Raw(raw) => {
            let Some(last) = raw.published().checked_sub(1) else {
                return Ok(hash);
            };
            let last = raw.place_from(FrameKey::Frame(next + last as u64));
            (PAGE_BYTES, last.unwrap_or(0) + 1)
        }
    };
    let mut blocks = LastBlocks::default();
    // One buffer for all frames: the kernel would clear fresh pages for each.
    let mut memory = Vec::new();
    let mut frames = Vec::new();
    while at < end {
        while at < end && frames.len() < HASHED_TOGETHER {
            let header = segment.frame_header(&mut blocks, at)?;
            if (header.number, header.previous) != (next, hash) {
                let what = "the frame does not continue the previous one";
                return Err(segment.damaged(at, Some(&header), what).into());
            }
            (next, hash) = (next + 1, header.hash());
            let is_hashed = is_hashed(segment, at, &header)?;
            let bytes = memory.pop().unwrap_or_default();
            let frame = segment.frame(&mut blocks, at, &header, bytes)?;
            frames.push((at, is_hashed, frame));
            at = segment.after(at, &header);
        }
        let hashed: Vec<_> = frames.iter().filter(|(_, hashed, _)| *hashed).collect();
        let checked: Vec<_> = hashed.iter().map(|(.., frame)| frame).collect();
        let checked = StoredFrame::check_digests_of(&checked);
        for ((at, _, frame), checked) in hashed.into_iter().zip(checked) {
            checked.map_err(|error| segment.damaged(*at, Some(frame.header()), error))?;
        }
        for (.., frame) in &frames {
            each(frame)?;
        }
        memory.extend(frames.drain(..).map(|(.., frame)| frame.into_bytes()));
    }
    Ok(hash)
}

/// Contents of a sealed segment's file, for the check.
struct SealedContents {
    footer: SegmentFooter,
    /// SHA-256 of each compressed block.
    digests: Vec<Hash>,
    bytes: u64,
}

/// Reads a sealed segment back: header, footer and blocks must be the written ones.
fn check(
    env: &dyn Env,
    path: &Path,
    header: &SegmentHeader,
    written: &SealedContents,
    is_ending: &mut dyn FnMut() -> bool,
) -> Result<(), MaintenanceError> {
    let segment = SealedSegment::open(env, path)?;
    let mut digests = Vec::with_capacity(written.digests.len());
    let mut compressed: [Vec<u8>; HASHED_TOGETHER] = Default::default();
    let blocks: Vec<u32> = (0..segment.footer().blocks.len() as u32).collect();
    for blocks in blocks.chunks(HASHED_TOGETHER) {
        for (block, compressed) in blocks.iter().zip(&mut compressed) {
            if is_ending() {
                return Err(MaintenanceError::Ended);
            }
            segment.compressed(*block, compressed)?;
        }
        digests.extend(sha256_each(&compressed[..blocks.len()]));
    }
    let is_same = segment.header() == header
        && *segment.footer() == written.footer
        && segment.bytes() == written.bytes
        && digests == written.digests;
    if is_same {
        return Ok(());
    }
    let what = "what was written does not read back the same";
    Err(Segment::Sealed(segment).damaged(0, None, what).into())
}

/// Checks a sealed segment on its own: every block, checksum and digest, and the chain of frames.
pub(crate) fn check_whole(segment: &Segment) -> Result<(), LogReadError> {
    each_frame(segment, |_| Ok(())).map(|_| ())
}

/// Splits frames into blocks and writes them compressed.
struct BlockWriter<'a> {
    file: &'a dyn FileHandle,
    path: &'a Path,
    compressor: zstd::bulk::Compressor<'static>,
    fast: zstd::bulk::Compressor<'static>,
    /// The fast level is in use until the next comparison.
    is_fast: bool,
    decompressor: zstd::bulk::Decompressor<'static>,
    block: Vec<u8>,
    decompressed: Vec<u8>,
    /// Compressed blocks that are hashed and written together; the first `waiting` of them are in use.
    compressed: [Vec<u8>; HASHED_TOGETHER],
    waiting: usize,
    /// Digests of the written blocks.
    digests: Vec<Hash>,
    /// Buffer for the header of a frame that loses a section.
    head: Vec<u8>,
    /// Footer entry of the current block.
    entry: Option<BlockEntry>,
    at: u64,
    footer: SegmentFooter,
}

impl<'a> BlockWriter<'a> {
    fn new(
        file: &'a dyn FileHandle,
        path: &'a Path,
        header: &SegmentHeader,
        compression: SegmentCompression,
    ) -> Result<Self, IoError> {
        let compressor = zstd::bulk::Compressor::new(compression.level);
        let fast = zstd::bulk::Compressor::new(compression.fast_level);
        let decompressor = zstd::bulk::Decompressor::new();
        let block_bytes = compression.block_bytes as usize;
        Ok(Self {
            file,
            path,
            compressor: compressor.map_err(IoError::at(path))?,
            fast: fast.map_err(IoError::at(path))?,
            is_fast: false,
            decompressor: decompressor.map_err(IoError::at(path))?,
            block: Vec::with_capacity(block_bytes),
            decompressed: Vec::with_capacity(block_bytes),
            compressed: std::array::from_fn(|_| {
                Vec::with_capacity(zstd::zstd_safe::compress_bound(block_bytes))
            }),
            waiting: 0,
            digests: Vec::new(),
            head: Vec::new(),
            entry: None,
            at: HEADER_BYTES as u64,
            footer: SegmentFooter {
                next_frame: header.first_frame,
                next_sequence: header.first_sequence,
                next_batch: header.first_batch,
                hash: header.previous,
                raw_bytes: 0,
                block_bytes: compression.block_bytes,
                blocks: Vec::new(),
            },
        })
    }

    fn push(&mut self, frame: &StoredFrame) -> Result<(), MaintenanceError> {
        self.push_parts(frame.header(), &[frame.bytes()])
    }

    /// Adds a frame without the bytes of a section.
    fn push_without(
        &mut self,
        frame: &StoredFrame,
        dropped: SectionKind,
    ) -> Result<(), MaintenanceError> {
        let (header, sections) = frame.without(dropped);
        let mut head = std::mem::take(&mut self.head);
        head.clear();
        header.write(&mut head);
        let parts: Vec<&[u8]> = std::iter::once(&head[..]).chain(sections).collect();
        let pushed = self.push_parts(&header, &parts);
        self.head = head;
        pushed
    }

    fn push_parts(
        &mut self,
        header: &FrameHeader,
        parts: &[&[u8]],
    ) -> Result<(), MaintenanceError> {
        self.entry.get_or_insert(BlockEntry {
            compressed: 0,
            crc: 0,
            place: self.block.len() as u32,
            frame: header.number,
            sequence: header.first_sequence,
            batch: header.first_batch,
        });
        self.footer.next_frame = header.number + 1;
        self.footer.next_sequence = header.next_sequence();
        self.footer.next_batch = header.next_batch();
        for part in parts {
            let mut bytes = *part;
            self.footer.raw_bytes += bytes.len() as u64;
            while !bytes.is_empty() {
                let room = self.footer.block_bytes as usize - self.block.len();
                let (fits, rest) = bytes.split_at(room.min(bytes.len()));
                self.block.extend_from_slice(fits);
                bytes = rest;
                if self.block.len() == self.footer.block_bytes as usize {
                    self.end_block()?;
                }
            }
        }
        Ok(())
    }

    /// Compresses the block and begins the next one. Full groups of blocks are written.
    fn end_block(&mut self) -> Result<(), IoError> {
        self.compress().map_err(IoError::at(self.path))?;
        let compressed = &self.compressed[self.waiting];
        self.waiting += 1;
        self.block.clear();
        let entry = self.entry.take().unwrap_or(BlockEntry {
            compressed: 0,
            crc: 0,
            place: NO_FRAME,
            frame: self.footer.next_frame,
            sequence: self.footer.next_sequence,
            batch: self.footer.next_batch,
        });
        self.footer.blocks.push(BlockEntry {
            compressed: compressed.len() as u32,
            crc: crc32c::crc32c(compressed),
            ..entry
        });
        if self.waiting == HASHED_TOGETHER {
            self.write_blocks()?;
        }
        Ok(())
    }

    fn write_blocks(&mut self) -> Result<(), IoError> {
        let waiting = &self.compressed[..std::mem::take(&mut self.waiting)];
        self.digests.extend(sha256_each(waiting));
        for compressed in waiting {
            write_all(self.file, compressed, self.at).map_err(IoError::at(self.path))?;
            self.at += compressed.len() as u64;
        }
        Ok(())
    }

    /// Compresses the block, and checks that decompressing restores it.
    fn compress(&mut self) -> io::Result<()> {
        let (block, waiting) = (&self.block, self.waiting);
        let compressed = &mut self.compressed[waiting];
        let mut compress = |with: &mut zstd::bulk::Compressor<'_>| {
            compressed.clear();
            with.compress_to_buffer(block, compressed)
        };
        if self.footer.blocks.len().is_multiple_of(COMPARED_EVERY) {
            let fast_bytes = compress(&mut self.fast)?;
            let bytes = compress(&mut self.compressor)?;
            self.is_fast = fast_bytes <= bytes + bytes / LARGER_BY;
        } else if self.is_fast {
            compress(&mut self.fast)?;
        } else {
            compress(&mut self.compressor)?;
        }
        self.decompressed.clear();
        self.decompressor
            .decompress_to_buffer(&self.compressed[waiting], &mut self.decompressed)?;
        if self.decompressed == self.block {
            return Ok(());
        }
        Err(io::Error::other(
            "a compressed block does not decompress to what it was made of",
        ))
    }

    /// Writes the remaining blocks and the footer, which names the hash of the last frame.
    fn finish(mut self, hash: Hash) -> Result<SealedContents, IoError> {
        if !self.block.is_empty() {
            self.end_block()?;
        }
        self.write_blocks()?;
        self.footer.hash = hash;
        let footer = self.footer.to_bytes();
        write_all(self.file, &footer, self.at).map_err(IoError::at(self.path))?;
        Ok(SealedContents {
            bytes: self.at + footer.len() as u64,
            digests: self.digests,
            footer: self.footer,
        })
    }
}
