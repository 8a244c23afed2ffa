//! Seals a closed segment: writes it compressed under another name, reads that back, renames it and only then removes
//! the raw one. A crash at any step leaves one good copy.
//!
//! The digests of each frame are checked when it is read from the raw segment. Each block is decompressed again before it
//! is written, and must be what was compressed. So for the file it is enough that it holds the same bytes as were written
//! to it: a fifth of those of the frames, by one digest.
//!
//! The leaves are dropped where the requests give exactly the same ones: they are 32 bytes an action and do not
//! compress. That is computed, but for most of the frames that this process made itself: it computed their leaves when it
//! placed their actions.

use std::io;
use std::path::Path;

use aws_lc_rs::digest::{Context, SHA256};

use super::blocks::LastBlocks;
use super::sealed::{BlockEntry, Footer, NO_FRAME, SealedSegment};
use super::{HEADER_BYTES, Kind, Segment, SegmentHeader, UNFINISHED_ENDING, path_of};
use crate::env::{Env, File, Mode, write_all};
use crate::error::{IoError, MaintenanceError, ReadError};
use crate::frame::{SectionKind, StoredFrame};

/// Of the frames whose leaves this process computed from their requests, one in so many is proved to be so. To prove it of
/// each took a third of the time of sealing, and the log's readers compute them in any case.
const PROVED_EVERY: u64 = 16;

/// Frames whose digests are computed side by side: two take the time of one.
const CHECKED_TOGETHER: usize = 2;

/// How segments are compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Compression {
    /// zstd's level.
    pub level: i32,
    /// Bytes of frames in a block before it is compressed.
    pub block_bytes: u32,
}

/// What was sealed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sealed {
    /// The number of its first frame.
    pub first_frame: u64,
    /// How many frames it holds.
    pub frames: u64,
    /// How many actions it holds.
    pub actions: u64,
    /// Bytes of the frames before sealing.
    pub raw_bytes: u64,
    /// Bytes of the file.
    pub sealed_bytes: u64,
    /// Frames that keep their leaves, because their requests do not produce the same ones.
    pub leaves_kept: u64,
}

