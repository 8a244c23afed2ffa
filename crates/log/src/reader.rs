//! Reads a log: by sequence, by batch, and frame by frame. Readers see durable frames only. They never block the
//! writer, and it never blocks them.

use std::path::Path;
use std::sync::Arc;

use kedge_protocol::Hash;
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::merkle::BatchTree;

use crate::codec::CodecError;
use crate::env::Env;
use crate::error::{IoError, LogOpenError, LogReadError};
use crate::frame::header::sha256;
use crate::frame::requests::{RequestRange, RequestTable, TABLE_HEAD_BYTES, table_bytes};
use crate::frame::stored_frame::{batches, hashes};
use crate::frame::{FrameHeader, SectionKind, StoredFrame};
use crate::open_log::OpenLog;
use crate::packed::PackedRequest;
use crate::position::LogPosition;
use crate::recovery::{LogRecovery, find};
use crate::segment::blocks::{BlockCache, LastBlocks};
use crate::segment::{FrameKey, Segment};

/// First read of a request section: most tables fit.
const TABLE_READ_BYTES: usize = 4096;

/// A reader of a log. Clones share the cache of decompressed blocks.
#[derive(Clone)]
pub struct LogReader {
    shared: Arc<OpenLog>,
}

/// A packed request that was read; its checksum holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredRequest {
    pub first_sequence: u64,
    pub bytes: Vec<u8>,
}

impl StoredRequest {
    /// Reads the head of the packed request.
    ///
    /// # Errors
    /// [`CodecError`] if the bytes were damaged before they entered the log.
    pub fn packed(&self) -> Result<PackedRequest<'_>, CodecError> {
        PackedRequest::read(&self.bytes)
    }
}

/// A frame and its place in a segment.
pub(crate) struct FrameLocation {
    pub(crate) segment: Arc<Segment>,
    offset: u64,
    pub(crate) header: FrameHeader,
}

impl LogReader {
    pub(crate) fn new(shared: Arc<OpenLog>) -> Self {
        Self { shared }
    }

    /// Opens a log for reading, without changing its directory. Skips and reports a torn last frame. Checks the log's
    /// identity against `identity`, if given.
    ///
    /// # Errors
    /// [`LogOpenError`] if the log is damaged or cannot be read.
    pub fn open(
        env: Arc<dyn Env>,
        dir: &Path,
        identity: Option<Hash>,
        cache_bytes: u64,
    ) -> Result<(Self, LogRecovery), LogOpenError> {
        let found = find(&*env, dir, identity)?;
        let (Some(identity), Some(position)) = (found.identity, found.position) else {
            let source =
                std::io::Error::new(std::io::ErrorKind::NotFound, "there is no log segment");
            return Err(IoError::at(dir)(source).into());
        };
        let shared = OpenLog::new(
            env,
            dir.to_owned(),
            identity,
            found.segments,
            position,
            cache_bytes,
        );
        Ok((Self::new(Arc::new(shared)), found.recovery))
    }

    /// The durable position.
    pub fn position(&self) -> LogPosition {
        self.shared.durable()
    }

    /// The separator of the log's domain.
    pub fn identity(&self) -> Hash {
        self.shared.identity
    }

    /// Number of the log's first frame: 1, unless older segments were removed.
    pub fn first_frame(&self) -> u64 {
        let segments = self.shared.segments.load();
        segments
            .first()
            .map_or(1, |segment| segment.header().first_frame)
    }

    /// First sequence of the log: 1, unless older segments were removed.
    pub fn first_sequence(&self) -> u64 {
        let segments = self.shared.segments.load();
        segments
            .first()
            .map_or(1, |segment| segment.header().first_sequence)
    }

    /// First batch of the log: 0, unless older segments were removed.
    pub fn first_batch(&self) -> u64 {
        let segments = self.shared.segments.load();
        segments
            .first()
            .map_or(0, |segment| segment.header().first_batch)
    }

    pub(crate) fn shared(&self) -> &OpenLog {
        &self.shared
    }

    pub(crate) fn env(&self) -> &dyn Env {
        &*self.shared.env
    }

    pub(crate) fn cache(&self) -> &BlockCache {
        &self.shared.cache
    }

