//! How much of the log its directory holds, by the form of its segments.

use crate::reader::LogReader;
use crate::segment::Segment;

/// Segments of one form.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Held {
    /// How many.
    pub segments: u64,
    /// Bytes of their files. The file of the open segment is made in its full length.
    pub bytes: u64,
    /// Bytes of the frames in them, as they were appended.
    pub frames_bytes: u64,
}

impl Held {
    fn add(&mut self, bytes: u64, frames_bytes: u64) {
        self.segments += 1;
        self.bytes += bytes;
        self.frames_bytes += frames_bytes;
    }
}

/// The segments in the log's directory, by form.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct HeldSegments {
    /// The open one, and those that wait to be sealed.
    pub raw: Held,
    /// Those that are compressed.
    pub sealed: Held,
}

impl LogReader {
    /// How much of the log its directory holds. Reads no file: what is known of open segments answers.
    pub fn held(&self) -> HeldSegments {
        let mut held = HeldSegments::default();
        for segment in &self.segments() {
            match &**segment {
                Segment::Raw(raw) => held.raw.add(raw.bytes(), raw.frames_bytes()),
                Segment::Sealed(sealed) => held.sealed.add(sealed.bytes(), sealed.raw_bytes()),
            }
        }
        held
    }
}
