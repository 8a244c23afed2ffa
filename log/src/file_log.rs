//! The log in files. One writer appends frames to the open segment and begins the next one.

use std::path::Path;
use std::sync::Arc;

use kedge_protocol::Hash;

use crate::env::{Env, is_no_space, write_all};
use crate::error::{AppendError, Failed, IoError, NotNext, OpenError, ReadError, SyncError};
use crate::frame::{Frame, FrameHeader, KeyId, Place, Sealer, SideKeys, StoredFrame};
use crate::maintenance::Maintenance;
use crate::open_log::{Appended, Shared, lock};
use crate::position::Position;
use crate::reader::LogReader;
use crate::recovery::{Recovery, Released, find};
use crate::segment::raw::{FramePlace, RawSegment, Spare, WrittenFrame};
use crate::segment::seal::Compression;
use crate::segment::{Key, Kind, PAGE_BYTES, Segment, SegmentHeader};
use crate::{Durability, Log};

/// The first raw segment while it is being created.
const FIRST: &str = "first.new";

/// How a log in files is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogOptions {
    /// Bytes of a log's first segment, so that a small log is a small file. Each later one is twice as large as
    /// the one before it, up to [`LogOptions::segment_bytes`].
    pub first_segment_bytes: u64,
    /// Bytes of the largest segments. A segment for a larger frame is as large as that frame needs.
    pub segment_bytes: u64,
    /// Bytes of decompressed blocks that are cached for readers.
    pub cache_bytes: u64,
    /// How closed segments are compressed.
    pub compression: Compression,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            first_segment_bytes: 256 * 1024,
            segment_bytes: 64 * 1024 * 1024,
            cache_bytes: 32 * 1024 * 1024,
            compression: Compression {
                level: 1,
                fast_level: -7,
                block_bytes: 256 * 1024,
            },
        }
    }
}

impl LogOptions {
    /// Bytes of the first segment.
    fn first_bytes(&self) -> u64 {
        let bytes = self.first_segment_bytes.min(self.segment_bytes);
        bytes.max(2 * PAGE_BYTES)
    }

    /// Bytes of the segment after one of this size.
    pub(crate) fn bytes_after(&self, bytes: u64) -> u64 {
        bytes.saturating_mul(2).min(self.segment_bytes)
    }
}

/// The writer of a log in files. The caller ensures that there is only one per directory, with the lock of the
/// data directory.
pub struct FileLog {
    shared: Arc<Shared>,
    options: LogOptions,
    sealer: Option<Sealer>,
    open: Arc<Segment>,
    /// Frames in the open segment.
    frames: usize,
    position: Position,
    /// The term of the last frame, once it is known.
    term: Option<u64>,
    buffer: Vec<u8>,
}

impl FileLog {
    /// Opens the log in a directory, or creates an empty one there. `identity` is the separator of the log's
    /// domain, `keys` seal and open side entries, `released` is how far the log is known to have been released.
    ///
    /// # Errors
    /// [`OpenError`] if the log is damaged, belongs to another domain or ends too early; then nothing was
    /// changed. Also if a file operation fails; then the next start cleans up.
    pub fn open(
        env: Arc<dyn Env>,
        dir: &Path,
        identity: Hash,
        keys: &SideKeys,
        released: Released,
        options: LogOptions,
    ) -> Result<(Self, Recovery), OpenError> {
        env.create_dir(dir).map_err(IoError::at(dir))?;
        let mut found = find(&*env, dir, Some(identity))?;
        found.reaches(released)?;
        let open = found.repair(&*env, dir)?;
        let position = found.position.unwrap_or_else(|| Position::start(&identity));
        let open = if let Some(open) = open {
            open
        } else {
            let bytes = options.first_bytes();
            let spare = Spare::make(&*env, dir.join(FIRST), bytes, bytes)?;
            let begun = spare.begin(&*env, dir, header_at(identity, &position));
            let segment = Arc::new(Segment::Raw(begun.map_err(|error| error.source)?));
            found.segments.push(Arc::clone(&segment));
            segment
        };
        let sealer = Sealer::new(&*env, identity, keys).map_err(IoError::at(dir))?;
        let frames = open.raw().map_or(0, RawSegment::published);
        let shared = Shared::new(
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
            frames,
            position,
            term: None,
            buffer: Vec::new(),
        };
        Ok((log, found.recovery))
    }

