//! The log of a node in a cluster. On the leader, an append publishes a frame. A sync waits for the stream's
//! acknowledgement, appends the same bytes to the node's own files, syncs them, and waits for the other nodes. On a
//! follower, frames read from the stream go straight to the files.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use kedge_log::{
    AppendError, Durability, FileLog, Frame, FrameRejection, IoError, KeyId, Log, LogFailure,
    LogFloor, LogPosition, SideKeys, SyncError, encode_empty,
};
use kedge_runtime::executor::block_on;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::connection::Cluster;
use crate::error::LeadTermError;
use crate::publication::{OutgoingFrame, StreamPublishOutcome};
use crate::servers::Acknowledgement;
use crate::stream::offset_of;
use crate::sync_reports::SyncedPosition;

/// Leadership of this node's log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LeadState {
    Leading {
        term: u64,
    },
    Following {
        /// Why it does not lead, or no longer does.
        why: String,
        /// Set if another node's frame ended the term instead of [`LeadSwitch::end`].
        fenced: bool,
    },
}

/// The log of a node in a cluster.
pub struct ReplicatedLog(Arc<ReplicatedInner>);

/// Switch of a [`ReplicatedLog`]'s appending. Clones share it.
#[derive(Clone)]
pub struct LeadSwitch(Arc<ReplicatedInner>);

struct ReplicatedInner {
    cluster: Cluster,
    runtime: Handle,
    /// Makes the files durable.
    durability: Arc<dyn Durability>,
    /// Lock order: after `state`.
    file: Mutex<FileLog>,
    state: Mutex<StreamPublishState>,
    /// Serializes syncs.
    syncing: Mutex<()>,
    lead: watch::Sender<LeadState>,
}

#[derive(Default)]
struct StreamPublishState {
    /// Set while this node leads.
    term: Option<LeadTerm>,
    /// Published frames that are not in the files yet.
    pending: VecDeque<UnacknowledgedFrame>,
    /// Start of the current wait for other nodes.
    waits: Option<Instant>,
}

#[derive(Clone, Copy)]
struct LeadTerm {
    number: u64,
    /// Format of the last append.
    format: u16,
    /// A frame's place minus its number.
    offset: i64,
    /// Position after the last append.
    end: LogPosition,
}

impl LeadTerm {
    fn reached(&self) -> LogFloor {
        LogFloor {
            term: self.number,
            format: self.format,
        }
    }
}

/// Only the first one is published: see `publication.rs`.
struct UnacknowledgedFrame {
    position: LogPosition,
    frame: OutgoingFrame,
    is_sent: bool,
    acknowledgement: Option<Acknowledgement>,
    since: Instant,
}

impl UnacknowledgedFrame {
    /// A frame that ends at this position; `offset` is place minus number.
    fn new(position: LogPosition, bytes: Vec<u8>, offset: i64) -> Self {
        Self {
            position,
            frame: OutgoingFrame {
                place: position.frame.saturating_add_signed(offset),
                bytes: Bytes::from(bytes),
                hash: position.hash,
                candidate: None,
            },
            is_sent: false,
            acknowledgement: None,
            since: Instant::now(),
        }
    }
}

impl ReplicatedLog {
    /// Creates a log that follows, until [`LeadSwitch::begin`]. The log's threads must not be those of `runtime`.
    pub fn new(file: FileLog, cluster: Cluster, runtime: Handle) -> (Self, LeadSwitch) {
        let shared = Arc::new(ReplicatedInner {
            cluster,
            runtime,
            durability: file.durability(),
            file: Mutex::new(file),
            state: Mutex::default(),
            syncing: Mutex::default(),
            lead: watch::channel(following("this node has not led since its start", false)).0,
        });
        (Self(Arc::clone(&shared)), LeadSwitch(shared))
    }
}

fn following(why: &str, fenced: bool) -> LeadState {
    LeadState::Following {
        why: why.to_owned(),
        fenced,
    }
}

