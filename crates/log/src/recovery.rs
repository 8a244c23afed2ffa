//! Recovery at a start: inspects the directory, checks the log, and removes a crash's leftovers. The inspection changes
//! nothing; changes come after every check has passed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kedge_protocol::Hash;

use crate::env::{Env, OpenMode, write_zeros};
use crate::error::{IoError, LogDamage, LogOpenError, LogReadError};
use crate::position::LogPosition;
use crate::segment::path_of;
use crate::segment::raw_segment::RawSegment;
use crate::segment::scan::{SegmentScan, read_header};
use crate::segment::seal::check_whole;
use crate::segment::sealed_segment::SealedSegment;
use crate::segment::{
    NEW_ENDING, PAGE_BYTES, Segment, SegmentHeader, SegmentKind, SegmentName, UNFINISHED_ENDING,
};

/// Lower bound of the log's end: the position that is known to have been released. Zero means unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReleaseMark {
    /// Last released frame.
    pub frame: u64,
    /// Last released sequence.
    pub sequence: u64,
}

/// A cut-off last frame. It was never durable as a whole, so it was never acknowledged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TornFrame {
    pub segment: PathBuf,
    /// Offset of the frame's start.
    pub offset: u64,
    /// Length up to the last byte on the disk that is not zero.
    pub bytes: u64,
    pub frame: u64,
    /// The failed check.
    pub what: String,
}

/// Result of recovery.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LogRecovery {
    pub torn: Option<TornFrame>,
    /// Files left by a crash that were removed: unfinished segments and duplicates.
    pub removed: Vec<PathBuf>,
}

/// Result of the inspection.
pub(crate) struct RecoveredSegments {
    pub(crate) identity: Option<Hash>,
    pub(crate) segments: Vec<Arc<Segment>>,
    /// End of the last segment, if that is a raw one.
    pub(crate) tail: Option<SegmentScan>,
    pub(crate) position: Option<LogPosition>,
    pub(crate) recovery: LogRecovery,
}

/// Reads a directory and checks that its log is whole, except for a torn end.
pub(crate) fn find(
    env: &dyn Env,
    dir: &Path,
    identity: Option<Hash>,
) -> Result<RecoveredSegments, LogOpenError> {
    let mut names: BTreeMap<(u64, SegmentName), Vec<SegmentKind>> = BTreeMap::new();
    let mut found = RecoveredSegments {
        identity,
        segments: Vec::new(),
        tail: None,
        position: None,
        recovery: LogRecovery::default(),
    };
    for file in env.list(dir).map_err(IoError::at(dir))? {
        if let Some((name, kind)) = SegmentName::of_file(&file) {
            names
                .entry((name.first_frame, name))
                .or_default()
                .push(kind);
        } else if is_leftover(&file) {
            found.recovery.removed.push(dir.join(file));
        }
    }
    let count = names.len();
    for (index, ((_, name), kinds)) in names.into_iter().enumerate() {
        let sealed = found.sealed(env, dir, name, &kinds)?;
        match sealed {
            Some(sealed) => found.join_sealed(sealed)?,
            None => found.join_raw(env, dir, name, index + 1 == count)?,
        }
    }
    Ok(found)
}

fn is_leftover(file: &str) -> bool {
    let ending = Path::new(file)
        .extension()
        .and_then(|ending| ending.to_str());
    matches!(ending, Some(NEW_ENDING | UNFINISHED_ENDING))
}

/// Builds a raw segment from the scanned frames.
fn scanned(raw: RawSegment, scan: &SegmentScan) -> RawSegment {
    for (index, place) in scan.places.iter().enumerate() {
        raw.note(index, *place);
    }
    raw.publish(scan.places.len());
    raw.set_end(scan.end);
    raw
}

