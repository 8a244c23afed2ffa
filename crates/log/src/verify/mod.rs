//! Checks a directory of segments with nothing but the protocol: every checksum and digest, the chain of frames, every
//! request against its leaf, every batch against its root, heads, signature and predecessor. All threads check frames;
//! the links between frames are checked in order.

mod frames;
mod signers;

use std::collections::BTreeSet;

use kedge_protocol::batch::SignedBatch;
use kedge_protocol::log_tree::{self, TreeFrontier};
use kedge_protocol::{Address, Hash, SequencerKeys};

use self::frames::FrameCheck;
use self::signers::BatchSigners;
use crate::error::LogReadError;
use crate::file_log::LogFloor;
use crate::frame::header::FIRST_FORMAT;
use crate::frame::{FrameHeader, KeyId, SideKeys, StoredFrame};
use crate::reader::{FrameIterator, LogReader};

/// Bytes of frames that are checked together, while the next ones are read.
const WINDOW_BYTES: usize = 16 * 1024 * 1024;

/// Keys and options of a check.
#[derive(Clone, Debug, Default)]
pub struct LogVerifyPlan {
    /// Keys that may sign headers. Without them, the signers are recovered from signatures and reported.
    pub keys: Option<SequencerKeys>,
    /// Whether the signatures of requests are also checked.
    pub request_signatures: bool,
    /// Keys to open side entries; without any, only the entries' digests are checked.
    pub side_keys: Option<SideKeys>,
}

/// Counts and findings of a successful check.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LogVerifySummary {
    pub frames: u64,
    pub batches: u64,
    pub requests: u64,
    pub actions: u64,
    /// Number of side entries that were opened.
    pub side_entries: u64,
    /// Keys that seal side entries.
    pub side_keys: BTreeSet<KeyId>,
    /// Number of keys that joined a wallet without their consent: possible in a log that is older than the rule.
    pub additions_without_consent: u64,
    /// The signers of headers, each with its first batch.
    pub signers: Vec<(u64, Address)>,
    /// Whether the headers' histories were checked: only if the log begins with its first batch.
    pub histories: bool,
}

/// A failed check and its place.
#[derive(Debug, thiserror::Error)]
pub enum LogVerifyFault {
    /// The log cannot be read there.
    #[error(transparent)]
    Read(#[from] LogReadError),
    /// The contents of a frame are wrong.
    #[error("frame {frame}, sequence {sequence}: {what}")]
    Wrong {
        frame: u64,
        /// The first sequence that is wrong.
        sequence: u64,
        what: String,
    },
}

/// Checks every frame that the reader sees. Calls `progress` with the last sequence checked so far.
///
/// # Errors
/// [`LogVerifyFault`] for the first bad frame, in the order of the log.
pub fn verify(
    reader: &LogReader,
    plan: &LogVerifyPlan,
    mut progress: impl FnMut(u64),
) -> Result<LogVerifySummary, LogVerifyFault> {
    let identity = reader.identity();
    let signers = BatchSigners::default();
    let mut walk = FrameWalk::new(identity);
    let mut frames = reader.frames(reader.first_frame());
    let mut window = FrameWindow::read(&mut frames);
    loop {
        let check = || frames::check(&window.frames, &identity, plan, &signers);
        let read = || match window.unreadable {
            None => FrameWindow::read(&mut frames),
            Some(_) => FrameWindow::default(),
        };
        let (own, next) = rayon::join(check, read);
        for (frame, own) in window.frames.iter().zip(own) {
            walk.join(frame, own?)?;
        }
        if let Some(error) = window.unreadable {
            return Err(error.into());
        }
        if window.frames.is_empty() {
            return Ok(walk.summary);
        }
        progress(walk.sequence);
        let done = std::mem::replace(&mut window, next);
        for frame in done.frames {
            frames.take_back(frame);
        }
    }
}

/// Frames that are checked together.
#[derive(Default)]
struct FrameWindow {
    frames: Vec<StoredFrame>,
    /// Why no frame follows; `None` at the log's end.
    unreadable: Option<LogReadError>,
}

impl FrameWindow {
    fn read(frames: &mut FrameIterator) -> Self {
        let mut window = Self::default();
        let mut bytes = 0;
        while bytes < WINDOW_BYTES {
            match frames.next() {
                None => break,
                Some(Ok(frame)) => {
                    bytes += frame.bytes().len();
                    window.frames.push(frame);
                }
                Some(Err(error)) => {
                    window.unreadable = Some(error);
                    break;
                }
            }
        }
        window
    }
}

fn fault(frame: &StoredFrame, sequence: u64, what: impl std::fmt::Display) -> LogVerifyFault {
    LogVerifyFault::Wrong {
        frame: frame.header().number,
        sequence,
        what: what.to_string(),
    }
}

/// Checks the links between individually checked frames.
struct FrameWalk {
    separator: Hash,
    /// Term and format of the frame before; unknown for the first frame of a log without its older segments.
    reached: Option<LogFloor>,
    last: Option<SignedBatch>,
    tree: Option<TreeFrontier>,
    last_timestamp_ms: u64,
    sequence: u64,
    summary: LogVerifySummary,
}

impl FrameWalk {
    fn new(separator: Hash) -> Self {
        Self {
            separator,
            reached: None,
            last: None,
            tree: TreeFrontier::of_peaks(0, Vec::new()),
            last_timestamp_ms: 0,
            sequence: 0,
            summary: LogVerifySummary {
                histories: true,
                ..LogVerifySummary::default()
            },
        }
    }