/// Writes a segment as a sealed one and removes the raw one; returns what was sealed. `swap` is called between
/// the two steps, once the sealed one is durable. `is_ending` is asked after each frame that is written and each block that is
/// read back; once it is true, sealing ends.
pub(crate) fn seal(
    env: &dyn Env,
    dir: &Path,
    segment: &Segment,
    compression: Compression,
    is_ending: &mut dyn FnMut() -> bool,
    swap: impl FnOnce(SealedSegment),
) -> Result<Sealed, MaintenanceError> {
    let name = segment.header().name();
    let path = path_of(dir, name, Kind::Sealed);
    let unfinished = path.with_extension(UNFINISHED_ENDING);
    let written = write(env, &unfinished, segment, compression, is_ending);
    let sealed = match written {
        Ok(sealed) => sealed,
        Err(error) => {
            // A start removes what cannot be removed now.
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
    segment: &Segment,
    compression: Compression,
    is_ending: &mut dyn FnMut() -> bool,
) -> Result<Sealed, MaintenanceError> {
    let file = env.open(path, Mode::Create).map_err(IoError::at(path))?;
    let header = SegmentHeader {
        kind: Kind::Sealed,
        ..segment.header().clone()
    };
    write_all(&*file, &header.to_bytes(), 0).map_err(IoError::at(path))?;
    let mut writer = Writer::new(&*file, path, &header, compression)?;
    let (mut frames, mut leaves_kept) = (0, 0);
    each_frame(segment, |_, frame| {
        if is_ending() {
            return Err(MaintenanceError::Ended);
        }
        frames += 1;
        let number = frame.header().number;
        let follow = segment.raw().is_some_and(|raw| raw.leaves_follow(number));
        let proved = !follow || number.is_multiple_of(PROVED_EVERY);
        if let Some(without) = frame.without_leaves(proved) {
            return writer.push(&without);
        }
        leaves_kept += u64::from(frame.section(SectionKind::Leaves).is_some());
        writer.push(frame)
    })?;
    let written = writer.finish()?;
    file.sync().map_err(IoError::at(path))?;
    check(env, path, &header, &written, is_ending)?;
    Ok(Sealed {
        first_frame: header.first_frame,
        frames,
        actions: written.footer.next_sequence - header.first_sequence,
        raw_bytes: written.footer.raw_bytes,
        sealed_bytes: written.bytes,
        leaves_kept,
    })
}

/// Calls `each` with every frame of a segment, in order.
fn each_frame<E: From<ReadError>>(
    segment: &Segment,
    mut each: impl FnMut(u64, &StoredFrame) -> Result<(), E>,
) -> Result<(), E> {
    let (mut at, end) = match segment {
        Segment::Sealed(sealed) => (0, sealed.raw_bytes()),
        Segment::Raw(raw) => {
            let Some(last) = raw.published().checked_sub(1) else {
                return Ok(());
            };
            let last = segment.header().first_frame + last as u64;
            let last = raw.place_from(super::Key::Frame(last)).unwrap_or(0);
            (super::PAGE_BYTES, last + 1)
        }
    };
    let mut blocks = LastBlocks::default();
    // One memory for all of them: the kernel would clear fresh pages for each.
    let mut memory = Vec::new();
    let (mut frames, mut places) = (Vec::new(), Vec::new());
    while at < end {
        while at < end && frames.len() < CHECKED_TOGETHER {
            let header = segment.frame_header(&mut blocks, at)?;
            let bytes = memory.pop().unwrap_or_default();
            frames.push(segment.frame(&mut blocks, at, &header, bytes)?);
            places.push(at);
            at = segment.after(at, &header);
        }
        let checked = StoredFrame::check_digests_of(&frames);
        for ((frame, at), checked) in frames.iter().zip(places.drain(..)).zip(checked) {
            checked.map_err(|error| segment.damaged(at, Some(frame.header()), error))?;
            each(at, frame)?;
        }
        memory.extend(frames.drain(..).map(StoredFrame::into_bytes));
    }
    Ok(())
}

/// What was written to a sealed segment's file.
struct Written {
    footer: Footer,
    /// Of all blocks as they are in the file.
    digest: [u8; 32],
    /// The file's length.
    bytes: u64,
}

fn digest_of(context: Context) -> [u8; 32] {
    let mut digest = [0; 32];
    digest.copy_from_slice(context.finish().as_ref());
    digest
}

/// Reads a sealed segment back: header, footer and blocks must be those that were written.
fn check(
    env: &dyn Env,
    path: &Path,
    header: &SegmentHeader,
    written: &Written,
    is_ending: &mut dyn FnMut() -> bool,
) -> Result<(), MaintenanceError> {
    let segment = SealedSegment::open(env, path)?;
    let mut digest = Context::new(&SHA256);
    let mut compressed = Vec::new();
    for block in 0..segment.footer().blocks.len() {
        if is_ending() {
            return Err(MaintenanceError::Ended);
        }
        segment.compressed(block as u32, &mut compressed)?;
        digest.update(&compressed);
    }
    let is_same = segment.header() == header
        && *segment.footer() == written.footer
        && segment.bytes() == written.bytes
        && digest_of(digest) == written.digest;
    if is_same {
        return Ok(());
    }
    let what = "what was written does not read back the same";
    Err(Segment::Sealed(segment).damaged(0, None, what).into())
}

/// Checks a whole sealed segment on its own: every block, every checksum, every digest, its chain.
pub(crate) fn check_whole(segment: &Segment) -> Result<(), ReadError> {
    let mut previous = segment.header().previous;
    let mut next = segment.header().first_frame;
    each_frame(segment, |at, frame| {
        let header = frame.header();
        if header.previous != previous || header.number != next {
            let what = "the frame does not continue the previous one";
            return Err(segment.damaged(at, Some(header), what));
        }
        (previous, next) = (header.hash(), header.number + 1);
        Ok(())
    })
}

/// Splits frames into blocks and writes them compressed.
struct Writer<'a> {
    file: &'a dyn File,
    path: &'a Path,
    compressor: zstd::bulk::Compressor<'static>,
    decompressor: zstd::bulk::Decompressor<'static>,
    block: Vec<u8>,
    compressed: Vec<u8>,
    decompressed: Vec<u8>,
    /// Over all compressed blocks.
    digest: Context,
    /// The footer's entry for the current block.
    entry: Option<BlockEntry>,
    at: u64,
    footer: Footer,
}

impl<'a> Writer<'a> {
    fn new(
        file: &'a dyn File,
        path: &'a Path,
        header: &SegmentHeader,
        compression: Compression,
    ) -> Result<Self, IoError> {
        let compressor = zstd::bulk::Compressor::new(compression.level);
        let decompressor = zstd::bulk::Decompressor::new();
        let block_bytes = compression.block_bytes as usize;
        Ok(Self {
            file,
            path,
            compressor: compressor.map_err(IoError::at(path))?,
            decompressor: decompressor.map_err(IoError::at(path))?,
            block: Vec::with_capacity(block_bytes),
            compressed: Vec::with_capacity(zstd::zstd_safe::compress_bound(block_bytes)),
            decompressed: Vec::with_capacity(block_bytes),
            digest: Context::new(&SHA256),
            entry: None,
            at: HEADER_BYTES as u64,
            footer: Footer {
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
        let header = frame.header();
        self.entry.get_or_insert(BlockEntry {
            compressed: 0,
            crc: 0,
            place: self.block.len() as u32,
            frame: header.number,
            sequence: header.first_sequence,
            batch: header.first_batch,
        });
        let mut bytes = frame.bytes();
        self.footer.raw_bytes += bytes.len() as u64;
        self.footer.next_frame = header.number + 1;
        self.footer.next_sequence = header.next_sequence();
        self.footer.next_batch = header.next_batch();
        self.footer.hash = header.hash();
        while !bytes.is_empty() {
            let room = self.footer.block_bytes as usize - self.block.len();
            let (fits, rest) = bytes.split_at(room.min(bytes.len()));
            self.block.extend_from_slice(fits);
            bytes = rest;
            if self.block.len() == self.footer.block_bytes as usize {
                self.write_block()?;
            }
        }
        Ok(())
    }

    fn write_block(&mut self) -> Result<(), IoError> {
        self.compress().map_err(IoError::at(self.path))?;
        let compressed = &self.compressed;
        write_all(self.file, compressed, self.at).map_err(IoError::at(self.path))?;
        self.digest.update(compressed);
        self.at += compressed.len() as u64;
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
        Ok(())
    }

    /// Compresses the block, and ensures that decompressing gives it back.
    fn compress(&mut self) -> io::Result<()> {
        self.compressed.clear();
        self.decompressed.clear();
        self.compressor
            .compress_to_buffer(&self.block, &mut self.compressed)?;
        self.decompressor
            .decompress_to_buffer(&self.compressed, &mut self.decompressed)?;
        if self.decompressed == self.block {
            return Ok(());
        }
        Err(io::Error::other(
            "a compressed block does not decompress to what it was made of",
        ))
    }

    /// Writes the rest and the footer.
    fn finish(mut self) -> Result<Written, IoError> {
        if !self.block.is_empty() {
            self.write_block()?;
        }
        let footer = self.footer.to_bytes();
        write_all(self.file, &footer, self.at).map_err(IoError::at(self.path))?;
        Ok(Written {
            bytes: self.at + footer.len() as u64,
            digest: digest_of(self.digest),
            footer: self.footer,
        })
    }
}
