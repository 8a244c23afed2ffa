//! Lookup of a log's newest side entries.

use crate::error::LogReadError;
use crate::frame::{SectionKind, StoredFrame};
use crate::reader::LogReader;
use crate::segment::FrameKey;

impl LogReader {
    /// The newest frame with side entries among the last `count`. Of the others, only headers are read.
    ///
    /// # Errors
    /// [`LogReadError`] if the log cannot be read.
    pub fn newest_with_side(&self, count: u64) -> Result<Option<StoredFrame>, LogReadError> {
        let last = self.position().frame;
        let first = self.first_frame().max(last.saturating_sub(count) + 1);
        for number in (first..=last).rev() {
            let header = self.header_of(FrameKey::Frame(number))?;
            if header.is_some_and(|header| header.section(SectionKind::Side).is_some()) {
                return self.frame(number);
            }
        }
        Ok(None)
    }
}
