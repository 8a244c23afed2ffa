//! Sealed segments that leave the log's directory for an archive. The log then begins later, and everything that was
//! archived can be put back by copying the files into the directory of a log that nobody has open.

use std::path::PathBuf;
use std::sync::Arc;

use crate::error::IoError;
use crate::maintenance::Maintenance;
use crate::reader::LogReader;
use crate::segment::{Segment, SegmentHeader};

/// A sealed segment that is a file of the log's directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SealedFile {
    /// The file.
    pub path: PathBuf,
    /// What it begins with.
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
        let file = |sealed: &crate::segment::sealed::SealedSegment| SealedFile {
            path: sealed.path().to_owned(),
            header: sealed.header().clone(),
            next_frame: sealed.footer().next_frame,
            next_sequence: sealed.footer().next_sequence,
            next_batch: sealed.footer().next_batch,
        };
        sealed.map(file).collect()
    }

    /// Notes where the segments are that were taken away, for whoever asks for them.
    pub fn set_archive(&self, place: String) {
        self.shared().archive.store(Some(Arc::new(place)));
    }

    /// Where the segments are that were taken away, if anybody said so.
    pub fn archive(&self) -> Option<String> {
        let place = self.shared().archive.load();
        place.as_deref().cloned()
    }
}

impl Maintenance {
    /// Removes the sealed segments at the log's beginning that hold nothing from this frame on, oldest first, so that
    /// what is left is one run of frames whenever the machine stops. Readers that are in one read on.
    ///
    /// # Errors
    /// [`IoError`]; the segments whose files are left then are in the log again at the next start.
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
