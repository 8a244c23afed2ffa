//! Walks the frames of a raw segment at a start, and distinguishes a torn end from damage.
//!
//! A bad frame may be cut off only if no evidence shows that it was once durable. A later frame is such evidence if the
//! bad one was known to be durable when it was written: every header names the last frame that was durable then. Frames
//! that were appended together and not synced yet may reach the disk in any order. So a later frame that names no such
//! frame proves nothing, and is cut off with the bad one.

use std::path::Path;

use kedge_protocol::Hash;

use super::raw_segment::FramePlace;
use super::{HEADER_BYTES, PAGE_BYTES, SegmentHeader};
use crate::env::{FileHandle, read_exact, read_up_to};
use crate::error::{IoError, LogDamage};
use crate::frame::header::HEADER_BYTES_MAX;
use crate::frame::{FrameError, FrameHeader, HeaderError, StoredFrame};

/// The valid frames of a raw segment, and why the walk ended.
pub(crate) struct SegmentScan {
    pub(crate) places: Vec<FramePlace>,
    /// Offset of the next frame.
    pub(crate) end: u64,
    pub(crate) next_frame: u64,
    pub(crate) next_sequence: u64,
    pub(crate) next_batch: u64,
    pub(crate) hash: Hash,
    /// Why the frame at the end is invalid; `None` if only zeros follow.
    pub(crate) stopped: Option<String>,
    /// The frame at the end is whole, so not torn, but does not continue the log.
    pub(crate) whole: bool,
}

impl SegmentScan {
    pub(crate) fn run(
        path: &Path,
        file: &dyn FileHandle,
        header: &SegmentHeader,
        bytes: u64,
    ) -> Result<Self, IoError> {
        let mut scan = Self {
            places: Vec::new(),
            end: PAGE_BYTES,
            next_frame: header.first_frame,
            next_sequence: header.first_sequence,
            next_batch: header.first_batch,
            hash: header.previous,
            stopped: None,
            whole: false,
        };
        while scan.stopped.is_none() && scan.end < bytes {
            let found = read_frame(file, scan.end, bytes).map_err(IoError::at(path))?;
            match found {
                Ok(frame) => scan.join(frame.header()),
                Err(FrameError::Header(HeaderError::Magic)) => break,
                Err(error) => scan.stopped = Some(error.to_string()),
            }
        }
        if scan.stopped.is_none() && !is_zero(file, scan.end, bytes).map_err(IoError::at(path))? {
            scan.stopped = Some("no frame begins here, and the bytes are not zero".to_owned());
        }
        Ok(scan)
    }

    fn join(&mut self, header: &FrameHeader) {
        let continues = header.number == self.next_frame
            && header.first_sequence == self.next_sequence
            && header.first_batch == self.next_batch
            && header.previous == self.hash;
        if !continues {
            self.stopped = Some(format!(
                "frame {} does not continue frame {}",
                header.number,
                self.next_frame - 1
            ));
            self.whole = true;
            return;
        }
        self.places.push(FramePlace::of(self.end, header));
        self.end = (self.end + header.frame_bytes() as u64).next_multiple_of(PAGE_BYTES);
        self.next_frame = header.number + 1;
        self.next_sequence = header.next_sequence();
        self.next_batch = header.next_batch();
        self.hash = header.hash();
    }

    /// Evidence that the frame at the end was once durable, and is therefore damaged and not torn.
    pub(crate) fn evidence(
        &self,
        path: &Path,
        file: &dyn FileHandle,
        bytes: u64,
    ) -> Result<Option<FrameHeader>, IoError> {
        let mut at = self.end;
        let mut page = [0; HEADER_BYTES_MAX];
        while at < bytes {
            let read = read_up_to(file, &mut page, at).map_err(IoError::at(path))?;
            if let Ok(header) = FrameHeader::read(&page[..read])
                && header.number > self.next_frame
                && header.durable >= self.next_frame
            {
                return Ok(Some(header));
            }
            at += PAGE_BYTES;
        }
        Ok(None)
    }

    /// A damage error for the end.
    pub(crate) fn damage(
        &self,
        path: &Path,
        next_sequence: Option<u64>,
        what: String,
    ) -> LogDamage {
        LogDamage {
            segment: path.to_owned(),
            offset: self.end,
            frame: Some(self.next_frame),
            first_sequence: self.next_sequence,
            last_sequence: next_sequence.map(|next| next.saturating_sub(1)),
            what,
        }
    }

    /// Number of bytes after the valid frames, up to the last one that is not zero: the bytes to cut off.
    pub(crate) fn torn_bytes(&self, file: &dyn FileHandle, bytes: u64) -> std::io::Result<u64> {
        let mut last = self.end;
        each_piece(file, self.end, bytes, |at, piece| {
            if let Some(place) = piece.iter().rposition(|byte| *byte != 0) {
                last = at + place as u64 + 1;
            }
            true
        })?;
        Ok(last - self.end)
    }
}

pub(crate) fn read_header(
    path: &Path,
    file: &dyn FileHandle,
) -> Result<Result<SegmentHeader, LogDamage>, IoError> {
    let mut bytes = [0; HEADER_BYTES];
    let read = read_up_to(file, &mut bytes, 0).map_err(IoError::at(path))?;
    Ok(
        SegmentHeader::read(&bytes[..read]).map_err(|what| LogDamage {
            segment: path.to_owned(),
            offset: 0,
            frame: None,
            first_sequence: 0,
            last_sequence: None,
            what,
        }),
    )
}

fn read_frame(
    file: &dyn FileHandle,
    at: u64,
    end: u64,
) -> std::io::Result<Result<StoredFrame, FrameError>> {
    let mut head = [0; HEADER_BYTES_MAX];
    let read = read_up_to(file, &mut head, at)?;
    let header = match FrameHeader::read(&head[..read]) {
        Ok(header) => header,
        Err(error) => return Ok(Err(error.into())),
    };
    let length = header.frame_bytes();
    if at + length as u64 > end {
        return Ok(Err(FrameError::Short));
    }
    Ok(StoredFrame::read(read_exact(file, at, length)?))
}

fn is_zero(file: &dyn FileHandle, from: u64, to: u64) -> std::io::Result<bool> {
    let mut zero = true;
    each_piece(file, from, to, |_, piece| {
        zero = piece.iter().all(|byte| *byte == 0);
        zero
    })?;
    Ok(zero)
}

/// Calls `each` with the file's bytes piece by piece, until it returns false.
fn each_piece(
    file: &dyn FileHandle,
    from: u64,
    to: u64,
    mut each: impl FnMut(u64, &[u8]) -> bool,
) -> std::io::Result<()> {
    let mut piece = vec![0; 256 * 1024];
    let mut at = from;
    while at < to {
        let length = (to - at).min(piece.len() as u64) as usize;
        let read = read_up_to(file, &mut piece[..length], at)?;
        if read == 0 || !each(at, &piece[..read]) {
            break;
        }
        at += read as u64;
    }
    Ok(())
}