impl LeadSwitch {
    /// Starts appending. The node's log must end with the synced opening frame of the term, which is at `place` of the
    /// stream ([`Cluster::begin_term`](crate::Cluster::begin_term)).
    ///
    /// # Errors
    /// [`LeadTermError::Place`] otherwise.
    pub fn begin(&self, term: u64, place: u64) -> Result<(), LeadTermError> {
        let shared = &self.0;
        let mut state = shared.state.lock();
        let end = shared.durability.durable();
        let offset = offset_of(place, end.frame);
        let (position, reached) = {
            let mut file = shared.file.lock();
            let reached = file.reached();
            let reached = reached.map_err(|error| LeadTermError::Log(error.to_string()))?;
            (file.position(), reached)
        };
        if position != end || *shared.cluster.0.offset.lock() != Some(offset) {
            return Err(LeadTermError::Place {
                place,
                frame: end.frame,
            });
        }
        state.pending.clear();
        state.term = Some(LeadTerm {
            number: term,
            format: reached.format,
            offset,
            end,
        });
        drop(state);
        shared.lead.send_replace(LeadState::Leading { term });
        Ok(())
    }

    /// Stops appending, and fails a waiting sync. Published frames without acknowledgement may still get into the
    /// stream; they then return as frames to follow.
    pub fn end(&self, why: &str) {
        self.0.end(following(why, false));
    }

    /// Whether appending is enabled.
    pub fn is_leading(&self) -> bool {
        self.0.state.lock().term.is_some()
    }

    /// Start of the oldest pending append's wait, for the stream or for other nodes.
    pub fn stalled(&self) -> Option<Instant> {
        let state = self.0.state.lock();
        let oldest = state.pending.front().map(|pending| pending.since);
        state.waits.or(oldest)
    }

    /// Follows the leadership and its end.
    pub fn watch(&self) -> watch::Receiver<LeadState> {
        self.0.lead.subscribe()
    }
}

impl ReplicatedInner {
    /// Ends the leadership; the first reason counts.
    fn end(&self, why: LeadState) {
        let mut state = self.state.lock();
        if state.term.take().is_some() {
            state.pending.clear();
            state.waits = None;
            drop(state);
            self.lead.send_replace(why);
        }
    }

    /// Why this node does not lead.
    fn why(&self) -> String {
        match &*self.lead.borrow() {
            LeadState::Following { why, .. } => format!("this node does not lead the log: {why}"),
            LeadState::Leading { .. } => "this node led another term".to_owned(),
        }
    }

    /// Runs `work` to its end, or until the term ends.
    fn during<T>(&self, term: u64, work: impl Future<Output = T>) -> Option<T> {
        let mut lead = self.lead.subscribe();
        block_on(&self.runtime, async {
            tokio::select! {
                biased;
                _ = lead.wait_for(|lead| *lead != LeadState::Leading { term }) => None,
                done = work => Some(done),
            }
        })
    }

    /// Takes the term's first unacknowledged frame, up to a number.
    fn take_front(
        &self,
        last: u64,
    ) -> Option<(u64, LogPosition, OutgoingFrame, Option<Acknowledgement>)> {
        let mut state = self.state.lock();
        let term = state.term?.number;
        let front = state.pending.front_mut()?;
        if front.position.frame > last {
            return None;
        }
        front.is_sent = true;
        let (position, frame) = (front.position, front.frame.clone());
        Some((term, position, frame, front.acknowledgement.take()))
    }

    /// Whether another node's synced position includes the last frame of these files: it is that frame, or the
    /// published next one, which the node may have synced earlier and then reports alone.
    fn has(&self, durable: &LogPosition, synced: SyncedPosition) -> bool {
        let state = self.state.lock();
        let mut after = state.pending.iter().map(|pending| &pending.position);
        SyncedPosition::to(durable) == synced || after.any(|end| SyncedPosition::to(end) == synced)
    }

    /// Publishes the first pending frame, unless it was sent. On failure the sync sends it.
    fn send_front(&self, term: u64) {
        let (position, frame) = {
            let mut state = self.state.lock();
            let front = state.pending.front_mut();
            let Some(front) = front.filter(|front| !front.is_sent) else {
                return;
            };
            front.is_sent = true;
            (front.position, front.frame.clone())
        };
        let sent = self.during(term, self.cluster.send(&frame)).flatten();
        let mut state = self.state.lock();
        if let Some(front) = state.pending.front_mut()
            && front.position == position
        {
            front.acknowledgement = sent;
        }
    }