    fn join(&mut self, frame: &StoredFrame, own: FrameCheck) -> Result<(), LogVerifyFault> {
        let header = frame.header();
        let first = header.first_sequence;
        self.reaches(header)
            .map_err(|what| fault(frame, first, what))?;
        if let Some((begin, last)) = own.times {
            if begin < self.last_timestamp_ms {
                return Err(fault(
                    frame,
                    first,
                    "the request's time is before the previous request's",
                ));
            }
            self.last_timestamp_ms = last;
        }
        for (batch, signer) in own.batches {
            self.batch(&batch)
                .map_err(|what| fault(frame, batch.header.first_sequence, what))?;
            if self
                .summary
                .signers
                .last()
                .is_none_or(|(_, last)| *last != signer)
            {
                self.summary.signers.push((batch.header.number, signer));
            }
            self.summary.batches += 1;
            self.last = Some(batch);
        }
        self.summary.frames += 1;
        self.summary.requests += own.requests;
        self.summary.actions += u64::from(header.actions);
        self.summary.side_entries += own.side_entries;
        self.summary.side_keys.extend(own.side_keys);
        self.summary.additions_without_consent += own.additions_without_consent;
        self.sequence = header.next_sequence() - 1;
        Ok(())
    }

    /// Terms and formats never fall, and an empty frame opens a new term or raises the format.
    fn reaches(&mut self, header: &FrameHeader) -> Result<(), String> {
        let LogFloor { term, format } = LogFloor::after(header);
        let before = match self.reached.replace(LogFloor { term, format }) {
            None if header.number == 1 => LogFloor {
                format: FIRST_FORMAT,
                ..LogFloor::START
            },
            None => return Ok(()),
            Some(before) => before,
        };
        for (what, found, before) in [
            ("term", term, before.term),
            ("format", u64::from(format), u64::from(before.format)),
        ] {
            if found < before {
                return Err(format!(
                    "its {what} is {found}, but that of the frame before it is {before}"
                ));
            }
        }
        if header.is_empty() && (term, format) == (before.term, before.format) {
            return Err(format!("it is empty, but term {term} was opened before it"));
        }
        Ok(())
    }

    fn batch(&mut self, batch: &SignedBatch) -> Result<(), &'static str> {
        let header = &batch.header;
        let holds = |holds, what| if holds { Ok(()) } else { Err(what) };
        match &self.last {
            Some(before) => {
                let before = &before.header;
                holds(
                    header.previous_head == before.head,
                    "the batch does not extend the previous head",
                )?;
                holds(
                    header.sealed_at_ms >= before.sealed_at_ms,
                    "the batch was sealed before the previous one",
                )?;
            }
            None if header.number == 0 => {
                holds(
                    header.previous_head == self.separator,
                    "the first batch does not extend the domain",
                )?;
            }
            None => {
                // The tree over older batches cannot be built without their segments.
                self.tree = None;
                self.summary.histories = false;
            }
        }
        if let Some(tree) = &mut self.tree {
            holds(
                header.history == tree.root(),
                "the header's history is not the root over the earlier batches",
            )?;
            tree.append(log_tree::leaf(&header.hash()));
        }
        Ok(())
    }
}