    pub(crate) fn segments(&self) -> Vec<Arc<Segment>> {
        self.shared.segments.load().as_ref().clone()
    }

    fn segment_of(&self, key: FrameKey) -> Option<Arc<Segment>> {
        let segments = self.shared.segments.load();
        let after = segments.partition_point(|segment| {
            let header = segment.header();
            key.is_from(
                header.first_frame,
                header.first_sequence,
                header.first_batch,
            )
        });
        Some(Arc::clone(&segments[after.checked_sub(1)?]))
    }

    pub(crate) fn header_of(&self, key: FrameKey) -> Result<Option<FrameHeader>, LogReadError> {
        Ok(self.locate(key)?.map(|found| found.header))
    }

    pub(crate) fn locate(&self, key: FrameKey) -> Result<Option<FrameLocation>, LogReadError> {
        let Some(segment) = self.segment_of(key) else {
            return Ok(None);
        };
        let found = segment.find(&self.shared.cache, key)?;
        Ok(found.map(|(offset, header)| FrameLocation {
            segment,
            offset,
            header,
        }))
    }

    /// The request that holds the action with this sequence.
    ///
    /// # Errors
    /// [`LogReadError`] if the bytes cannot be read or are damaged.
    pub fn request_at(&self, sequence: u64) -> Result<Option<StoredRequest>, LogReadError> {
        let Some(frame) = self.locate(FrameKey::Sequence(sequence))? else {
            return Ok(None);
        };
        let offset = (sequence - frame.header.first_sequence) as u32;
        let (places, _) = self.request_places(&frame, offset, 1)?;
        let requests = self.requests(&frame, &places)?;
        Ok(requests.into_iter().next())
    }

    /// The requests that hold the actions from `first` to `last`, both included, but only those in the first one's
    /// frame; none if the log ends before. Continue with the sequence after the last request.
    ///
    /// # Errors
    /// [`LogReadError`] if the bytes cannot be read or are damaged.
    pub fn requests_from(&self, first: u64, last: u64) -> Result<Vec<StoredRequest>, LogReadError> {
        let Some(frame) = self.locate(FrameKey::Sequence(first))? else {
            return Ok(Vec::new());
        };
        let offset = (first - frame.header.first_sequence) as u32;
        let count = (last.saturating_sub(first) as usize).saturating_add(1);
        let (places, section) = self.request_places(&frame, offset, count)?;
        let (Some(start), Some(end)) = (places.first(), places.last()) else {
            return Ok(Vec::new());
        };
        let (start, end) = (start.range.start, end.range.end);
        let at = section + start as u64;
        let bytes = frame.segment.read(&self.shared.cache, at, end - start)?;
        let mut requests = Vec::with_capacity(places.len());
        for place in places {
            let packed = &bytes[place.range.start - start..place.range.end - start];
            if !place.is_of(packed) {
                return Err(Self::damaged(&frame, "a request's checksum does not match"));
            }
            requests.push(StoredRequest {
                first_sequence: frame.header.first_sequence + u64::from(place.first),
                bytes: packed.to_vec(),
            });
        }
        Ok(requests)
    }

    /// The header of a batch.
    ///
    /// # Errors
    /// [`LogReadError`] if the bytes cannot be read or are damaged.
    pub fn batch(&self, number: u64) -> Result<Option<SignedBatch>, LogReadError> {
        match self.locate(FrameKey::Batch(number))? {
            None => Ok(None),
            Some(frame) => self.batch_in(&frame, number),
        }
    }

    /// A batch with the hashes of its leaves, which are recomputed if they were dropped.
    ///
    /// # Errors
    /// [`LogReadError`] if the bytes cannot be read or are damaged.
    pub fn batch_with_leaves(
        &self,
        number: u64,
    ) -> Result<Option<(SignedBatch, Vec<Hash>)>, LogReadError> {
        let Some(frame) = self.locate(FrameKey::Batch(number))? else {
            return Ok(None);
        };
        let Some(batch) = self.batch_in(&frame, number)? else {
            return Ok(None);
        };
        let first = (batch
            .header
            .first_sequence
            .saturating_sub(frame.header.first_sequence)) as usize;
        let count = batch.header.count as usize;
        let leaves = match self.section(&frame, SectionKind::Leaves)? {
            Some(section) => hashes(&section)
                .into_iter()
                .skip(first)
                .take(count)
                .collect(),
            None => self.leaves_again(&frame, first as u32, count)?,
        };
        // The root is signed, so it also detects leaves that no request produces.
        if leaves.len() != count || BatchTree::new(&leaves).root() != batch.header.root {
            return Err(Self::damaged(
                &frame,
                "the leaves do not lead to the batch's root",
            ));
        }
        Ok(Some((batch, leaves)))
    }

