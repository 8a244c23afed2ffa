//! The log in files: one writer appends frames to the open segment and begins the next one.

use std::path::Path;
use std::sync::Arc;

use kedge_protocol::Hash;

use crate::env::{Env, is_scarce, lacks_descriptors, write_all};
use crate::error::{
    AppendError, FrameMismatch, IoError, LogFailure, LogOpenError, LogReadError, SyncError,
};
use crate::frame::FrameRejection;
use crate::frame::header::FORMAT;
use crate::frame::{Frame, FrameHeader, KeyId, NextFrame, SideKeys, SideSealer, StoredFrame};
use crate::maintenance::LogMaintenance;
use crate::open_log::{AppendPoint, OpenLog, lock};
use crate::position::LogPosition;
use crate::reader::LogReader;
use crate::recovery::{LogRecovery, ReleaseMark, find};
use crate::segment::raw_segment::{FramePlace, RawSegment, SpareSegment, WrittenFrame};
use crate::segment::seal::SegmentCompression;
use crate::segment::{FrameKey, PAGE_BYTES, Segment, SegmentHeader, SegmentKind};
use crate::{Durability, Log};

/// Name of the first raw segment while it is being created.
const FIRST: &str = "first.new";

/// Sizes, cache and compression of a log in files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogOptions {
    /// Bytes of a log's first segment; small, so that a small log is a small file. Each later segment is twice as large
    /// as the one before it, up to [`LogOptions::segment_bytes`].
    pub first_segment_bytes: u64,
    /// Bytes of the largest segments. A segment for a larger frame is as large as that frame needs.
    pub segment_bytes: u64,
    /// Size of the readers' cache of decompressed blocks.
    pub cache_bytes: u64,
    /// How closed segments are compressed.
    pub compression: SegmentCompression,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            first_segment_bytes: 256 * 1024,
            segment_bytes: 64 * 1024 * 1024,
            cache_bytes: 32 * 1024 * 1024,
            compression: SegmentCompression {
                level: 1,
                fast_level: -7,
                block_bytes: 256 * 1024,
            },
        }
    }
}

impl LogOptions {
    fn first_bytes(&self) -> u64 {
        let bytes = self.first_segment_bytes.min(self.segment_bytes);
        bytes.max(2 * PAGE_BYTES)
    }

    /// Size of the segment that follows one of this size.
    pub(crate) fn bytes_after(&self, bytes: u64) -> u64 {
        bytes.saturating_mul(2).min(self.segment_bytes)
    }
}

/// The writer of a log in files. The caller guarantees one writer per directory, with the lock of the data directory.
pub struct FileLog {
    shared: Arc<OpenLog>,
    options: LogOptions,
    sealer: Option<SideSealer>,
    open: Arc<Segment>,
    /// The next segment. Its file has its name, perhaps not durably; the segment before it gets no more frames.
    begun: Option<RawSegment>,
    /// Frames in the open segment.
    frames: usize,
    position: LogPosition,
    /// Term and format of the last frame, once known.
    reached: Option<LogFloor>,
    buffer: Vec<u8>,
}

/// Lower bounds of later frames: neither value ever falls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogFloor {
    pub term: u64,
    pub format: u16,
}

impl LogFloor {
    /// The bounds before a log's first frame.
    pub const START: Self = Self {
        term: 0,
        format: FORMAT,
    };

    /// The bounds after a frame.
    pub fn after(header: &FrameHeader) -> Self {
        Self {
            term: header.term,
            format: header.format,
        }
    }
}

