//! Segments: the files of the log. A raw segment is appended to. Once closed, it is sealed: compressed in blocks that
//! can be read one at a time. Both are read the same way, as one run of bytes with frames at known places.

pub(crate) mod blocks;
pub(crate) mod raw_segment;
pub(crate) mod scan;
pub(crate) mod seal;
pub(crate) mod sealed_segment;

use std::path::{Path, PathBuf};

use kedge_protocol::Hash;

use self::blocks::{BlockCache, BlockSource};
use self::raw_segment::RawSegment;
use self::sealed_segment::SealedSegment;
use crate::bytes::{FieldReader, crc_around};
use crate::env::FileHandle;
use crate::error::{LogDamage, LogReadError};
use crate::frame::header::{FIRST_FORMAT, FORMAT, FRAME_BYTES_MAX, HEADER_BYTES_MAX};
use crate::frame::{FrameHeader, StoredFrame};

/// Frames in a raw segment begin at multiples of this size, the first one after the header's page. So no write touches
/// a page with durable bytes, and recovery looks for frames in few places.
pub(crate) const PAGE_BYTES: u64 = 4096;
pub(crate) const HEADER_BYTES: usize = 128;
/// The first bytes of a segment.
pub(crate) const MAGIC: [u8; 8] = *b"\xffKSEGMT\n";

const CRC_AT: usize = 12;
const RAW_ENDING: &str = "log";
const SEALED_ENDING: &str = "seg";
/// Extension of a raw segment in creation.
pub(crate) const NEW_ENDING: &str = "new";
/// Extension of a sealed segment in creation.
pub(crate) const UNFINISHED_ENDING: &str = "tmp";

/// Form of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SegmentKind {
    /// Frames as they were appended.
    Raw = 1,
    /// Frames in compressed blocks.
    Sealed = 2,
}

/// Name of a segment's file. The lexical order of names is the order of the log.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SegmentName {
    /// The sequence of its first action, or of the next one.
    pub first_sequence: u64,
    pub first_frame: u64,
}

impl SegmentName {
    pub fn file_name(self, kind: SegmentKind) -> String {
        let ending = match kind {
            SegmentKind::Raw => RAW_ENDING,
            SegmentKind::Sealed => SEALED_ENDING,
        };
        format!(
            "{:020}-{:020}.{ending}",
            self.first_sequence, self.first_frame
        )
    }

    /// Parses a file name; `None` if it is not a segment's.
    pub fn of_file(name: &str) -> Option<(Self, SegmentKind)> {
        let (stem, ending) = name.split_once('.')?;
        let kind = match ending {
            RAW_ENDING => SegmentKind::Raw,
            SEALED_ENDING => SegmentKind::Sealed,
            _ => return None,
        };
        let (first_sequence, first_frame) = stem.split_once('-')?;
        let name_read = Self {
            first_sequence: first_sequence.parse().ok()?,
            first_frame: first_frame.parse().ok()?,
        };
        (name_read.file_name(kind) == name).then_some((name_read, kind))
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SegmentHeader {
    /// Highest format of frames that the segment may hold.
    pub format: u16,
    pub kind: SegmentKind,
    /// The log's identity: the separator of its domain.
    pub identity: Hash,
    /// The hash of the frame before its first one.
    pub previous: Hash,
    pub first_frame: u64,
    /// The sequence of its first action, or of the next one.
    pub first_sequence: u64,
    /// The number of its first batch, or of the next one.
    pub first_batch: u64,
}

impl SegmentHeader {
    pub fn name(&self) -> SegmentName {
        SegmentName {
            first_sequence: self.first_sequence,
            first_frame: self.first_frame,
        }
    }

    pub(crate) fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&self.format.to_be_bytes());
        bytes.extend_from_slice(&(self.kind as u16).to_be_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&self.identity.0);
        bytes.extend_from_slice(&self.previous.0);
        for number in [self.first_frame, self.first_sequence, self.first_batch] {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        let mut whole = [0; HEADER_BYTES];
        whole[..bytes.len()].copy_from_slice(&bytes);
        let crc = crc_around(&whole, CRC_AT);
        whole[CRC_AT..CRC_AT + 4].copy_from_slice(&crc.to_be_bytes());
        whole
    }

    /// Parses the header at the start of `bytes`.
    ///
    /// # Errors
    /// A message about the invalid field.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let whole = bytes
            .get(..HEADER_BYTES)
            .ok_or("the segment's header is cut off")?;
        let mut fields = FieldReader(whole);
        if fields.array() != Some(MAGIC) {
            return Err("the file does not begin like a segment".to_owned());
        }
        let mut read = || {
            let (format, kind, crc) = (fields.u16()?, fields.u16()?, fields.u32()?);
            let header = Self {
                format,
                kind: SegmentKind::Raw,
                identity: Hash(fields.array()?),
                previous: Hash(fields.array()?),
                first_frame: fields.u64()?,
                first_sequence: fields.u64()?,
                first_batch: fields.u64()?,
            };
            Some((kind, crc, header))
        };
        let (kind, crc, header) = read().ok_or("the segment's header is cut off")?;
        if crc_around(whole, CRC_AT) != crc {
            return Err("the checksum of the segment's header does not match".to_owned());
        }
        let format = header.format;
        if !(FIRST_FORMAT..=FORMAT).contains(&format) {
            return Err(format!(
                "segment format {format} is not known; this program knows {FIRST_FORMAT} to {FORMAT}"
            ));
        }
        let kind = match kind {
            1 => SegmentKind::Raw,
            2 => SegmentKind::Sealed,
            other => return Err(format!("segment kind {other} is not known")),
        };
        Ok(Self { kind, ..header })
    }
}

/// A frame, by its number or by a sequence or batch in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FrameKey {
    Frame(u64),
    Sequence(u64),
    Batch(u64),
}

