//! Size of the log's directory by segment form.

use crate::reader::LogReader;
use crate::segment::Segment;

/// Usage of the segments of one form.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SegmentUsage {
    pub segments: u64,
    /// File sizes. The file of the open segment has its full length from the start.
    pub bytes: u64,
    /// Bytes of the appended frames.
    pub frames_bytes: u64,
}

impl SegmentUsage {
    fn add(&mut self, bytes: u64, frames_bytes: u64) {
        self.segments += 1;
        self.bytes += bytes;
        self.frames_bytes += frames_bytes;
    }
}

/// Usage of the log's directory, by segment form.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LogUsage {
    /// The open segment, and closed ones that are not sealed yet.
    pub raw: SegmentUsage,
    pub sealed: SegmentUsage,
}

impl LogReader {
    /// Usage of the log's directory; reads no file.
    pub fn held(&self) -> LogUsage {
        let mut held = LogUsage::default();
        for segment in &self.segments() {
            match &**segment {
                Segment::Raw(raw) => held.raw.add(raw.bytes(), raw.frames_bytes()),
                Segment::Sealed(sealed) => held.sealed.add(sealed.bytes(), sealed.raw_bytes()),
            }
        }
        held
    }
}