impl FileLog {
    /// Opens the log in a directory, or creates an empty one there. `identity` is the separator of the log's domain,
    /// `keys` seal and open side entries, and the log must reach at least `released`.
    ///
    /// # Errors
    /// [`LogOpenError`] if the log is damaged, belongs to another domain or ends too early; then nothing was changed. A
    /// failed file operation is an error too, and the next start cleans up after it.
    pub fn open(
        env: Arc<dyn Env>,
        dir: &Path,
        identity: Hash,
        keys: &SideKeys,
        released: ReleaseMark,
        options: LogOptions,
    ) -> Result<(Self, LogRecovery), LogOpenError> {
        env.create_dir(dir).map_err(IoError::at(dir))?;
        let mut found = find(&*env, dir, Some(identity))?;
        found.reaches(released)?;
        let open = found.repair(&*env, dir)?;
        let position = found
            .position
            .unwrap_or_else(|| LogPosition::start(&identity));
        let open = if let Some(open) = open {
            open
        } else {
            let bytes = options.first_bytes();
            let spare = SpareSegment::make(&*env, dir.join(FIRST), bytes, bytes)?;
            let last = found.segments.last();
            let format = last.map_or(FORMAT, |last| last.header().format);
            let begun = spare.name(&*env, dir, header_at(identity, &position, format))?;
            env.sync_dir(dir).map_err(IoError::at(dir))?;
            let segment = Arc::new(Segment::Raw(begun));
            found.segments.push(Arc::clone(&segment));
            segment
        };
        let sealer = SideSealer::new(&*env, identity, keys).map_err(IoError::at(dir))?;
        let frames = open.raw().map_or(0, RawSegment::published);
        let shared = OpenLog::new(
            env,
            dir.to_owned(),
            identity,
            found.segments,
            position,
            options.cache_bytes,
        );
        let log = Self {
            shared: Arc::new(shared),
            options,
            sealer,
            open,
            begun: None,
            frames,
            position,
            reached: None,
            buffer: Vec::new(),
        };
        Ok((log, found.recovery))
    }

    /// Maintenance steps for the caller's threads: the next segment's file, and compression.
    pub fn maintenance(&self) -> LogMaintenance {
        LogMaintenance::new(Arc::clone(&self.shared), self.options)
    }

    /// A reader that can be used while this writer appends.
    pub fn reader(&self) -> LogReader {
        LogReader::new(Arc::clone(&self.shared))
    }

    /// Ensures that the open segment has room for a frame of this format and size; begins the next one if not. A
    /// program that does not know the format then refuses the segment by its header and changes nothing: a frame alone
    /// would look torn to it.
    fn make_room(&mut self, bytes: u64, format: u16) -> Result<(), AppendError> {
        if let Some(begun) = self.begun.take() {
            self.complete(begun)?;
        }
        let open = self.open.raw();
        let (end, raw_bytes) = open.map_or((0, 0), |raw| (raw.end(), raw.bytes()));
        let before = self.open.header().format;
        if end + bytes <= raw_bytes && format <= before {
            return Ok(());
        }
        // A later segment proves that this one was durable as a whole, so it must be.
        self.shared.sync()?;
        let needed = self.options.bytes_after(raw_bytes).max(PAGE_BYTES + bytes);
        // A spare file that is too small for a large frame is kept for a later segment.
        let waiting = lock(&self.shared.spare).take_if(|spare| spare.bytes >= needed);
        let (env, dir) = (&*self.shared.env, &self.shared.dir);
        let spare = match waiting {
            Some(spare) => spare,
            None => SpareSegment::make(env, self.shared.spare_path(), needed, needed)
                .map_err(|error| self.no_room(error))?,
        };
        let header = header_at(self.shared.identity, &self.position, format.max(before));
        let begun = spare.name(env, dir, header);
        self.complete(begun.map_err(|error| self.no_room(error))?)
    }

    /// Makes the name of the next segment durable and opens the segment.
    fn complete(&mut self, begun: RawSegment) -> Result<(), AppendError> {
        let (env, dir) = (&*self.shared.env, &self.shared.dir);
        if let Err(source) = env.sync_dir(dir) {
            let error = IoError {
                path: dir.clone(),
                source,
            };
            // The directory was not even opened, so no sync has failed.
            if lacks_descriptors(&error.source) {
                self.begun = Some(begun);
                return Err(AppendError::NoSpace(error));
            }
            return Err(AppendError::Failed(self.shared.fail(error)));
        }
        let segment = Arc::new(Segment::Raw(begun));
        let first_frame = segment.header().first_frame;
        self.shared.segments.rcu(|segments| {
            let mut segments = segments.as_ref().clone();
            // An open segment that never held a frame is replaced by a larger one of the same name.
            segments.retain(|before| before.header().first_frame != first_frame);
            segments.push(Arc::clone(&segment));
            segments
        });
        self.open = segment;
        self.frames = 0;
        Ok(())
    }

    fn no_room(&self, error: IoError) -> AppendError {
        if is_scarce(&error.source) {
            AppendError::NoSpace(error)
        } else {
            AppendError::Failed(self.shared.fail(error))
        }
    }
}