    /// Waits until the stream holds the first pending frame, and appends it to the files.
    fn store_front(&self, last: u64) -> Result<bool, SyncError> {
        let Some((term, position, frame, sent)) = self.take_front(last) else {
            return Ok(false);
        };
        let cluster = &self.cluster;
        let settling = cluster.settle(&frame, sent);
        match self.during(term, settling) {
            None => return Err(SyncError::Fenced(self.why())),
            Some(StreamPublishOutcome::Acknowledged) => {}
            Some(StreamPublishOutcome::Other(number)) => {
                let own = position.frame;
                let why = format!(
                    "another node leads: the stream has its frame {number} in place of this node's frame {own}"
                );
                self.end(following(&why, true));
                return Err(SyncError::Fenced(why));
            }
            Some(StreamPublishOutcome::Lost(broken)) => {
                self.end(following(&broken.to_string(), true));
                return Err(LogFailure(broken.to_string()).into());
            }
        }
        let appended = {
            let mut state = self.state.lock();
            let is_front = state.pending.front().map(|front| front.position) == Some(position);
            if !is_front {
                return Err(SyncError::Fenced(self.why()));
            }
            let appended = self.file.lock().append_stored(&frame.bytes);
            state.pending.pop_front();
            appended
        };
        match appended {
            Ok(_) => {
                self.send_front(term);
                Ok(true)
            }
            Err(AppendError::Failed(failed)) => Err(failed.into()),
            Err(error) => {
                // The stream has the frame, so another node can lead, and this one follows once its disk has room.
                let why = format!("a frame that the stream holds cannot be stored here: {error}");
                self.end(following(&why, false));
                Err(SyncError::Fenced(why))
            }
        }
    }
}

impl Log for ReplicatedLog {
    fn append(&mut self, frame: &Frame) -> Result<LogPosition, AppendError> {
        let shared = &self.0;
        let term = shared.state.lock().term;
        let Some(mut term) = term else {
            return Err(AppendError::Fenced(shared.why()));
        };
        let number = term.number;
        let raised = (frame.format() > term.format).then(|| {
            term.format = frame.format();
            let reached = term.reached();
            let (position, bytes) = encode_empty(&term.end, reached);
            term.end = position;
            (position, bytes)
        });
        let encoded = shared
            .file
            .lock()
            .encode(frame, &term.end, term.reached())?;
        if encoded.1.len() > shared.cluster.0.options.frame_bytes_max {
            return Err(FrameRejection("it is longer than the cluster's frame_bytes_max").into());
        }
        term.end = encoded.0;
        let position = term.end;
        {
            let mut state = shared.state.lock();
            match &mut state.term {
                Some(now) if now.number == number => *now = term,
                _ => {
                    drop(state);
                    return Err(AppendError::Fenced(shared.why()));
                }
            }
            let frames = raised.into_iter().chain([encoded]);
            let pending = frames
                .map(|(position, bytes)| UnacknowledgedFrame::new(position, bytes, term.offset));
            state.pending.extend(pending);
        }
        shared.send_front(number);
        Ok(position)
    }

    fn append_stored(&mut self, frame: &[u8]) -> Result<LogPosition, AppendError> {
        let state = self.0.state.lock();
        if state.term.is_some() {
            let why = "this node leads the log, so no frame of another node can be appended";
            return Err(AppendError::Fenced(why.to_owned()));
        }
        self.0.file.lock().append_stored(frame)
    }

    fn position(&self) -> LogPosition {
        let state = self.0.state.lock();
        match state.term {
            Some(term) => term.end,
            None => self.0.file.lock().position(),
        }
    }

    fn seal_with(&mut self, keys: &SideKeys) -> Result<Option<KeyId>, IoError> {
        self.0.file.lock().seal_with(keys)
    }

    fn durability(&self) -> Arc<dyn Durability> {
        Arc::new(ReplicatedDurability(Arc::clone(&self.0)))
    }
}

struct ReplicatedDurability(Arc<ReplicatedInner>);

impl Durability for ReplicatedDurability {
    fn sync(&self) -> Result<LogPosition, SyncError> {
        let shared = &self.0;
        let _one_at_a_time = shared.syncing.lock();
        let (term, last) = {
            let state = shared.state.lock();
            let last = state.pending.back().map(|last| last.position.frame);
            (state.term.map(|term| term.number), last)
        };
        let (Some(term), Some(last)) = (term, last) else {
            return shared.durability.sync();
        };
        while shared.store_front(last)? {}
        let position = shared.durability.sync()?;
        if position.frame < last {
            return Err(SyncError::Fenced(shared.why()));
        }
        shared.state.lock().waits = Some(Instant::now());
        let counts = |synced: &SyncedPosition| shared.has(&position, *synced);
        let synced = shared.during(term, shared.cluster.wait_synced(counts));
        shared.state.lock().waits = None;
        match synced {
            Some(()) => Ok(position),
            None => Err(SyncError::Fenced(shared.why())),
        }
    }

    fn durable(&self) -> LogPosition {
        self.0.durability.durable()
    }
}