    /// The whole frame that holds a batch.
    ///
    /// # Errors
    /// [`LogReadError`] if the bytes cannot be read or are damaged.
    pub fn frame_of_batch(&self, number: u64) -> Result<Option<StoredFrame>, LogReadError> {
        let Some(frame) = self.locate(FrameKey::Batch(number))? else {
            return Ok(None);
        };
        let FrameLocation {
            segment,
            offset,
            header,
        } = &frame;
        segment
            .frame(&self.shared.cache, *offset, header, Vec::new())
            .map(Some)
    }

    /// A whole frame.
    ///
    /// # Errors
    /// [`LogReadError`] if the bytes cannot be read or are damaged, or older segments were removed.
    pub fn frame(&self, number: u64) -> Result<Option<StoredFrame>, LogReadError> {
        if number == 0 || number > self.position().frame {
            return Ok(None);
        }
        match self.locate(FrameKey::Frame(number))? {
            Some(frame) => frame
                .segment
                .frame(&self.shared.cache, frame.offset, &frame.header, Vec::new())
                .map(Some),
            None => Err(LogReadError::Missing {
                frame: number,
                first_frame: self.first_frame(),
            }),
        }
    }

    /// The frames from `from` on, in order. The iterator ends where the log ends, and continues if it is called again
    /// after the log has grown.
    pub fn frames(&self, from: u64) -> FrameIterator {
        FrameIterator {
            reader: self.clone(),
            next: from.max(1),
            previous: None,
            at: None,
            blocks: LastBlocks::default(),
            buffers: Vec::new(),
        }
    }

    pub(crate) fn damaged(frame: &FrameLocation, what: impl std::fmt::Display) -> LogReadError {
        frame
            .segment
            .damaged(frame.offset, Some(&frame.header), &what)
    }

    /// The bytes of a section, checked against its digest.
    fn section(
        &self,
        frame: &FrameLocation,
        kind: SectionKind,
    ) -> Result<Option<Vec<u8>>, LogReadError> {
        let header = &frame.header;
        let (Some(range), Some(section)) = (header.section_range(kind), header.section(kind))
        else {
            return Ok(None);
        };
        let at = frame.offset + range.start as u64;
        let bytes = frame.segment.read(&self.shared.cache, at, range.len())?;
        if sha256(&bytes) == section.digest {
            Ok(Some(bytes))
        } else {
            Err(Self::damaged(
                frame,
                format!("the section of {kind:?} does not match its digest"),
            ))
        }
    }

    fn batch_in(
        &self,
        frame: &FrameLocation,
        number: u64,
    ) -> Result<Option<SignedBatch>, LogReadError> {
        let section = self
            .section(frame, SectionKind::Batches)?
            .unwrap_or_default();
        let all = batches(&section).map_err(|error| Self::damaged(frame, error))?;
        let index = (number - frame.header.first_batch) as usize;
        match all.get(index) {
            Some(batch) if batch.header.number == number => Ok(Some(*batch)),
            _ => Err(Self::damaged(
                frame,
                format!("batch {number} is not where it belongs"),
            )),
        }
    }

