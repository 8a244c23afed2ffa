//! Timers for the heads of a connection's requests. Detects the protocol, when a request's head begins and by when it
//! must be whole; over HTTP/2 also every frame except bodies. This module times the first byte and each head; [`ConnectionState`]
//! times the wait for the next request.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::header::{HeaderValue, ORIGIN};
use tokio::time::{Instant, Sleep, sleep};

use crate::connection::ConnectionState;
use crate::flood::{ConnectionFrames, FloodError};
use crate::room::RESERVE_TIMEOUT;

/// HTTP/2 connection preface (RFC 9113, 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Capacity of the buffer that a connection keeps between requests.
const KEPT_ROOM: usize = 1_024;

/// Head timer of one connection.
pub struct HeadTimer {
    line: Arc<ConnectionState>,
    protocol: HttpProtocol,
    frames: ConnectionFrames,
    timeout: Duration,
    by: Pin<Box<Sleep>>,
    waits_for: HeadStage,
    kept: Vec<u8>,
    kept_bytes_max: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum HttpProtocol {
    /// This many bytes of HTTP/2's preface have arrived, and nothing else.
    Unknown(usize),
    Http1,
    Http2,
}

/// What has to arrive before the timer ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HeadStage {
    /// The first byte of the first head.
    FirstByte,
    /// The rest of a head; holds the number of requests before it.
    Head(usize),
    /// The rest of an HTTP/2 item, by its number.
    Frame(u32),
    Nothing,
}

impl HeadTimer {
    /// The first byte must arrive within `timeout`, and each head within `timeout` of its first byte. At most
    /// `kept_bytes_max` bytes of an incomplete head are kept. The connection can be asked to give way from here on.
    pub fn new(
        line: Arc<ConnectionState>,
        frames: ConnectionFrames,
        timeout: Duration,
        kept_bytes_max: usize,
    ) -> Self {
        if let Some(seat) = frames.seat() {
            line.takes(Arc::clone(seat));
        }
        let timeout = if line.is_reserve {
            timeout.min(RESERVE_TIMEOUT)
        } else {
            timeout
        };
        Self {
            line,
            protocol: HttpProtocol::Unknown(0),
            frames,
            timeout,
            by: Box::pin(sleep(timeout)),
            waits_for: HeadStage::FirstByte,
            kept: Vec::new(),
            kept_bytes_max,
        }
    }

    /// Processes bytes that have arrived.
    pub fn arrived(&mut self, bytes: &[u8]) -> Result<(), FloodError> {
        match self.protocol {
            HttpProtocol::Unknown(matched) => self.distinguish(matched, bytes),
            HttpProtocol::Http1 => {
                self.pass_over_whole();
                self.follow(bytes);
                Ok(())
            }
            HttpProtocol::Http2 => self.follow_frames(bytes),
        }
    }

    /// Notes bytes sent to the caller.
    pub fn left(&mut self, bytes: usize) {
        if self.protocol == HttpProtocol::Http2 {
            self.frames.left(bytes);
        }
    }

    fn distinguish(&mut self, matched: usize, bytes: &[u8]) -> Result<(), FloodError> {
        let missing = &PREFACE[matched..];
        let same = missing
            .iter()
            .zip(bytes)
            .take_while(|(one, other)| one == other);
        let same = same.count();
        if same == missing.len() {
            self.protocol = HttpProtocol::Http2;
            // The first SETTINGS belong to the preface and have no separate timer.
            if let Some(begun) = self.frames.begun() {
                self.waits_for = HeadStage::Frame(begun);
            }
            self.kept = Vec::new();
            return self.follow_frames(&bytes[same..]);
        }
        self.protocol = if same == bytes.len() {
            HttpProtocol::Unknown(matched + same)
        } else {
            HttpProtocol::Http1
        };
        self.follow(bytes);
        Ok(())
    }

    fn follow_frames(&mut self, bytes: &[u8]) -> Result<(), FloodError> {
        self.frames.arrived(bytes)?;
        let waits_for = self
            .frames
            .begun()
            .map_or(HeadStage::Nothing, HeadStage::Frame);
        if waits_for != self.waits_for && waits_for != HeadStage::Nothing {
            self.by.as_mut().reset(Instant::now() + self.timeout);
        }
        self.waits_for = waits_for;
        Ok(())
    }

    /// Stops the timer once the head has become a request.
    fn pass_over_whole(&mut self) {
        if let HeadStage::Head(begun) = self.waits_for
            && begun != self.line.begun()
        {
            self.waits_for = HeadStage::Nothing;
            self.kept.clear();
            self.kept.shrink_to(KEPT_ROOM);
        }
    }

