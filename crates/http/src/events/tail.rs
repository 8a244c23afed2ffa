//! Tails of recent events, one for each organization with streams: each event is read and encoded once. A stream whose
//! position is older than the tail reads the store itself.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use bytes::Bytes;
use kedge_actors::Engine;
use kedge_actors::events::EventListener;
use kedge_protocol::Id;
use kedge_protocol::event::{EventPosition, EventType};
use kedge_replay::events::{EventFilter, EventSpan};
use kedge_rules::event::Event;
use kedge_storage::StoreReadError;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// Bytes of one tail.
const TAIL_BYTES_MAX: usize = 256 * 1024;
/// Bytes of all tails; above that, each keeps only its newest events.
const TAILS_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Bytes that a tail keeps even then.
const TAIL_BYTES_MIN: usize = 8 * 1024;
/// Events read in one step.
const PIECE_EVENTS: usize = 128;
/// Bytes of events read in one step.
const PIECE_BYTES: usize = 128 * 1024;
/// Streams woken together. Other requests get their turn at the workers before the next group.
const GROUP_STREAMS: usize = 64;

/// An encoded event.
pub(super) struct EventFrame {
    position: EventPosition,
    event_type: EventType,
    object_id: Option<Id>,
    template_id: Option<Id>,
    /// The lines of the stream.
    pub(super) text: Bytes,
}

