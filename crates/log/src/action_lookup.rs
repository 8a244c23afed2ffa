//! Reads one action of the log, without the other 499 of its request.

use kedge_protocol::record::{ActionRecord, RequestRecord};
use quick_cache::sync::Cache;

use crate::codec::CodecError;
use crate::error::LogReadError;
use crate::frame::requests::RequestRange;
use crate::packed::{RecordOutline, action_of};
use crate::reader::{FrameLocation, LogReader};
use crate::segment::FrameKey;

/// Requests up to this length are read as a whole and checked each time.
const WHOLE_BYTES_MAX: usize = 4096;
/// Number of remembered requests: a few megabytes.
const CHECKED_MAX: usize = 1 << 16;

/// Longer requests whose checksum held when they were read as a whole, by their frame's number and their first sequence
/// in it. Later reads of these fetch only parts.
pub(crate) struct RequestCheckCache(Cache<(u64, u32), ()>);

impl Default for RequestCheckCache {
    fn default() -> Self {
        Self(Cache::new(CHECKED_MAX))
    }
}

/// An action with the head of its request.
pub struct StoredAction {
    /// The request, without its actions.
    pub request: RequestRecord<'static>,
    /// Number of the request's actions that were done.
    pub count: usize,
    /// The action's position among these.
    pub position: usize,
    bytes: Vec<u8>,
}

impl StoredAction {
    /// Reads the action.
    ///
    /// # Errors
    /// [`CodecError`] if its bytes were damaged before they entered the log.
    pub fn record(&self) -> Result<ActionRecord<'_>, CodecError> {
        action_of(&self.bytes)
    }
}

impl LogReader {
    /// The action with this sequence; `None` if it is not in the log. The first access to a long request reads it as a
    /// whole and checks it; later ones read its head and the action.
    ///
    /// # Errors
    /// [`LogReadError`] if the bytes cannot be read or are damaged.
    pub fn action_at(&self, sequence: u64) -> Result<Option<StoredAction>, LogReadError> {
        let Some(frame) = self.locate(FrameKey::Sequence(sequence))? else {
            return Ok(None);
        };
        let first_in_frame = frame.header.first_sequence;
        let (places, section) =
            self.request_places(&frame, (sequence - first_in_frame) as u32, 1)?;
        let Some(place) = places.first() else {
            return Ok(None);
        };
        let first_sequence = first_in_frame + u64::from(place.first);
        let damaged = |error: CodecError| Self::damaged(&frame, error);
        let begin = self.beginning(&frame, place, section)?;
        let (outline, _) = RecordOutline::read(&begin).map_err(damaged)?;
        let position = (sequence - first_sequence) as usize;
        let actions_at = RecordOutline::bytes(&begin).unwrap_or(begin.len());
        let range = outline
            .range(position)
            .map(|range| actions_at + range.start..actions_at + range.end);
        let range = range.filter(|range| {
            range.end <= place.range.len() && outline.head.first_sequence == first_sequence
        });
        let range = range.ok_or_else(|| {
            damaged(CodecError::bytes(
                "the request does not hold the action that its place promises",
            ))
        })?;
        let bytes = match begin.get(range.clone()) {
            Some(bytes) => bytes.to_vec(),
            None => self.part(&frame, place, section, range)?,
        };
        Ok(Some(StoredAction {
            count: outline.count(),
            request: outline.head,
            position,
            bytes,
        }))
    }

    /// The request's bytes at least up to the first action; all of them if the request was not checked before.
    fn beginning(
        &self,
        frame: &FrameLocation,
        place: &RequestRange,
        section: u64,
    ) -> Result<Vec<u8>, LogReadError> {
        let length = place.range.len();
        let checked = &self.shared().checked.0;
        let key = (frame.header.number, place.first);
        if length > WHOLE_BYTES_MAX && checked.get(&key).is_some() {
            let begin = self.part(frame, place, section, 0..WHOLE_BYTES_MAX)?;
            return match RecordOutline::bytes(&begin) {
                Some(needed) if needed > begin.len() => {
                    self.part(frame, place, section, 0..needed.min(length))
                }
                _ => Ok(begin),
            };
        }
        let whole = self.part(frame, place, section, 0..length)?;
        if !place.is_of(&whole) {
            return Err(Self::damaged(frame, "a request's checksum does not match"));
        }
        if length > WHOLE_BYTES_MAX {
            checked.insert(key, ());
        }
        Ok(whole)
    }

    fn part(
        &self,
        frame: &FrameLocation,
        place: &RequestRange,
        section: u64,
        range: std::ops::Range<usize>,
    ) -> Result<Vec<u8>, LogReadError> {
        let at = section + (place.range.start + range.start) as u64;
        frame.segment.read(&self.shared().cache, at, range.len())
    }
}
