//! An open log: the state shared by its writer, readers and maintenance.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::{ArcSwap, ArcSwapOption};
use kedge_protocol::Hash;
use parking_lot::{Mutex, MutexGuard};

use crate::action_lookup::RequestCheckCache;
use crate::env::Env;
use crate::error::LogFailure;
use crate::position::LogPosition;
use crate::segment::blocks::BlockCache;
use crate::segment::raw_segment::{RawSegment, SpareSegment};
use crate::segment::{NEW_ENDING, Segment};

pub(crate) type SegmentList = Vec<Arc<Segment>>;

pub(crate) struct OpenLog {
    pub(crate) env: Arc<dyn Env>,
    pub(crate) dir: PathBuf,
    pub(crate) identity: Hash,
    pub(crate) segments: ArcSwap<SegmentList>,
    pub(crate) cache: BlockCache,
    pub(crate) checked: RequestCheckCache,
    /// The durable position, up to which readers see the log.
    durable: ArcSwap<LogPosition>,
    appended: Mutex<AppendPoint>,
    /// Locked during a sync: the system reports a failed write to one caller only.
    syncing: Mutex<()>,
    pub(crate) spare: Mutex<Option<SpareSegment>>,
    spares: AtomicU64,
    /// Tells running maintenance steps to stop.
    pub(crate) is_ending: AtomicBool,
    /// Where removed segments are archived.
    pub(crate) archive: ArcSwapOption<String>,
    failed: OnceLock<LogFailure>,
}

/// End of the written log, and its segment.
#[derive(Clone)]
pub(crate) struct AppendPoint {
    /// The segment of the last frame, or the one for the first frame.
    pub(crate) segment: Option<Arc<Segment>>,
    /// Frames in that segment.
    pub(crate) frames: usize,
    pub(crate) position: LogPosition,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The contents are replaced as a whole, so a panic elsewhere cannot leave them half done.
    mutex.lock()
}

impl OpenLog {
    pub(crate) fn new(
        env: Arc<dyn Env>,
        dir: PathBuf,
        identity: Hash,
        segments: SegmentList,
        position: LogPosition,
        cache_bytes: u64,
    ) -> Self {
        let last = segments.last().cloned();
        let frames = last
            .as_deref()
            .and_then(Segment::raw)
            .map_or(0, RawSegment::published);
        Self {
            env,
            dir,
            identity,
            segments: ArcSwap::from_pointee(segments),
            cache: BlockCache::new(cache_bytes),
            checked: RequestCheckCache::default(),
            durable: ArcSwap::from_pointee(position),
            appended: Mutex::new(AppendPoint {
                segment: last,
                frames,
                position,
            }),
            syncing: Mutex::new(()),
            spare: Mutex::new(None),
            spares: AtomicU64::new(0),
            is_ending: AtomicBool::new(false),
            archive: ArcSwapOption::empty(),
            failed: OnceLock::new(),
        }
    }

    pub(crate) fn durable(&self) -> LogPosition {
        **self.durable.load()
    }

    pub(crate) fn set_appended(&self, appended: AppendPoint) {
        *lock(&self.appended) = appended;
    }

    /// A unique name for the next file of zeros: one may be created while another becomes a segment.
    pub(crate) fn spare_path(&self) -> PathBuf {
        let number = self.spares.fetch_add(1, Ordering::Relaxed);
        self.dir.join(format!("spare-{number}.{NEW_ENDING}"))
    }

    pub(crate) fn check(&self) -> Result<(), LogFailure> {
        self.failed.get().cloned().map_or(Ok(()), Err)
    }

    /// Makes the log refuse everything from now on.
    pub(crate) fn fail(&self, what: impl std::fmt::Display) -> LogFailure {
        self.failed
            .get_or_init(|| LogFailure(what.to_string()))
            .clone()
    }

    /// Makes everything that was appended before the call durable, and visible to readers.
    pub(crate) fn sync(&self) -> Result<LogPosition, LogFailure> {
        let _one_at_a_time = lock(&self.syncing);
        self.check()?;
        let appended = lock(&self.appended).clone();
        let durable = self.durable();
        if appended.position.frame == durable.frame {
            return Ok(durable);
        }
        let segment = appended.segment.as_deref();
        if let Some(raw) = segment.and_then(Segment::raw) {
            raw.file().sync().map_err(|error| {
                self.fail(format!("fdatasync {}: {error}", raw.path().display()))
            })?;
            raw.publish(appended.frames);
        }
        self.durable.store(Arc::new(appended.position));
        Ok(appended.position)
    }
}
