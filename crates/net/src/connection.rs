//! State shared by one connection's request handlers, response bodies and socket.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use hyper::header::HeaderValue;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::seats::ConnectionSeat;

/// Checks in the shorter of a connection's two timeouts.
const LOOKS: u32 = 4;
/// Time for a connection that gives way to end cleanly.
const PARTING: Duration = Duration::from_secs(1);

/// State of one connection.
pub struct ConnectionState {
    pub peer: IpAddr,
    /// The connection was accepted from the reserve and gets only health answers.
    pub is_reserve: bool,
    /// Requests that have arrived; wraps.
    begun: AtomicUsize,
    /// Requests whose answers have not been handed to hyper yet.
    requests: AtomicUsize,
    /// A request, a head or an answer has moved since the last check.
    used: AtomicBool,
    /// The connection takes no further request.
    is_ending: AtomicBool,
    /// Origin named by a request that could not be parsed.
    origin: OnceLock<HeaderValue>,
    /// A request arrived, and hyper has not fully written its answer.
    writing: AtomicBool,
    /// The caller may still be sending when the connection closes.
    lingers: AtomicBool,
    pieces: Mutex<AnswerPieces>,
    made_at: Instant,
    /// When the last answer was written, microseconds after `made_at`.
    answered_us: AtomicU64,
    seat: OnceLock<Arc<ConnectionSeat>>,
}

/// Pieces of answers handed to hyper and not yet read by the caller.
#[derive(Default)]
struct AnswerPieces {
    next: u64,
    /// When each piece was handed over, and its kind.
    given: BTreeMap<u64, (Instant, AnswerKind)>,
}

/// Kind of answer that a piece belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnswerKind {
    /// An answer held in memory as a whole. Over HTTP/2 the whole connection has to end: hyper does not poll a body
    /// while its stream has no window, so an error of the body cannot reset the stream. If the stream's handle is
    /// dropped, h2 sends the reset only after the data that waits for a window.
    Whole,
    /// An answer written while it is read. Its writer gives up by itself without harm to other answers, so the
    /// connection only has to end eventually.
    Stream,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectionEnd {
    /// The caller reads no answer.
    Stalled,
    /// The caller sends no request, for too long or while others need the seat.
    Idle,
}

/// Idle timeouts of a connection.
#[derive(Clone, Copy, Debug)]
pub struct IdleLimits {
    /// Without a piece of an answer being read.
    pub stalled: Duration,
    /// Without a request.
    pub idle: Duration,
}

/// A request whose answer has not been handed over.
pub struct OpenRequest(Arc<ConnectionState>);

/// A piece that the caller has not read yet.
pub struct UnreadPiece {
    line: Arc<ConnectionState>,
    number: u64,
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::SeqCst);
        self.0.settle();
    }
}

impl Drop for UnreadPiece {
    fn drop(&mut self) {
        self.line.pieces().given.remove(&self.number);
        self.line.settle();
    }
}

impl OpenRequest {
    pub fn line(&self) -> &Arc<ConnectionState> {
        &self.0
    }
}

impl ConnectionState {
    pub fn new(peer: IpAddr, is_reserve: bool) -> Arc<Self> {
        Arc::new(Self {
            peer,
            is_reserve,
            begun: AtomicUsize::new(0),
            requests: AtomicUsize::new(0),
            used: AtomicBool::new(true),
            is_ending: AtomicBool::new(false),
            origin: OnceLock::new(),
            writing: AtomicBool::new(false),
            lingers: AtomicBool::new(false),
            pieces: Mutex::default(),
            made_at: Instant::now(),
            answered_us: AtomicU64::new(0),
            seat: OnceLock::new(),
        })
    }