impl EventFrame {
    pub(super) fn of(event: &Event) -> Result<Self, serde_json::Error> {
        let (position, event_type) = (event.position, event.event_type);
        let mut text = format!("id: {position}\nevent: {event_type}\ndata: ").into_bytes();
        let start = text.len();
        serde_json::to_writer(&mut text, event)?;
        // White space in a payload, kept as sent, may contain line breaks; JSON strings cannot.
        for byte in &mut text[start..] {
            if matches!(*byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        text.extend_from_slice(b"\n\n");
        Ok(Self {
            position,
            event_type,
            object_id: event.object_id,
            template_id: event.template_id,
            text: text.into(),
        })
    }

    pub(super) fn is_wanted(&self, filter: &EventFilter) -> bool {
        filter.accepts(self.event_type, self.object_id, self.template_id)
    }
}

/// The events after `from`, up to `reached`.
struct EventRing {
    from: EventPosition,
    reached: EventPosition,
    frames: VecDeque<Arc<EventFrame>>,
    bytes: usize,
}

/// One organization's newest events.
pub(super) struct EventTail {
    ring: Mutex<EventRing>,
    waiting: Mutex<TailWaiters>,
    tails_bytes: Arc<AtomicUsize>,
    feeding: OnceLock<AbortHandle>,
}

/// Waiting streams, in groups woken one after the other.
struct TailWaiters {
    reached: EventPosition,
    groups: Vec<watch::Sender<EventPosition>>,
    /// The tail cannot continue.
    is_over: bool,
}

impl TailWaiters {
    fn new(reached: EventPosition) -> Self {
        Self {
            reached,
            groups: Vec::new(),
            is_over: false,
        }
    }

    /// Joins a group that has room.
    fn join(&mut self) -> watch::Receiver<EventPosition> {
        let room = |group: &&watch::Sender<_>| group.receiver_count() < GROUP_STREAMS;
        if let Some(group) = self.groups.iter().find(room) {
            return group.subscribe();
        }
        let (group, stream) = watch::channel(self.reached);
        if !self.is_over {
            self.groups.push(group);
        }
        stream
    }

    /// Wakes a group; false if there is none with this index.
    fn wake(&self, index: usize) -> bool {
        let group = self.groups.get(index);
        group.is_some_and(|group| {
            group.send_replace(self.reached);
            true
        })
    }
}

/// Frames taken from a tail.
pub(super) struct TailSlice {
    pub(super) frames: Vec<Arc<EventFrame>>,
    /// Everything up to here has been read.
    pub(super) reached: EventPosition,
}

impl EventTail {
    /// The frames after `after`, about `bytes_max` bytes; `None` if some have left the tail.
    pub(super) fn take(&self, after: EventPosition, bytes_max: usize) -> Option<TailSlice> {
        let ring = self.ring.lock();
        if after < ring.from {
            return None;
        }
        let start = ring.frames.partition_point(|frame| frame.position <= after);
        let mut taken = TailSlice {
            frames: Vec::new(),
            reached: after.max(ring.reached),
        };
        let mut bytes = 0;
        for frame in ring.frames.range(start..) {
            if bytes >= bytes_max {
                taken.reached = taken.frames.last().map_or(after, |last| last.position);
                break;
            }
            bytes += frame.text.len();
            taken.frames.push(Arc::clone(frame));
        }
        Some(taken)
    }

    /// Receiver of the tail's position; closed when the tail cannot continue.
    pub(super) fn reached(&self) -> watch::Receiver<EventPosition> {
        self.waiting.lock().join()
    }

    fn is_over(&self) -> bool {
        self.waiting.lock().is_over
    }

    /// Ends its streams: clients that reconnect get a new tail.
    fn end(&self) {
        let mut waiting = self.waiting.lock();
        waiting.is_over = true;
        waiting.groups.clear();
    }

    fn add(&self, frames: Vec<EventFrame>, reached: EventPosition) {
        let mut ring = self.ring.lock();
        let before = ring.bytes;
        for frame in frames {
            ring.bytes += frame.text.len();
            ring.frames.push_back(Arc::new(frame));
        }
        ring.reached = reached;
        let others = self
            .tails_bytes
            .load(Ordering::Relaxed)
            .saturating_sub(before);
        let room = TAILS_BYTES_MAX.saturating_sub(others);
        let bytes_max = room.clamp(TAIL_BYTES_MIN, TAIL_BYTES_MAX);
        while ring.bytes > bytes_max
            && let Some(oldest) = ring.frames.pop_front()
        {
            ring.bytes -= oldest.text.len();
            ring.from = oldest.position;
        }
        self.tails_bytes.fetch_add(ring.bytes, Ordering::Relaxed);
        self.tails_bytes.fetch_sub(before, Ordering::Relaxed);
        self.waiting.lock().reached = reached;
    }
}

impl Drop for EventTail {
    fn drop(&mut self) {
        if let Some(feeding) = self.feeding.get() {
            feeding.abort();
        }
        let bytes = self.ring.lock().bytes;
        self.tails_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The tails of all organizations with streams.
pub(super) struct EventTails {
    engine: Engine,
    by_organization: Mutex<HashMap<Id, Weak<EventTail>>>,
    bytes: Arc<AtomicUsize>,
}

impl EventTails {
    pub(super) fn new(engine: Engine) -> Self {
        Self {
            engine,
            by_organization: Mutex::default(),
            bytes: Arc::default(),
        }
    }

    /// An organization's tail. It lives while it is held, and misses no commit from now on.
    pub(super) fn join(&self, organization: Id) -> Result<Arc<EventTail>, StoreReadError> {
        let mut by_organization = self.by_organization.lock();
        let known = by_organization.get(&organization).and_then(Weak::upgrade);
        if let Some(known) = known.filter(|known| !known.is_over()) {
            return Ok(known);
        }
        by_organization.retain(|_, tail| tail.strong_count() > 0);
        // Listening comes first: later commits are announced, and earlier ones are in the snapshot.
        let listener = self.engine.listen(organization);
        let here = self.engine.published().snapshot.last_position()?;
        let tail = Arc::new(EventTail {
            ring: Mutex::new(EventRing {
                from: here,
                reached: here,
                frames: VecDeque::new(),
                bytes: 0,
            }),
            waiting: Mutex::new(TailWaiters::new(here)),
            tails_bytes: Arc::clone(&self.bytes),
            feeding: OnceLock::new(),
        });
        let feeder = TailFeeder {
            engine: self.engine.clone(),
            organization,
            tail: Arc::downgrade(&tail),
        };
        let feeding = tokio::spawn(feeder.run(listener));
        tail.feeding.get_or_init(|| feeding.abort_handle());
        by_organization.insert(organization, Arc::downgrade(&tail));
        Ok(tail)
    }
}

struct TailFeeder {
    engine: Engine,
    organization: Id,
    tail: Weak<EventTail>,
}

impl TailFeeder {
    async fn run(self, mut listener: EventListener) {
        loop {
            listener.changed().await;
            if let Err(error) = self.feed().await {
                tracing::error!(%error, "an organization's events could not be read");
                if let Some(tail) = self.tail.upgrade() {
                    tail.end();
                }
                return;
            }
        }
    }

    async fn feed(&self) -> Result<(), FeedError> {
        while let Some(tail) = self.tail.upgrade() {
            let published = self.engine.published();
            let after = tail.ring.lock().reached;
            let span = EventSpan {
                after: Some(after),
                until: None,
                descending: false,
                events_max: PIECE_EVENTS,
                bytes_max: PIECE_BYTES,
                rows_max: PIECE_EVENTS,
            };
            let snapshot = &published.snapshot;
            let piece = kedge_replay::events::read(
                snapshot,
                self.organization,
                &EventFilter::default(),
                span,
            )?;
            let reached = if piece.ended {
                snapshot.last_position()?
            } else {
                piece.reached.unwrap_or(after)
            };
            let frames: Result<Vec<EventFrame>, _> =
                piece.events.iter().map(EventFrame::of).collect();
            tail.add(frames?, reached);
            drop(tail);
            if reached != after {
                self.announce().await;
            }
            if piece.ended {
                return Ok(());
            }
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// Wakes the streams, group by group.
    async fn announce(&self) {
        for index in 0.. {
            let tail = self.tail.upgrade();
            if !tail.is_some_and(|tail| tail.waiting.lock().wake(index)) {
                return;
            }
            tokio::task::yield_now().await;
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum FeedError {
    #[error(transparent)]
    Read(#[from] StoreReadError),
    #[error("an event could not be written: {0}")]
    Write(#[from] serde_json::Error),
}

#[cfg(test)]
mod tests {
    use kedge_protocol::Prefix;

    use super::*;

    fn frame(sequence: u64, bytes: usize) -> EventFrame {
        EventFrame {
            position: EventPosition::start_of(sequence),
            event_type: EventType::ObjectUpdated,
            object_id: None,
            template_id: None,
            text: vec![b'x'; bytes].into(),
        }
    }

    fn tail(tails_bytes: &Arc<AtomicUsize>) -> EventTail {
        let here = EventPosition::start_of(0);
        EventTail {
            ring: Mutex::new(EventRing {
                from: here,
                reached: here,
                frames: VecDeque::new(),
                bytes: 0,
            }),
            waiting: Mutex::new(TailWaiters::new(here)),
            tails_bytes: Arc::clone(tails_bytes),
            feeding: OnceLock::new(),
        }
    }

    fn sequences(taken: &TailSlice) -> Vec<u64> {
        let frames = taken.frames.iter();
        frames.map(|frame| frame.position.sequence).collect()
    }

    #[test]
    fn a_stream_takes_what_it_has_not_seen() {
        let tail = tail(&Arc::default());
        tail.add(
            (1..=5).map(|n| frame(n, 10)).collect(),
            EventPosition::start_of(9),
        );
        let all = tail.take(EventPosition::start_of(0), 1_000).unwrap();
        assert_eq!(sequences(&all), [1, 2, 3, 4, 5]);
        assert_eq!(all.reached, EventPosition::start_of(9));
        let some = tail.take(EventPosition::start_of(2), 15).unwrap();
        assert_eq!((sequences(&some), some.reached.sequence), (vec![3, 4], 4));
        let none = tail.take(EventPosition::start_of(12), 15).unwrap();
        assert_eq!((sequences(&none), none.reached.sequence), (vec![], 12));
    }

    // Holds invariant 167.
    #[test]
    fn streams_wait_in_small_groups_and_all_are_woken() {
        let mut waiting = TailWaiters::new(EventPosition::start_of(1));
        let mut streams: Vec<_> = (0..=2 * GROUP_STREAMS).map(|_| waiting.join()).collect();
        assert_eq!(waiting.groups.len(), 3);
        drop(streams.drain(..GROUP_STREAMS));
        streams.push(waiting.join());
        assert_eq!(waiting.groups.len(), 3, "a place that is free is used");
        waiting.reached = EventPosition::start_of(2);
        let woken = |streams: &[watch::Receiver<_>]| {
            let woken = streams
                .iter()
                .filter(|stream| stream.has_changed().unwrap());
            woken.count()
        };
        let mut before = 0;
        for index in 0..3 {
            assert!(waiting.wake(index));
            assert!(woken(&streams) - before <= GROUP_STREAMS);
            before = woken(&streams);
        }
        assert!(!waiting.wake(3));
        assert_eq!(before, streams.len());
        // A stream that begins now waits for later events.
        assert!(!waiting.join().has_changed().unwrap());
    }

    #[test]
    fn what_is_kept_is_bounded_for_one_and_for_all() {
        let bytes = Arc::default();
        let (one, other) = (tail(&bytes), tail(&bytes));
        let many = |from: u64| (from..from + 100).map(|n| frame(n, 10_000)).collect();
        one.add(many(1), EventPosition::start_of(100));
        assert!(bytes.load(Ordering::Relaxed) <= TAIL_BYTES_MAX);
        assert!(
            one.take(EventPosition::start_of(1), 1).is_none(),
            "it is not kept any more"
        );
        let kept = one.take(EventPosition::start_of(90), usize::MAX).unwrap();
        assert_eq!(sequences(&kept), (91..=100).collect::<Vec<_>>());
        bytes.fetch_add(TAILS_BYTES_MAX, Ordering::Relaxed);
        other.add(many(1), EventPosition::start_of(100));
        assert!(other.ring.lock().bytes <= TAIL_BYTES_MIN);
        drop((one, other));
        assert_eq!(bytes.load(Ordering::Relaxed), TAILS_BYTES_MAX);
    }

    #[test]
    fn a_frame_is_lines_whatever_the_payload_is() {
        let event = Event {
            id: Id {
                prefix: Prefix::Event,
                bytes: [1; 16],
            },
            event_type: EventType::ActionExecuted,
            position: EventPosition {
                sequence: 7,
                index: 3,
            },
            timestamp_ms: 0,
            organization_id: None,
            object_id: None,
            template_id: None,
            action_id: None,
            data: "{\"payload\":{\r\n\"a\":\n\"x\\n\"\r}}".to_owned(),
        };
        let frame = EventFrame::of(&event).unwrap();
        let text = std::str::from_utf8(&frame.text).unwrap();
        let lines: Vec<&str> = text.split('\n').collect();
        assert_eq!(lines[..2], ["id: 7.3", "event: action.executed"]);
        assert_eq!(lines[3..], ["", ""]);
        let data = lines[2].strip_prefix("data: ").unwrap();
        assert!(!data.contains('\r'));
        let data: serde_json::Value = serde_json::from_str(data).unwrap();
        assert_eq!(data["data"]["payload"]["a"], "x\n");
    }
}