impl FrameKey {
    /// Whether a frame or segment that begins at these numbers begins at or before the key.
    pub(crate) fn is_from(self, frame: u64, sequence: u64, batch: u64) -> bool {
        match self {
            Self::Frame(key) => frame <= key,
            Self::Sequence(key) => sequence <= key,
            Self::Batch(key) => batch <= key,
        }
    }

    fn is_in(self, header: &FrameHeader) -> bool {
        match self {
            Self::Frame(key) => header.number == key,
            Self::Sequence(key) => (header.first_sequence..header.next_sequence()).contains(&key),
            Self::Batch(key) => (header.first_batch..header.next_batch()).contains(&key),
        }
    }
}

pub(crate) enum Segment {
    Raw(RawSegment),
    Sealed(SealedSegment),
}

impl Segment {
    pub(crate) fn raw(&self) -> Option<&RawSegment> {
        match self {
            Self::Raw(raw) => Some(raw),
            Self::Sealed(_) => None,
        }
    }

    pub(crate) fn header(&self) -> &SegmentHeader {
        match self {
            Self::Raw(raw) => raw.header(),
            Self::Sealed(sealed) => sealed.header(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Raw(raw) => raw.path(),
            Self::Sealed(sealed) => sealed.path(),
        }
    }

    pub(crate) fn file(&self) -> &dyn FileHandle {
        match self {
            Self::Raw(raw) => raw.file(),
            Self::Sealed(sealed) => sealed.file(),
        }
    }

    /// Reads a part of the run of frames.
    pub(crate) fn read(
        &self,
        blocks: impl BlockSource,
        offset: u64,
        length: usize,
    ) -> Result<Vec<u8>, LogReadError> {
        let mut bytes = Vec::new();
        self.read_into(blocks, offset, length, &mut bytes)?;
        Ok(bytes)
    }

    /// Like [`Self::read`], into a buffer, replacing its contents.
    fn read_into(
        &self,
        blocks: impl BlockSource,
        offset: u64,
        length: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), LogReadError> {
        match self {
            Self::Raw(raw) => raw.read_into(offset, length, out),
            Self::Sealed(sealed) => sealed.read_into(blocks, offset, length, out),
        }
    }

    /// Length of the run of frames.
    fn end(&self) -> u64 {
        match self {
            Self::Raw(raw) => raw.bytes(),
            Self::Sealed(sealed) => sealed.raw_bytes(),
        }
    }

    /// A damage error with this segment's path.
    pub(crate) fn damaged(
        &self,
        offset: u64,
        frame: Option<&FrameHeader>,
        what: impl std::fmt::Display,
    ) -> LogReadError {
        LogReadError::Damaged(LogDamage {
            segment: self.path().to_owned(),
            offset,
            frame: frame.map(|frame| frame.number),
            first_sequence: frame
                .map_or(self.header().first_sequence, |frame| frame.first_sequence),
            last_sequence: frame.map(|frame| frame.next_sequence().saturating_sub(1)),
            what: what.to_string(),
        })
    }

    /// Reads the header of the frame at `offset`.
    pub(crate) fn frame_header(
        &self,
        blocks: impl BlockSource,
        offset: u64,
    ) -> Result<FrameHeader, LogReadError> {
        let length = (self.end().saturating_sub(offset)).min(HEADER_BYTES_MAX as u64);
        let bytes = self.read(blocks, offset, length as usize)?;
        FrameHeader::read(&bytes).map_err(|error| self.damaged(offset, None, error))
    }

    /// Finds the frame of a key among the published ones; returns its offset and header.
    pub(crate) fn find(
        &self,
        cache: &BlockCache,
        key: FrameKey,
    ) -> Result<Option<(u64, FrameHeader)>, LogReadError> {
        match self {
            Self::Raw(raw) => {
                let Some(offset) = raw.place_from(key) else {
                    return Ok(None);
                };
                let header = self.frame_header(cache, offset)?;
                Ok(key.is_in(&header).then_some((offset, header)))
            }
            Self::Sealed(sealed) => {
                let Some(mut at) = sealed.start_from(key) else {
                    return Ok(None);
                };
                let mut last = None;
                while at < sealed.raw_bytes() {
                    let header = self.frame_header(cache, at)?;
                    if !key.is_from(header.number, header.first_sequence, header.first_batch) {
                        break;
                    }
                    let next = at + header.frame_bytes() as u64;
                    last = Some((at, header));
                    at = next;
                }
                Ok(last.filter(|(_, header)| key.is_in(header)))
            }
        }
    }

    /// Reads a whole frame into a buffer and checks its checksums.
    pub(crate) fn frame(
        &self,
        blocks: impl BlockSource,
        offset: u64,
        header: &FrameHeader,
        mut buffer: Vec<u8>,
    ) -> Result<StoredFrame, LogReadError> {
        let length = header.frame_bytes();
        if length > FRAME_BYTES_MAX || offset + length as u64 > self.end() {
            return Err(self.damaged(
                offset,
                Some(header),
                "the frame extends past the end of its segment",
            ));
        }
        self.read_into(blocks, offset, length, &mut buffer)?;
        StoredFrame::read(buffer).map_err(|error| self.damaged(offset, Some(header), error))
    }

    /// Offset of the next frame.
    pub(crate) fn after(&self, offset: u64, header: &FrameHeader) -> u64 {
        let end = offset + header.frame_bytes() as u64;
        match self {
            Self::Raw(_) => end.next_multiple_of(PAGE_BYTES),
            Self::Sealed(_) => end,
        }
    }
}

pub(crate) fn path_of(dir: &Path, name: SegmentName, kind: SegmentKind) -> PathBuf {
    dir.join(name.file_name(kind))
}