    fn pieces(&self) -> MutexGuard<'_, AnswerPieces> {
        self.pieces.lock()
    }

    /// Registers a request that has arrived.
    pub fn begin(self: &Arc<Self>) -> OpenRequest {
        self.begun.fetch_add(1, Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::SeqCst);
        self.used.store(true, Ordering::Relaxed);
        self.writing.store(true, Ordering::SeqCst);
        if let Some(seat) = self.seat.get() {
            seat.begins();
        }
        OpenRequest(Arc::clone(self))
    }

    /// Number of requests that have arrived; wraps.
    pub fn begun(&self) -> usize {
        self.begun.load(Ordering::Relaxed)
    }

    /// Notes that a request's head begins to arrive.
    pub fn heard(&self) {
        self.used.store(true, Ordering::Relaxed);
    }

    /// Notes that hyper has written everything it had. The wait for the next request begins now.
    pub fn flushed(&self) {
        if self.requests.load(Ordering::SeqCst) == 0 && self.is_writing() {
            let passed_us = self.made_at.elapsed().as_micros() as u64;
            self.answered_us.store(passed_us, Ordering::Relaxed);
            self.used.store(true, Ordering::Relaxed);
            self.writing.store(false, Ordering::SeqCst);
        }
        self.settle();
    }

    fn is_writing(&self) -> bool {
        self.writing.load(Ordering::SeqCst)
    }

    /// Since when the connection has waited for a request, if it does. A caller that has sent only part of a head still
    /// waits, and so does one that has its answers and may still be sending.
    pub(crate) fn waits_since(&self) -> Option<Instant> {
        let waits = self.requests.load(Ordering::SeqCst) == 0
            && !self.is_writing()
            && self.pieces().given.is_empty();
        waits
            .then(|| self.made_at + Duration::from_micros(self.answered_us.load(Ordering::Relaxed)))
    }

    /// Takes a seat, which the connection may have to give up later.
    pub(crate) fn takes(self: &Arc<Self>, seat: Arc<ConnectionSeat>) {
        // A connection has one seat.
        let seat = self.seat.get_or_init(|| seat);
        seat.is_taken_by(self);
    }

    /// Offers the seat again if others found the connection at work and it now waits.
    fn settle(&self) {
        if let Some(seat) = self.seat.get()
            && seat.is_aside()
            && self.waits_since().is_some()
        {
            seat.waits_again();
        }
    }

    /// Resolves when the connection should end because another one needs its seat.
    async fn gives_way(&self) {
        let Some(seat) = self.seat.get() else {
            return std::future::pending().await;
        };
        seat.asked().await;
        // It was asked before, and may finish what it is doing.
        let mut time = if self.is_reserve {
            Duration::ZERO
        } else {
            PARTING
        };
        while self.ends_soon() {
            tokio::time::sleep(time).await;
            if self.waits_since().is_some() {
                return;
            }
            time = PARTING;
        }
    }

    /// Notes that the connection takes no further request.
    pub fn end_soon(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    pub fn ends_soon(&self) -> bool {
        self.is_ending.load(Ordering::Relaxed)
    }

    /// Notes the origin named by a request that could not be parsed.
    pub fn came_from(&self, origin: HeaderValue) {
        // A connection ends after one such request.
        let _first = self.origin.set(origin);
    }

    /// The origin named by a request that could not be parsed.
    pub fn origin(&self) -> Option<&HeaderValue> {
        self.origin.get()
    }

    /// True if hyper has none of our answers to write, so it is writing its own.
    pub fn is_quiet(&self) -> bool {
        !self.is_writing()
    }

    /// Notes that the caller may still be sending when the connection closes.
    pub fn linger(&self) {
        self.lingers.store(true, Ordering::Relaxed);
    }

    pub fn lingers(&self) -> bool {
        self.lingers.load(Ordering::Relaxed)
    }

    /// Registers a piece handed to hyper.
    pub fn give(self: &Arc<Self>, kind: AnswerKind) -> UnreadPiece {
        let mut pieces = self.pieces();
        let number = pieces.next;
        pieces.next += 1;
        pieces.given.insert(number, (Instant::now(), kind));
        UnreadPiece {
            line: Arc::clone(self),
            number,
        }
    }

    fn is_stalled(&self, patience: IdleLimits) -> bool {
        let pieces = self.pieces();
        pieces.given.values().any(|(given, kind)| {
            let patience = match kind {
                AnswerKind::Whole => patience.stalled,
                AnswerKind::Stream => patience.stalled + patience.idle,
            };
            given.elapsed() >= patience
        })
    }

    /// Checks the connection, `look` after the last check; `idle` accumulates its idle time.
    fn end_after(
        &self,
        patience: IdleLimits,
        look: Duration,
        idle: &mut Duration,
    ) -> Option<ConnectionEnd> {
        if self.is_stalled(patience) {
            return Some(ConnectionEnd::Stalled);
        }
        let was_used = self.used.swap(false, Ordering::Relaxed);
        if was_used || self.requests.load(Ordering::SeqCst) > 0 {
            *idle = Duration::ZERO;
        } else {
            *idle += look;
        }
        (*idle >= patience.idle).then_some(ConnectionEnd::Idle)
    }

    pub async fn over(&self, patience: IdleLimits) -> ConnectionEnd {
        let look = patience.stalled.min(patience.idle) / LOOKS;
        let mut idle = Duration::ZERO;
        let gives_way = self.gives_way();
        tokio::pin!(gives_way);
        loop {
            tokio::select! {
                () = tokio::time::sleep(look) => {}
                () = &mut gives_way => return ConnectionEnd::Idle,
            }
            if let Some(end) = self.end_after(patience, look, &mut idle) {
                return end;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: IdleLimits = IdleLimits {
        stalled: Duration::from_hours(1),
        idle: Duration::from_mins(1),
    };
    const LOOK: Duration = Duration::from_secs(15);

    fn line() -> Arc<ConnectionState> {
        ConnectionState::new(IpAddr::from([192, 0, 2, 1]), false)
    }

    /// How a connection ends within this many checks.
    fn ends_in(line: &ConnectionState, patience: IdleLimits, looks: u32) -> Option<ConnectionEnd> {
        let mut idle = Duration::ZERO;
        (0..looks).find_map(|_| line.end_after(patience, LOOK, &mut idle))
    }

    #[test]
    fn a_connection_without_requests_ends_and_one_with_a_long_request_does_not() {
        let idle = line();
        assert_eq!(ends_in(&idle, PATIENCE, 4), None);
        assert_eq!(ends_in(&idle, PATIENCE, 4), Some(ConnectionEnd::Idle));
        let busy = line();
        let using = busy.begin();
        assert_eq!(ends_in(&busy, PATIENCE, 100), None);
        drop(using);
        assert_eq!(ends_in(&busy, PATIENCE, 4), Some(ConnectionEnd::Idle));
    }

    // Holds invariant 223.
    #[test]
    fn a_caller_has_its_whole_time_after_an_answer_and_while_a_head_arrives() {
        let line = line();
        let using = line.begin();
        assert_eq!(ends_in(&line, PATIENCE, 10), None);
        drop(using);
        line.flushed();
        assert_eq!(
            ends_in(&line, PATIENCE, 4),
            None,
            "it begins with the answer's end"
        );
        line.flushed();
        assert_eq!(
            ends_in(&line, PATIENCE, 4),
            Some(ConnectionEnd::Idle),
            "nothing was written"
        );
        line.heard();
        assert_eq!(ends_in(&line, PATIENCE, 4), None);
    }

    // Holds invariant 118.
    #[test]
    fn a_piece_that_is_not_taken_ends_the_connection_whatever_else_is_taken() {
        let line = line();
        let _using = line.begin();
        let oldest = line.give(AnswerKind::Whole);
        let stream = line.give(AnswerKind::Stream);
        std::thread::sleep(Duration::from_millis(50));
        for _ in 0..10 {
            drop(line.give(AnswerKind::Whole));
        }
        assert_eq!(ends_in(&line, PATIENCE, 100), None);
        let short = IdleLimits {
            stalled: Duration::from_millis(40),
            ..PATIENCE
        };
        assert_eq!(ends_in(&line, short, 1), Some(ConnectionEnd::Stalled));
        drop(oldest);
        assert_eq!(ends_in(&line, short, 100), None, "a stream has longer");
        let shorter = IdleLimits {
            idle: Duration::from_millis(5),
            ..short
        };
        assert_eq!(ends_in(&line, shorter, 1), Some(ConnectionEnd::Stalled));
        drop(stream);
        assert_eq!(ends_in(&line, shorter, 1), None);
    }

    #[test]
    fn hyper_is_quiet_between_answers() {
        let line = line();
        assert!(line.is_quiet());
        let using = line.begin();
        line.flushed();
        assert!(!line.is_quiet(), "the answer is not handed over");
        drop(using);
        assert!(!line.is_quiet(), "nor written");
        line.flushed();
        assert!(line.is_quiet());
    }
}
