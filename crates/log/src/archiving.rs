//! Archiving: sealed segments leave the log's directory, and the log then begins later. Copying the archived files back
//! into the directory of a closed log restores them.

use std::path::PathBuf;
use std::sync::Arc;

use crate::error::IoError;
use crate::maintenance::LogMaintenance;
use crate::reader::LogReader;
use crate::segment::{Segment, SegmentHeader};

/// A sealed segment that is a file of the log's directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SealedFile {
    pub path: PathBuf,
    pub header: SegmentHeader,
    /// The number of the frame after its last.
    pub next_frame: u64,
    /// The sequence after its last.
    pub next_sequence: u64,
    /// The number of the batch after its last.
    pub next_batch: u64,
}

impl LogReader {
    /// The sealed segments, in order, from the beginning of the log to the first that is raw.
    pub fn sealed_files(&self) -> Vec<SealedFile> {
        let segments = self.segments();
        let sealed = segments.iter().map_while(|segment| match &**segment {
            Segment::Sealed(sealed) => Some(sealed),
            Segment::Raw(_) => None,
        });
        let file = |sealed: &crate::segment::sealed_segment::SealedSegment| SealedFile {
            path: sealed.path().to_owned(),
            header: sealed.header().clone(),
            next_frame: sealed.footer().next_frame,
            next_sequence: sealed.footer().next_sequence,
            next_batch: sealed.footer().next_batch,
        };
        sealed.map(file).collect()
    }

    /// Records where removed segments are archived. [`LogReader::archive`] returns it.
    pub fn set_archive(&self, place: String) {
        self.shared().archive.store(Some(Arc::new(place)));
    }

    /// Where removed segments are archived, if known.
    pub fn archive(&self) -> Option<String> {
        let place = self.shared().archive.load();
        place.as_deref().cloned()
    }
}

impl LogMaintenance {
    /// Removes the sealed segments that end before this frame, oldest first, so that the rest is one run of frames
    /// whenever the machine stops. Readers inside a removed segment can continue.
    ///
    /// # Errors
    /// [`IoError`]; segments whose files still exist are in the log again at the next start.
    pub fn remove_before(&self, frame: u64) -> Result<(), IoError> {
        let shared = self.shared();
        let leaves = |segment: &Segment| match segment {
            Segment::Sealed(sealed) => sealed.footer().next_frame <= frame,
            Segment::Raw(_) => false,
        };
        let mut removed = Vec::new();
        shared.segments.rcu(|segments| {
            let count = segments.iter().take_while(|segment| leaves(segment));
            let (gone, kept) = segments.split_at(count.count());
            removed = gone.to_vec();
            kept.to_vec()
        });
        for segment in removed {
            shared
                .env
                .remove(segment.path())
                .map_err(IoError::at(segment.path()))?;
        }
        shared
            .env
            .sync_dir(&shared.dir)
            .map_err(IoError::at(&shared.dir))
    }
}