/// The header of a raw segment that begins at a position.
fn header_at(identity: Hash, position: &LogPosition, format: u16) -> SegmentHeader {
    SegmentHeader {
        format,
        kind: SegmentKind::Raw,
        identity,
        previous: position.hash,
        first_frame: position.frame + 1,
        first_sequence: position.next_sequence,
        first_batch: position.next_batch,
    }
}

impl FileLog {
    /// Encodes a frame for its place after a position, without writing it: for a log that several nodes share, whose
    /// frames take the term and the format reached there. The position may be ahead of this log. Returns the position
    /// after the frame.
    ///
    /// # Errors
    /// The errors of [`Log::append`], but the term is not compared with that of the frame before. [`FrameRejection`] if
    /// the frame needs a higher format: an empty frame must raise it first.
    pub fn encode(
        &mut self,
        frame: &Frame,
        after: &LogPosition,
        reached: LogFloor,
    ) -> Result<(LogPosition, Vec<u8>), AppendError> {
        if frame.format() > reached.format {
            return Err(FrameRejection("it needs a higher format than the log has reached").into());
        }
        // The frame names no durable frame: see `FrameHeader::durable`.
        let place = NextFrame::after(after, reached.format, (reached.term, 0), 0);
        let mut bytes = Vec::new();
        let header = frame.encode(&place, self.sealer.as_mut(), &mut bytes)?;
        Ok((LogPosition::after(&header), bytes))
    }

    /// Term and format of the last frame.
    ///
    /// # Errors
    /// [`LogReadError`] if the last frame cannot be read.
    pub fn reached(&mut self) -> Result<LogFloor, LogReadError> {
        if let Some(reached) = self.reached {
            return Ok(reached);
        }
        let last = self
            .reader()
            .header_of(FrameKey::Frame(self.position.frame))?;
        let reached = last.map_or(LogFloor::START, |last| LogFloor::after(&last));
        self.reached = Some(reached);
        Ok(reached)
    }

    /// Lets a test write a frame with a lower term or format than the one before.
    #[cfg(test)]
    pub(crate) fn forget(&mut self, reached: LogFloor) {
        self.reached = Some(reached);
    }

    fn last_reached(&mut self) -> Result<LogFloor, LogFailure> {
        let reached = self.reached();
        reached.map_err(|error| LogFailure(format!("the header of the last frame: {error}")))
    }

    /// Appends an empty frame that raises the log's format.
    fn raise(&mut self, reached: LogFloor, durable: u64) -> Result<(), AppendError> {
        let header = empty_header(&self.position, reached, durable);
        self.buffer.clear();
        header.write(&mut self.buffer);
        self.write(&header, false).map(drop)
    }

    /// Checks that a frame from another node is whole and continues this log.
    fn check_stored(&mut self, bytes: &[u8]) -> Result<StoredFrame, AppendError> {
        let frame = StoredFrame::read(bytes.to_vec())?;
        frame.check_digests()?;
        let reached = self.last_reached()?;
        let (header, position) = (frame.header(), &self.position);
        let number = |what, found: u64, expected: u64| {
            let (found, expected) = (found.to_string(), expected.to_string());
            (what, found, expected)
        };
        let hashes = (header.previous.to_string(), position.hash.to_string());
        let compared = [
            number("number", header.number, position.frame + 1),
            ("hash of the frame before", hashes.0, hashes.1),
            number(
                "first sequence",
                header.first_sequence,
                position.next_sequence,
            ),
            number("first batch", header.first_batch, position.next_batch),
            number("durable frame", header.durable, 0),
        ];
        let differs = |what, found, expected| FrameMismatch {
            frame: header.number,
            last_frame: position.frame,
            what,
            expected,
            found,
        };
        for (what, found, expected) in compared {
            if found != expected {
                return Err(differs(what, found, expected).into());
            }
        }
        // A log that is empty here may have begun on another node with a lower format.
        let lowest = if position.frame == 0 {
            header.format
        } else {
            reached.format
        };
        let is_raised = header.format > lowest;
        let lowest_term = reached.term + u64::from(header.is_empty() && !is_raised);
        let (format, term) = (u64::from(header.format), header.term);
        for (what, found, lowest) in [
            ("format", format, u64::from(lowest)),
            ("term", term, lowest_term),
        ] {
            if found < lowest {
                let expected = format!("{lowest} or more");
                return Err(differs(what, found.to_string(), expected).into());
            }
        }
        Ok(frame)
    }