impl RecoveredSegments {
    /// The readable sealed segment of a name. If the raw one exists too, a crash came before its removal: the sealed
    /// one counts if it is whole.
    fn sealed(
        &mut self,
        env: &dyn Env,
        dir: &Path,
        name: SegmentName,
        kinds: &[SegmentKind],
    ) -> Result<Option<SealedSegment>, LogOpenError> {
        if !kinds.contains(&SegmentKind::Sealed) {
            return Ok(None);
        }
        let path = path_of(dir, name, SegmentKind::Sealed);
        let opened = SealedSegment::open(env, &path);
        if !kinds.contains(&SegmentKind::Raw) {
            return Ok(Some(opened?));
        }
        let whole = opened.and_then(|sealed| {
            let segment = Segment::Sealed(sealed);
            check_whole(&segment).map(|()| segment)
        });
        match whole {
            Ok(Segment::Sealed(sealed)) => {
                self.recovery
                    .removed
                    .push(path_of(dir, name, SegmentKind::Raw));
                Ok(Some(sealed))
            }
            Ok(Segment::Raw(_)) | Err(LogReadError::Damaged(_) | LogReadError::Missing { .. }) => {
                self.recovery.removed.push(path);
                Ok(None)
            }
            Err(error @ LogReadError::Io(_)) => Err(error.into()),
        }
    }

    /// Checks that a segment continues the log before it.
    fn continues(&mut self, path: &Path, header: &SegmentHeader) -> Result<(), LogOpenError> {
        let identity = *self.identity.get_or_insert(header.identity);
        if identity != header.identity {
            return Err(LogOpenError::Identity {
                segment: path.to_owned(),
                expected: identity,
                found: header.identity,
            });
        }
        let here = LogPosition {
            frame: header.first_frame.saturating_sub(1),
            next_sequence: header.first_sequence,
            next_batch: header.first_batch,
            hash: header.previous,
        };
        let expected = match self.position {
            Some(position) => position,
            None if header.first_frame == 1 => LogPosition::start(&identity),
            // Older segments were removed.
            None => here,
        };
        if header.first_frame > 0 && here == expected {
            return Ok(());
        }
        let before = self.segments.last().filter(|_| here.frame > expected.frame);
        let segment = before.map_or(path, |before| before.path());
        let offset = self.tail.as_ref().map_or(0, |tail| tail.end);
        let stopped = self.tail.as_ref().and_then(|tail| tail.stopped.clone());
        let what = stopped.unwrap_or_else(|| match before {
            Some(_) => format!(
                "frames {} to {} are missing",
                expected.frame + 1,
                here.frame
            ),
            None => format!("the segment does not continue frame {}", expected.frame),
        });
        Err(LogOpenError::Damaged(LogDamage {
            segment: segment.to_owned(),
            offset: before.map_or(0, |_| offset),
            frame: Some(expected.frame + 1),
            first_sequence: expected.next_sequence,
            last_sequence: before.map(|_| here.next_sequence.saturating_sub(1)),
            what,
        }))
    }

    fn named(path: &Path, name: SegmentName, header: &SegmentHeader) -> Result<(), LogOpenError> {
        if header.name() == name {
            return Ok(());
        }
        Err(LogOpenError::Damaged(LogDamage {
            segment: path.to_owned(),
            offset: 0,
            frame: Some(header.first_frame),
            first_sequence: header.first_sequence,
            last_sequence: None,
            what: "the segment's name does not match its header".to_owned(),
        }))
    }

    fn join_sealed(&mut self, sealed: SealedSegment) -> Result<(), LogOpenError> {
        let name = sealed.path().file_name().and_then(|name| name.to_str());
        if let Some((name, _)) = name.and_then(SegmentName::of_file) {
            Self::named(sealed.path(), name, sealed.header())?;
        }
        self.continues(sealed.path(), sealed.header())?;
        let footer = sealed.footer();
        self.position = Some(LogPosition {
            frame: footer.next_frame - 1,
            next_sequence: footer.next_sequence,
            next_batch: footer.next_batch,
            hash: footer.hash,
        });
        self.tail = None;
        self.segments.push(Arc::new(Segment::Sealed(sealed)));
        Ok(())
    }