    /// The steps that threads of the caller run from time to time: the next segment's file, compression.
    pub fn maintenance(&self) -> Maintenance {
        Maintenance::new(Arc::clone(&self.shared), self.options)
    }

    /// Reads the log while this writer appends.
    pub fn reader(&self) -> LogReader {
        LogReader::new(Arc::clone(&self.shared))
    }

    /// Ensures that the open segment has room for this many bytes; begins the next one if it has not.
    fn make_room(&mut self, bytes: u64) -> Result<(), AppendError> {
        let open = self.open.raw();
        let (end, raw_bytes) = open.map_or((0, 0), |raw| (raw.end(), raw.bytes()));
        if end + bytes <= raw_bytes {
            return Ok(());
        }
        // A closed segment must be durable as a whole, because a later segment proves it.
        self.shared.sync()?;
        let needed = self.options.bytes_after(raw_bytes).max(PAGE_BYTES + bytes);
        // A spare file too small for a large frame is kept for a later segment.
        let waiting = lock(&self.shared.spare).take_if(|spare| spare.bytes >= needed);
        let (env, dir) = (&*self.shared.env, &self.shared.dir);
        let spare = match waiting {
            Some(spare) => spare,
            None => Spare::make(env, self.shared.spare_path(), needed, needed)
                .map_err(|error| self.no_room(error))?,
        };
        let header = header_at(self.shared.identity, &self.position);
        let begun = spare.begin(env, dir, header).map_err(|error| {
            if error.changed {
                AppendError::Failed(self.shared.fail(error.source))
            } else {
                self.no_room(error.source)
            }
        })?;
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
        if is_no_space(&error.source) {
            AppendError::NoSpace(error)
        } else {
            AppendError::Failed(self.shared.fail(error))
        }
    }
}

/// The header of a raw segment that begins at a position.
fn header_at(identity: Hash, position: &Position) -> SegmentHeader {
    SegmentHeader {
        kind: Kind::Raw,
        identity,
        previous: position.hash,
        first_frame: position.frame + 1,
        first_sequence: position.next_sequence,
        first_batch: position.next_batch,
    }
}

impl FileLog {
    /// Encodes a frame for its place after a position, without writing it: for a log that several nodes share, whose
    /// frames have `term`. The position may be ahead of this log. Returns the position after the frame.
    ///
    /// # Errors
    /// As [`Log::append`]. The term is not compared with that of the frame before.
    pub fn encode(
        &mut self,
        frame: &Frame,
        after: &Position,
        term: u64,
    ) -> Result<(Position, Vec<u8>), AppendError> {
        // No frame is named as durable: see `FrameHeader::durable`.
        let place = Place::after(after, term, 0, 0);
        let mut bytes = Vec::new();
        let header = frame.encode(&place, self.sealer.as_mut(), &mut bytes)?;
        Ok((Position::after(&header), bytes))
    }

    /// The term of the last frame; 0 before the first.
    ///
    /// # Errors
    /// [`ReadError`] if the last frame cannot be read.
    pub fn term(&mut self) -> Result<u64, ReadError> {
        if let Some(term) = self.term {
            return Ok(term);
        }
        let last = self.reader().header_of(Key::Frame(self.position.frame))?;
        let term = last.map_or(0, |last| last.term);
        self.term = Some(term);
        Ok(term)
    }

    /// Lets a test write a term that is below the one before.
    #[cfg(test)]
    pub(crate) fn forget_term(&mut self) {
        self.term = Some(0);
    }