    /// Processes HTTP/1 bytes. Bytes that arrive during an answer may be a body, which is not timed here.
    fn follow(&mut self, bytes: &[u8]) {
        let may_begin = match self.waits_for {
            HeadStage::FirstByte => true,
            HeadStage::Nothing => self.line.is_quiet(),
            HeadStage::Head(_) | HeadStage::Frame(_) => false,
        };
        // Empty lines before a request line are ignored (RFC 9112, 2.2).
        if may_begin && bytes.iter().any(|byte| !b"\r\n".contains(byte)) {
            self.waits_for = HeadStage::Head(self.line.begun());
            self.by.as_mut().reset(Instant::now() + self.timeout);
            self.line.heard();
        }
        if matches!(self.waits_for, HeadStage::Head(_)) {
            let room = self.kept_bytes_max.saturating_sub(self.kept.len());
            self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    /// Ready once the timer has run out.
    pub fn poll_late(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.pass_over_whole();
        if self.waits_for == HeadStage::Nothing {
            return Poll::Pending;
        }
        ready!(self.by.as_mut().poll(context));
        Poll::Ready(())
    }

    /// The `Origin` of an incomplete or malformed head, as far as it can be read.
    pub fn origin(&self) -> Option<HeaderValue> {
        let mut fields = self.kept.split(|byte| *byte == b'\n').filter_map(|field| {
            let colon = field.iter().position(|byte| *byte == b':')?;
            let (name, value) = (&field[..colon], &field[colon + 1..]);
            name.eq_ignore_ascii_case(ORIGIN.as_str().as_bytes())
                .then(|| value.trim_ascii())
        });
        HeaderValue::from_bytes(fields.next()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    const TIMEOUT: Duration = Duration::from_millis(30);
    const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

    fn heads() -> (Arc<ConnectionState>, HeadTimer) {
        let line = ConnectionState::new(IpAddr::from([192, 0, 2, 1]), false);
        let heads = HeadTimer::new(Arc::clone(&line), ConnectionFrames::new(None), TIMEOUT, 64);
        (line, heads)
    }

    async fn is_late(heads: &mut HeadTimer) -> bool {
        std::future::poll_fn(|context| Poll::Ready(heads.poll_late(context).is_ready())).await
    }

    // Holds invariant 223.
    #[tokio::test]
    async fn each_wait_has_its_own_time() {
        let (line, mut heads) = heads();
        heads.arrived(b"\r\nGET / HTTP/1.1\r\n\r\n").unwrap();
        let using = line.begin();
        sleep(3 * TIMEOUT).await;
        assert!(!is_late(&mut heads).await, "it was whole");
        heads.arrived(b"a body").unwrap();
        sleep(3 * TIMEOUT).await;
        assert!(!is_late(&mut heads).await, "a body has its own time");
        drop(using);
        line.flushed();
        heads.arrived(b"\r\n").unwrap();
        sleep(3 * TIMEOUT).await;
        assert!(!is_late(&mut heads).await, "the next head has not begun");
        // A trickling head is late all the same.
        for _ in 0..10 {
            heads.arrived(b"x").unwrap();
            sleep(TIMEOUT / 5).await;
        }
        assert!(is_late(&mut heads).await);
    }

    // Holds invariant 223.
    #[tokio::test]
    async fn a_caller_that_sends_nothing_or_half_a_preface_is_late() {
        let (_, mut silent) = heads();
        silent.arrived(b"\r\n\r\n").unwrap();
        let (_, mut half) = heads();
        half.arrived(&PREFACE[..10]).unwrap();
        let (_, mut whole) = heads();
        whole.arrived(&PREFACE[..10]).unwrap();
        whole.arrived(&PREFACE[10..]).unwrap();
        whole.arrived(SETTINGS).unwrap();
        let (_, mut unsettled) = heads();
        unsettled.arrived(PREFACE).unwrap();
        unsettled.arrived(&SETTINGS[..5]).unwrap();
        sleep(3 * TIMEOUT).await;
        assert!(is_late(&mut silent).await);
        assert!(is_late(&mut half).await);
        assert!(!is_late(&mut whole).await);
        assert!(is_late(&mut unsettled).await);
    }

    // Holds invariant 119.
    #[tokio::test]
    async fn over_http2_a_block_of_headers_must_end_and_a_body_need_not() {
        // HEADERS and CONTINUATION without END_HEADERS, one byte each.
        const HEADERS: &[u8] = &[0, 0, 1, 1, 0, 0, 0, 0, 1, 0x82];
        const CONTINUATION: &[u8] = &[0, 0, 1, 9, 0, 0, 0, 0, 1, 0x86];
        const LAST: &[u8] = &[0, 0, 1, 9, 4, 0, 0, 0, 1, 0x84];
        const HALF_DATA: &[u8] = &[0, 0, 9, 0, 0, 0, 0, 0, 1, 1, 2];
        let (_, mut heads) = heads();
        heads.arrived(&[PREFACE, SETTINGS].concat()).unwrap();
        sleep(3 * TIMEOUT).await;
        assert!(!is_late(&mut heads).await, "no request has begun");
        heads.arrived(HEADERS).unwrap();
        heads.arrived(&[LAST, HALF_DATA].concat()).unwrap();
        sleep(3 * TIMEOUT).await;
        assert!(!is_late(&mut heads).await, "a body has its own time");
        heads.arrived(&[0; 7]).unwrap();
        heads.arrived(HEADERS).unwrap();
        assert!(!is_late(&mut heads).await);
        // Trickling frames are late all the same.
        for _ in 0..10 {
            heads.arrived(CONTINUATION).unwrap();
            sleep(TIMEOUT / 5).await;
        }
        assert!(is_late(&mut heads).await);
    }

    #[tokio::test]
    async fn the_reserve_waits_a_second() {
        let line = ConnectionState::new(IpAddr::from([192, 0, 2, 1]), true);
        let hour = Duration::from_hours(1);
        let mut heads = HeadTimer::new(Arc::clone(&line), ConnectionFrames::new(None), hour, 0);
        assert!(!is_late(&mut heads).await);
        sleep(RESERVE_TIMEOUT + TIMEOUT).await;
        assert!(is_late(&mut heads).await);
    }

    // Holds invariant 226.
    #[tokio::test]
    async fn an_origin_is_read_from_what_no_parser_accepts() {
        let (_, mut heads) = heads();
        heads
            .arrived(b"GET / HTTP/1.1\r\nbad header\r\noRIGIN:  https://a.example \r\nX")
            .unwrap();
        assert_eq!(heads.origin().unwrap(), "https://a.example");
        heads.arrived(&[b'y'; 1_000]).unwrap();
        assert_eq!(heads.kept.len(), 64);
    }
}