    fn join_raw(
        &mut self,
        env: &dyn Env,
        dir: &Path,
        name: SegmentName,
        is_last: bool,
    ) -> Result<(), LogOpenError> {
        let path = path_of(dir, name, SegmentKind::Raw);
        let file = env
            .open(&path, OpenMode::Read)
            .map_err(IoError::at(&path))?;
        let bytes = file.len().map_err(IoError::at(&path))?;
        let header = read_header(&path, &*file)?.map_err(LogOpenError::Damaged)?;
        Self::named(&path, name, &header)?;
        self.continues(&path, &header)?;
        let scan = SegmentScan::run(&path, &*file, &header, bytes)?;
        if let Some(what) = &scan.stopped {
            let what = what.clone();
            if scan.whole {
                return Err(LogOpenError::Damaged(scan.damage(&path, None, what)));
            }
            if let Some(later) = scan.evidence(&path, &*file, bytes)? {
                let (frame, first) = (later.number, later.first_sequence);
                let what = format!("{what}; it was durable, as frame {frame} after it shows");
                return Err(LogOpenError::Damaged(scan.damage(&path, Some(first), what)));
            }
            // Bytes after the last frame of a closed segment do not matter. If frames are missing there, the next
            // segment's header shows it.
            if is_last {
                let bytes = scan.torn_bytes(&*file, bytes).map_err(IoError::at(&path))?;
                self.recovery.torn = Some(TornFrame {
                    segment: path.clone(),
                    offset: scan.end,
                    bytes,
                    frame: scan.next_frame,
                    what,
                });
            }
        }
        let raw = scanned(RawSegment::new(path, header, file, bytes), &scan);
        self.position = Some(LogPosition {
            frame: scan.next_frame - 1,
            next_sequence: scan.next_sequence,
            next_batch: scan.next_batch,
            hash: scan.hash,
        });
        self.tail = Some(scan);
        self.segments.push(Arc::new(Segment::Raw(raw)));
        Ok(())
    }

    /// Rejects a log that ends before the released position.
    pub(crate) fn reaches(&self, released: ReleaseMark) -> Result<(), LogOpenError> {
        let (last_frame, last_sequence) = self.position.map_or((0, 0), |position| {
            (position.frame, position.next_sequence - 1)
        });
        if last_frame >= released.frame && last_sequence >= released.sequence {
            return Ok(());
        }
        Err(LogOpenError::Released {
            last_frame,
            last_sequence,
            released_frame: released.frame,
            released_sequence: released.sequence,
        })
    }

    /// Cuts off the torn end and removes a crash's leftovers; returns the raw segment to append to, open for writing.
    pub(crate) fn repair(
        &mut self,
        env: &dyn Env,
        dir: &Path,
    ) -> Result<Option<Arc<Segment>>, LogOpenError> {
        let mut open = None;
        if let Some(scan) = self.tail.take()
            && let Some(last) = self.segments.pop()
        {
            let path = last.path().to_owned();
            let file = env
                .open(&path, OpenMode::Write)
                .map_err(IoError::at(&path))?;
            let bytes = file.len().map_err(IoError::at(&path))?;
            if let Some(torn) = &self.recovery.torn {
                // Overwrites the rest of the torn frame, which must not be found again after later frames.
                let end = (scan.end + torn.bytes)
                    .next_multiple_of(PAGE_BYTES)
                    .min(bytes);
                write_zeros(&*file, scan.end, end).map_err(IoError::at(&path))?;
            }
            // A frame may be only in the page cache, written by a process that ended before its sync. Every found frame
            // counts as acknowledged from now on, so it must be durable.
            file.sync().map_err(IoError::at(&path))?;
            let raw = RawSegment::new(path, last.header().clone(), file, bytes);
            let raw = scanned(raw, &scan);
            let segment = Arc::new(Segment::Raw(raw));
            self.segments.push(Arc::clone(&segment));
            open = Some(segment);
        }
        for path in &self.recovery.removed {
            env.remove(path).map_err(IoError::at(path))?;
        }
        env.sync_dir(dir).map_err(IoError::at(dir))?;
        Ok(open)
    }
}