    /// Writes the encoded frame at the log's end. Its digests were computed or checked.
    fn write(
        &mut self,
        header: &FrameHeader,
        leaves_follow: bool,
    ) -> Result<LogPosition, AppendError> {
        let padded = self.buffer.len().next_multiple_of(PAGE_BYTES as usize);
        self.buffer.resize(padded, 0);
        self.make_room(padded as u64, header.format)?;
        let Some(raw) = self.open.raw() else {
            return Err(AppendError::Failed(
                self.shared.fail("the open segment is sealed"),
            ));
        };
        let at = raw.end();
        write_all(raw.file(), &self.buffer, at)
            .map_err(IoError::at(raw.path()))
            .map_err(|error| self.no_room(error))?;
        let place = FramePlace {
            written: Some(WrittenFrame {
                body_crc: header.body_crc,
                leaves_follow,
            }),
            ..FramePlace::of(at, header)
        };
        raw.note(self.frames, place);
        raw.set_end(at + padded as u64);
        self.frames += 1;
        self.position = LogPosition::after(header);
        self.reached = Some(LogFloor::after(header));
        self.shared.set_appended(AppendPoint {
            segment: Some(Arc::clone(&self.open)),
            frames: self.frames,
            position: self.position,
        });
        Ok(self.position)
    }
}

/// The header of an empty frame.
fn empty_header(
    after: &LogPosition,
    LogFloor { term, format }: LogFloor,
    durable: u64,
) -> FrameHeader {
    let mut header = FrameHeader::new(after.frame + 1, term, after.next_sequence, after.next_batch);
    (header.format, header.durable, header.previous) = (format, durable, after.hash);
    header
}

/// An empty frame that opens a term or raises the format after a position, and the position after it. Several nodes
/// share such a frame, so it names no durable frame.
pub fn encode_empty(after: &LogPosition, reached: LogFloor) -> (LogPosition, Vec<u8>) {
    let header = empty_header(after, reached, 0);
    let mut bytes = Vec::with_capacity(header.frame_bytes());
    header.write(&mut bytes);
    (LogPosition::after(&header), bytes)
}

impl Log for FileLog {
    fn append(&mut self, frame: &Frame) -> Result<LogPosition, AppendError> {
        self.shared.check()?;
        let last = self.last_reached()?;
        // A single node sets no term, but its log may have been shared before.
        let term = match frame.term() {
            0 => last.term,
            term => term,
        };
        let durable = self.shared.durable().frame;
        let format = frame.format().max(last.format);
        if format > last.format {
            let term = last.term;
            self.raise(LogFloor { term, format }, durable)?;
        }
        let place = NextFrame::after(&self.position, format, (term, last.term), durable);
        let mut buffer = std::mem::take(&mut self.buffer);
        let encoded = frame.encode(&place, self.sealer.as_mut(), &mut buffer);
        self.buffer = buffer;
        self.write(&encoded?, frame.leaves_follow())
    }

    fn append_stored(&mut self, frame: &[u8]) -> Result<LogPosition, AppendError> {
        self.shared.check()?;
        let frame = self.check_stored(frame)?;
        let header = frame.header().clone();
        self.buffer = frame.into_bytes();
        // Another process computed the digests.
        self.write(&header, false)
    }

    fn position(&self) -> LogPosition {
        self.position
    }

    fn seal_with(&mut self, keys: &SideKeys) -> Result<Option<KeyId>, IoError> {
        let sealing = self.sealer.as_ref().map(SideSealer::id);
        if keys.newest() <= sealing {
            return Ok(sealing);
        }
        let OpenLog {
            env, identity, dir, ..
        } = &*self.shared;
        self.sealer = SideSealer::new(&**env, *identity, keys).map_err(IoError::at(dir))?;
        Ok(self.sealer.as_ref().map(SideSealer::id))
    }

    fn durability(&self) -> Arc<dyn Durability> {
        Arc::new(FileDurability(Arc::clone(&self.shared)))
    }
}

struct FileDurability(Arc<OpenLog>);

impl Durability for FileDurability {
    fn sync(&self) -> Result<LogPosition, SyncError> {
        Ok(self.0.sync()?)
    }

    fn durable(&self) -> LogPosition {
        self.0.durable()
    }
}
