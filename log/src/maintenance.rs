//! What is done next to appending: the next segment's file is made ahead of time, and closed segments are compressed.
//! Each step is a call; the caller gives it a thread.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::env::is_no_space;
use crate::error::{IoError, MaintenanceError};
use crate::file_log::Options;
use crate::open_log::{Shared, lock};
use crate::segment::Segment;
use crate::segment::raw::Spare;
use crate::segment::seal::{Sealed, seal};

/// The maintenance of a log.
pub struct Maintenance {
    shared: Arc<Shared>,
    options: Options,
}

impl Maintenance {
    pub(crate) fn new(shared: Arc<Shared>, options: Options) -> Self {
        Self { shared, options }
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Makes the file for the next segment, once the open one is half full and where none of its size waits. Without it
    /// the append that closes a segment makes the file itself, and waits for it. Gives whether one was made.
    ///
    /// # Errors
    /// [`IoError`], for instance where there is no space; it can be tried again.
    pub fn prepare(&self) -> Result<bool, IoError> {
        let segments = self.shared.segments.load();
        let open = segments.last().and_then(|segment| segment.raw());
        let Some(open) = open.filter(|open| open.end() >= open.bytes() / 2) else {
            return Ok(false);
        };
        let bytes = self.options.bytes_after(open.bytes());
        let waits = |spare: &Spare| spare.bytes >= bytes;
        if lock(&self.shared.spare).as_ref().is_some_and(waits) {
            return Ok(false);
        }
        let env = &*self.shared.env;
        let spare = Spare::make(env, self.shared.spare_path(), bytes)?;
        // A small one stayed behind where the writer had to make a segment by itself.
        if let Some(small) = lock(&self.shared.spare).replace(spare) {
            env.remove(&small.path).map_err(IoError::at(&small.path))?;
        }
        Ok(true)
    }

    /// Compresses the oldest closed segment that is raw; gives what was sealed, or nothing where there is none.
    ///
    /// # Errors
    /// [`MaintenanceError`]: the raw segment is still there and is read on; it can be tried again.
    pub fn seal_next(&self) -> Result<Option<Sealed>, MaintenanceError> {
        let segments = self.shared.segments.load();
        let closed = segments.split_last().map_or(&[][..], |(_, closed)| closed);
        let raw = closed.iter().find(|segment| segment.raw().is_some());
        let Some(segment) = raw else {
            return Ok(None);
        };
        let swap = |sealed| {
            let sealed = Arc::new(Segment::Sealed(sealed));
            self.shared.segments.rcu(|segments| {
                let same = |other: &Arc<Segment>| Arc::ptr_eq(other, segment);
                let of = |other: &Arc<Segment>| if same(other) { &sealed } else { other }.clone();
                segments.iter().map(of).collect::<Vec<_>>()
            });
        };
        let env = &*self.shared.env;
        let sealed = seal(
            env,
            &self.shared.dir,
            segment,
            self.options.compression,
            &self.shared.is_ending,
            swap,
        );
        match sealed {
            Err(MaintenanceError::Ended) => Ok(None),
            sealed => sealed.map(Some),
        }
    }

    /// Lets a step that another thread is doing end soon; no segment is compressed any more.
    pub fn end(&self) {
        self.shared.is_ending.store(true, Ordering::Relaxed);
    }

    /// Whether an error means that there is no space, so that the step is worth another try later.
    pub fn is_no_space(error: &IoError) -> bool {
        is_no_space(&error.source)
    }
}