    /// Places of the requests that hold `count` actions from `offset` in the frame, and the offset of their section in
    /// the segment.
    pub(crate) fn request_places(
        &self,
        frame: &FrameLocation,
        offset: u32,
        count: usize,
    ) -> Result<(Vec<RequestRange>, u64), LogReadError> {
        let damaged = |error: &dyn ToString| Self::damaged(frame, error.to_string());
        let range = frame.header.section_range(SectionKind::Requests);
        let range = range.ok_or_else(|| damaged(&"it has actions but no requests"))?;
        let start = frame.offset + range.start as u64;
        let mut bytes =
            frame
                .segment
                .read(&self.shared.cache, start, range.len().min(TABLE_READ_BYTES))?;
        let needed =
            table_bytes(&bytes).filter(|needed| (TABLE_HEAD_BYTES..=range.len()).contains(needed));
        let needed = needed.ok_or_else(|| damaged(&"the table of requests ends too early"))?;
        if needed > bytes.len() {
            bytes = frame.segment.read(&self.shared.cache, start, needed)?;
        }
        let table = RequestTable::read(&bytes, range.len(), frame.header.actions);
        let table = table.map_err(|error| damaged(&error))?;
        let places = (table.find(offset)..table.count())
            .map(|index| table.place(index))
            .take_while(|place| u64::from(place.first) < u64::from(offset) + count as u64);
        Ok((places.collect(), start))
    }

    fn requests(
        &self,
        frame: &FrameLocation,
        places: &[RequestRange],
    ) -> Result<Vec<StoredRequest>, LogReadError> {
        let start = frame
            .header
            .section_range(SectionKind::Requests)
            .map_or(0, |range| range.start);
        let start = frame.offset + start as u64;
        let mut requests = Vec::with_capacity(places.len());
        for place in places {
            let at = start + place.range.start as u64;
            let bytes = frame
                .segment
                .read(&self.shared.cache, at, place.range.len())?;
            if !place.is_of(&bytes) {
                return Err(Self::damaged(frame, "a request's checksum does not match"));
            }
            let first_sequence = frame.header.first_sequence + u64::from(place.first);
            requests.push(StoredRequest {
                first_sequence,
                bytes,
            });
        }
        Ok(requests)
    }

    fn leaves_again(
        &self,
        frame: &FrameLocation,
        first: u32,
        count: usize,
    ) -> Result<Vec<Hash>, LogReadError> {
        let (places, _) = self.request_places(frame, first, count)?;
        let mut leaves = Vec::with_capacity(count);
        for request in self.requests(frame, &places)? {
            let found = request.packed().and_then(|packed| packed.leaves());
            leaves.extend(found.map_err(|error| Self::damaged(frame, error))?);
        }
        Ok(leaves)
    }
}

/// Frames in order, each checked to continue the one before it.
pub struct FrameIterator {
    reader: LogReader,
    next: u64,
    previous: Option<Hash>,
    /// Offset of the next frame in a sealed segment.
    at: Option<(Arc<Segment>, u64)>,
    /// Private blocks: the shared cache is for readers that return to a block.
    blocks: LastBlocks,
    buffers: Vec<Vec<u8>>,
}

impl FrameIterator {
    /// Takes the buffer of a frame that is no longer needed.
    pub(crate) fn take_back(&mut self, frame: StoredFrame) {
        self.buffers.push(frame.into_bytes());
    }

    fn locate(&mut self) -> Result<FrameLocation, LogReadError> {
        if let Some((segment, offset)) = self.at.take()
            && let Segment::Sealed(sealed) = &*segment
            && offset < sealed.raw_bytes()
        {
            let header = segment.frame_header(&mut self.blocks, offset)?;
            return Ok(FrameLocation {
                segment,
                offset,
                header,
            });
        }
        let found = self.reader.locate(FrameKey::Frame(self.next))?;
        found.ok_or_else(|| LogReadError::Missing {
            frame: self.next,
            first_frame: self.reader.first_frame(),
        })
    }

    fn read(&mut self) -> Result<StoredFrame, LogReadError> {
        let found = self.locate()?;
        let (segment, header) = (&found.segment, &found.header);
        let expected = self.previous.unwrap_or(header.previous);
        if header.number != self.next || header.previous != expected {
            let what = "the frame does not continue the previous one";
            return Err(segment.damaged(found.offset, Some(header), what));
        }
        let buffer = self.buffers.pop().unwrap_or_default();
        let frame = segment.frame(&mut self.blocks, found.offset, header, buffer)?;
        self.previous = Some(header.hash());
        self.next += 1;
        let after = segment.after(found.offset, header);
        self.at = Some((Arc::clone(segment), after));
        Ok(frame)
    }
}

impl Iterator for FrameIterator {
    type Item = Result<StoredFrame, LogReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        (self.next <= self.reader.position().frame).then(|| self.read())
    }
}