    fn last_term(&mut self) -> Result<u64, Failed> {
        let term = self.term();
        term.map_err(|error| Failed(format!("the term of the last frame: {error}")))
    }

    /// Checks that a frame of another node is whole and continues this log.
    fn check_stored(&mut self, bytes: &[u8]) -> Result<StoredFrame, AppendError> {
        let frame = StoredFrame::read(bytes.to_vec())?;
        frame.check_digests()?;
        let term = self.last_term()?;
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
        let differs = |what, found, expected| NotNext {
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
        let lowest = term + u64::from(header.is_empty());
        if header.term < lowest {
            let expected = format!("{lowest} or more");
            return Err(differs("term", header.term.to_string(), expected).into());
        }
        Ok(frame)
    }

    /// Writes the frame in the buffer, which has this header and whose digests hold, at the log's end.
    fn write(
        &mut self,
        header: &FrameHeader,
        leaves_follow: bool,
    ) -> Result<Position, AppendError> {
        let padded = self.buffer.len().next_multiple_of(PAGE_BYTES as usize);
        self.buffer.resize(padded, 0);
        self.make_room(padded as u64)?;
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
        self.position = Position::after(header);
        self.term = Some(header.term);
        self.shared.set_appended(Appended {
            segment: Some(Arc::clone(&self.open)),
            frames: self.frames,
            position: self.position,
        });
        Ok(self.position)
    }
}

/// A frame that only opens a term, as it follows a position, and the position after it. Several nodes share such a
/// frame, so it names no frame as durable.
pub fn encode_term(after: &Position, term: u64) -> (Position, Vec<u8>) {
    let mut header = FrameHeader::new(after.frame + 1, term, after.next_sequence, after.next_batch);
    header.previous = after.hash;
    let mut bytes = Vec::with_capacity(header.frame_bytes());
    header.write(&mut bytes);
    (Position::after(&header), bytes)
}

impl Log for FileLog {
    fn append(&mut self, frame: &Frame) -> Result<Position, AppendError> {
        self.shared.check()?;
        let last_term = self.last_term()?;
        // A single node sets no term; its log may have been shared before.
        let term = match frame.term() {
            0 => last_term,
            term => term,
        };
        let durable = self.shared.durable().frame;
        let place = Place::after(&self.position, term, last_term, durable);
        let mut buffer = std::mem::take(&mut self.buffer);
        let encoded = frame.encode(&place, self.sealer.as_mut(), &mut buffer);
        self.buffer = buffer;
        self.write(&encoded?, frame.leaves_follow())
    }

    fn append_stored(&mut self, frame: &[u8]) -> Result<Position, AppendError> {
        self.shared.check()?;
        let frame = self.check_stored(frame)?;
        let header = frame.header().clone();
        self.buffer = frame.into_bytes();
        // Another process computed them.
        self.write(&header, false)
    }

    fn position(&self) -> Position {
        self.position
    }

    fn seal_with(&mut self, keys: &SideKeys) -> Result<Option<KeyId>, IoError> {
        let sealing = self.sealer.as_ref().map(Sealer::id);
        if keys.newest() <= sealing {
            return Ok(sealing);
        }
        let Shared {
            env, identity, dir, ..
        } = &*self.shared;
        self.sealer = Sealer::new(&**env, *identity, keys).map_err(IoError::at(dir))?;
        Ok(self.sealer.as_ref().map(Sealer::id))
    }

    fn durability(&self) -> Arc<dyn Durability> {
        Arc::new(FileDurability(Arc::clone(&self.shared)))
    }
}

struct FileDurability(Arc<Shared>);

impl Durability for FileDurability {
    fn sync(&self) -> Result<Position, SyncError> {
        Ok(self.0.sync()?)
    }

    fn durable(&self) -> Position {
        self.0.durable()
    }
}
