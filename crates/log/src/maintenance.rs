//! Upkeep in parallel to appending: creating the next segment's file ahead of time, and compressing closed segments.
//! Each step is a call on a thread of the caller's.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::env::is_scarce;
use crate::error::{IoError, LogReadError, MaintenanceError};
use crate::file_log::LogOptions;
use crate::open_log::{OpenLog, lock};
use crate::segment::Segment;
use crate::segment::raw_segment::SpareSegment;
use crate::segment::seal::{SealReport, seal};

/// Bytes of a new file between two syncs. Syncs of the open segment go to the same disk, and commits wait for them.
const SYNCED_BYTES: u64 = 4 * 1024 * 1024;

pub struct LogMaintenance {
    shared: Arc<OpenLog>,
    options: LogOptions,
}

impl LogMaintenance {
    pub(crate) fn new(shared: Arc<OpenLog>, options: LogOptions) -> Self {
        Self { shared, options }
    }

    pub(crate) fn shared(&self) -> &OpenLog {
        &self.shared
    }

    /// Creates the file for the next segment, once the open one is half full and no file of the right size is ready.
    /// Otherwise the append that closes a segment would create the file and wait for it. Returns whether one was
    /// created.
    ///
    /// # Errors
    /// [`IoError`], for example if there is no space; the call can be retried.
    pub fn prepare(&self) -> Result<bool, IoError> {
        if self.shared.is_ending.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let segments = self.shared.segments.load();
        let open = segments.last().and_then(|segment| segment.raw());
        let Some(open) = open.filter(|open| open.end() >= open.bytes() / 2) else {
            return Ok(false);
        };
        let bytes = self.options.bytes_after(open.bytes());
        let waits = |spare: &SpareSegment| spare.bytes >= bytes;
        if lock(&self.shared.spare).as_ref().is_some_and(waits) {
            return Ok(false);
        }
        let env = &*self.shared.env;
        let spare = SpareSegment::make(env, self.shared.spare_path(), bytes, SYNCED_BYTES)?;
        // The writer left a small one over when it had to create a segment itself.
        if let Some(small) = lock(&self.shared.spare).replace(spare) {
            env.remove(&small.path).map_err(IoError::at(&small.path))?;
        }
        Ok(true)
    }

    /// Compresses the oldest closed raw segment; returns `None` if there is none.
    ///
    /// # Errors
    /// [`MaintenanceError`]: the raw segment remains and is still read; the call can be retried.
    pub fn seal_next(&self) -> Result<Option<SealReport>, MaintenanceError> {
        self.seal_next_in_parts(&mut |_| {})
    }

    /// Like [`Self::seal_next`]; calls `between` after each frame, with the number of closed raw segments at the start.
    ///
    /// # Errors
    /// The errors of [`Self::seal_next`].
    pub fn seal_next_in_parts(
        &self,
        between: &mut dyn FnMut(usize),
    ) -> Result<Option<SealReport>, MaintenanceError> {
        let segments = self.shared.segments.load();
        // Each closed segment has a successor.
        let closed = segments.iter().zip(segments.iter().skip(1));
        let mut raw = closed.filter(|(segment, _)| segment.raw().is_some());
        let Some((segment, next)) = raw.next() else {
            return Ok(None);
        };
        let waiting = 1 + raw.count();
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
            (segment, next.header()),
            self.options.compression,
            &mut || {
                between(waiting);
                self.shared.is_ending.load(Ordering::Relaxed)
            },
            swap,
        );
        match sealed {
            Err(MaintenanceError::Ended) => Ok(None),
            sealed => sealed.map(Some),
        }
    }

    /// Makes the step of another thread end soon; no further segment is compressed and no further file created.
    pub fn end(&self) {
        self.shared.is_ending.store(true, Ordering::Relaxed);
    }

    /// Whether the step can succeed later: disk space or another system resource is lacking for the moment.
    pub fn is_for_now(error: &MaintenanceError) -> bool {
        match error {
            MaintenanceError::Io(error) | MaintenanceError::Read(LogReadError::Io(error)) => {
                is_scarce(&error.source)
            }
            _ => false,
        }
    }
}
