//! Limits on HTTP/2 frames that serve no request: pings, settings, priorities, empty DATA. They cost the caller next to
//! nothing and the server about a microsecond each, and no request limit counts them. Each request, and each amount of
//! bytes sent or read, allows some. Beyond that a connection gets a slow allowance, shared by all connections of its
//! address. A frame or header block that has begun must become whole in time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::seats::ConnectionSeat;

/// Bytes of a frame header (RFC 9113, 4.1).
const HEADER_BYTES: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const CONTINUATION: u8 = 9;
/// Flag of the frame that ends a header block.
const END_HEADERS: u8 = 4;
/// Mask of a stream number, whose first bit is reserved.
const STREAM_BITS: u32 = u32::MAX >> 1;

/// Frames that each request allows: window updates, priority, trailers, end of the body.
const OF_REQUEST: u32 = 8;
/// Bytes of a request or answer body that allow one more frame.
const BODY_BYTES: u32 = 16;
const ANSWER_BYTES: usize = 64;
/// The most frames that a connection can save up.
const SAVED_MAX: u32 = 4_096;

/// Frames a second that a connection may send whatever others of its address do; also how many of those it may save.
const OWN_PER_S: u32 = 1;
const OWN_MAX: u32 = 64;
/// Size of the portions in which further frames are granted.
const PORTION: u32 = 64;
/// Portions a second for one connection, its maximum, and its initial amount.
const CONNECTION_PER_S: u32 = 2;
const CONNECTION_MAX: u32 = 16;
const CONNECTION_FIRST: u32 = 2;
/// The same for all connections of one address.
const ADDRESS_PER_S: u32 = 32;
const ADDRESS_MAX: u32 = 128;

/// The caller has sent too many frames that serve no request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the caller sent too many frames that serve no request")]
pub struct FloodError;

/// Token bucket.
#[derive(Debug)]
struct FrameAllowance {
    left: u32,
    most: u32,
    /// Time in which one token is added.
    interval: Duration,
    grown_at: Instant,
}

impl FrameAllowance {
    fn new(first: u32, per_s: u32, most: u32) -> Self {
        Self {
            left: first,
            most,
            interval: Duration::from_secs(1) / per_s,
            grown_at: Instant::now(),
        }
    }

    /// Takes one token; false if none is left.
    fn take(&mut self, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.grown_at);
        let grown = passed.as_nanos() / self.interval.as_nanos();
        let grown = u32::try_from(grown).unwrap_or(u32::MAX);
        if self.left.saturating_add(grown) >= self.most {
            self.left = self.most;
            self.grown_at = now;
        } else {
            self.left += grown;
            self.grown_at += self.interval * grown;
        }
        let has_one = self.left > 0;
        self.left -= u32::from(has_one);
        has_one
    }
}

/// State shared by the connections of one address: their frame allowance. Also holds this connection's own seat.
#[derive(Clone)]
pub struct AddressFrames {
    allowance: Arc<Mutex<FrameAllowance>>,
    seat: Option<Arc<ConnectionSeat>>,
}

impl Default for AddressFrames {
    /// Starts with a full allowance.
    fn default() -> Self {
        let whole = FrameAllowance::new(ADDRESS_MAX, ADDRESS_PER_S, ADDRESS_MAX);
        Self {
            allowance: Arc::new(Mutex::new(whole)),
            seat: None,
        }
    }
}

impl AddressFrames {
    /// Attaches a connection's seat.
    pub(crate) fn of(self, seat: Arc<ConnectionSeat>) -> Self {
        Self {
            seat: Some(seat),
            ..self
        }
    }
}

/// Parses and limits the incoming frames of one connection.
pub struct ConnectionFrames {
    /// The part of a frame header that has arrived.
    header: [u8; HEADER_BYTES],
    header_bytes: usize,
    /// Missing bytes of the current frame.
    missing: usize,
    kind: u8,
    flags: u8,
    /// The first SETTINGS frame, which every client begins with, has arrived.
    has_settings: bool,
    /// A header block has begun and not ended.
    is_in_block: bool,
    /// Number of the unfinished item that is timed.
    begun: Option<u32>,
    begun_last: u32,
    /// The highest stream that a request has opened.
    opened: u32,
    /// Frames without a request that are still allowed.
    allowed: u32,
    /// Answer bytes that have not earned a frame yet.
    left: usize,
    own: FrameAllowance,
    portions: FrameAllowance,
    address: Option<AddressFrames>,
}

impl ConnectionFrames {
    /// `address` is the state shared with the address's other connections, if there is any.
    pub fn new(address: Option<AddressFrames>) -> Self {
        Self {
            header: [0; HEADER_BYTES],
            header_bytes: 0,
            missing: 0,
            kind: 0,
            flags: 0,
            has_settings: false,
            is_in_block: false,
            begun: Some(0),
            begun_last: 0,
            opened: 0,
            allowed: 0,
            left: 0,
            own: FrameAllowance::new(OWN_MAX, OWN_PER_S, OWN_MAX),
            portions: FrameAllowance::new(CONNECTION_FIRST, CONNECTION_PER_S, CONNECTION_MAX),
            address,
        }
    }

    /// Counts the frames in newly arrived bytes.
    pub fn arrived(&mut self, mut bytes: &[u8]) -> Result<(), FloodError> {
        while !bytes.is_empty() {
            if self.missing > 0 {
                let skipped = self.missing.min(bytes.len());
                self.missing -= skipped;
                bytes = &bytes[skipped..];
                if self.missing == 0 {
                    self.is_whole();
                }
                continue;
            }
            if self.begun.is_none() {
                self.begun_last = self.begun_last.wrapping_add(1);
                self.begun = Some(self.begun_last);
            }
            let taken = (HEADER_BYTES - self.header_bytes).min(bytes.len());
            let (header, rest) = bytes.split_at(taken);
            self.header[self.header_bytes..][..taken].copy_from_slice(header);
            self.header_bytes += taken;
            bytes = rest;
            if self.header_bytes == HEADER_BYTES {
                self.header_bytes = 0;
                self.header_arrived()?;
            }
        }
        Ok(())
    }

    fn header_arrived(&mut self) -> Result<(), FloodError> {
        let [high, middle, low, kind, flags, stream @ ..] = self.header;
        let length = u32::from_be_bytes([0, high, middle, low]);
        self.missing = length as usize;
        (self.kind, self.flags) = (kind, flags);
        if kind == DATA {
            // Bodies have their own time limits.
            self.rest();
        }
        if self.missing == 0 {
            self.is_whole();
        }
        self.count(kind, u32::from_be_bytes(stream) & STREAM_BITS, length)
    }

    /// Notes that the current frame is complete.
    fn is_whole(&mut self) {
        match self.kind {
            HEADERS | PUSH_PROMISE | CONTINUATION => {
                self.is_in_block = self.flags & END_HEADERS == 0;
            }
            SETTINGS => self.has_settings = true,
            _ => {}
        }
        self.rest();
    }

    /// Stops the timer, unless a header block or the first SETTINGS is still incomplete.
    fn rest(&mut self) {
        if self.has_settings && !self.is_in_block {
            self.begun = None;
        }
    }

    /// The timed item: the first SETTINGS, a header block, or a frame other than DATA. The number changes with the
    /// item.
    pub fn begun(&self) -> Option<u32> {
        self.begun
    }

    pub(crate) fn seat(&self) -> Option<&Arc<ConnectionSeat>> {
        self.address.as_ref()?.seat.as_ref()
    }

    /// Notes bytes sent to the caller.
    pub fn left(&mut self, bytes: usize) {
        self.left += bytes;
        self.allow((self.left / ANSWER_BYTES) as u32);
        self.left %= ANSWER_BYTES;
    }

    fn allow(&mut self, frames: u32) {
        self.allowed = self.allowed.saturating_add(frames).min(SAVED_MAX);
    }

    fn count(&mut self, kind: u8, stream: u32, length: u32) -> Result<(), FloodError> {
        match kind {
            // Only the first HEADERS of a stream is a request.
            HEADERS if stream > self.opened => {
                self.opened = stream;
                self.allow(OF_REQUEST);
                return Ok(());
            }
            DATA => self.allow(length / BODY_BYTES),
            _ => {}
        }
        if self.allowed == 0 {
            self.allowed = self.more(Instant::now()).ok_or(FloodError)?;
        }
        self.allowed -= 1;
        Ok(())
    }

    /// Grants further frames.
    fn more(&mut self, now: Instant) -> Option<u32> {
        if self.own.take(now) {
            return Some(1);
        }
        let is_allowed = self.portions.take(now)
            && (self.address.as_ref()).is_none_or(|shared| shared.allowance.lock().take(now));
        is_allowed.then_some(PORTION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PING: u8 = 6;
    const WINDOW_UPDATE: u8 = 8;

    fn frame(kind: u8, flags: u8, length: usize) -> Vec<u8> {
        let length_bytes = (length as u32).to_be_bytes();
        let mut bytes = length_bytes[1..].to_vec();
        bytes.extend([kind, flags, 0, 0, 0, 1]);
        bytes.resize(HEADER_BYTES + length, 0);
        bytes
    }

    /// Counts the accepted repetitions, up to `most`.
    fn accepted(frames: &mut ConnectionFrames, bytes: &[u8], most: usize) -> usize {
        (0..most)
            .take_while(|_| frames.arrived(bytes).is_ok())
            .count()
    }

    // Holds invariant 225.
    #[test]
    fn a_flood_ends_soon_however_its_bytes_are_cut() {
        let most = (OWN_MAX + (CONNECTION_FIRST + 1) * PORTION) as usize;
        for kind in [2, 4, PING, 3, WINDOW_UPDATE, 9, 0xb, 0xff] {
            let count = accepted(&mut ConnectionFrames::new(None), &frame(kind, 0, 8), 10_000);
            assert!((100..=most).contains(&count), "{kind}: {count}");
        }
        let mut frames = ConnectionFrames::new(None);
        let pings: Vec<u8> = frame(PING, 0, 8).repeat(1_000);
        let whole = pings.chunks(7).try_for_each(|piece| frames.arrived(piece));
        assert_eq!(whole, Err(FloodError));
        let empty = accepted(&mut ConnectionFrames::new(None), &frame(DATA, 0, 0), 10_000);
        assert!(empty <= most, "{empty}");
        // HEADERS on an answered or reset stream is no request either.
        let ends = accepted(&mut ConnectionFrames::new(None), &frame(DATA, 1, 0), 10_000);
        assert!(ends <= most, "{ends}");
        let again = accepted(
            &mut ConnectionFrames::new(None),
            &frame(HEADERS, 5, 20),
            10_000,
        );
        assert!(again <= most + 1 + OF_REQUEST as usize, "{again}");
    }

    // Holds invariant 225.
    #[test]
    fn what_serves_requests_is_never_too_much() {
        let mut frames = ConnectionFrames::new(None);
        for number in 0..10_000_u32 {
            let mut headers = frame(HEADERS, 4, 100);
            headers[5..HEADER_BYTES].copy_from_slice(&(2 * number + 1).to_be_bytes());
            frames.arrived(&headers).unwrap();
            frames.arrived(&frame(2, 0, 5)).unwrap();
            frames.arrived(&frame(WINDOW_UPDATE, 0, 4)).unwrap();
            frames.arrived(&frame(DATA, 0, 40)).unwrap();
            frames.arrived(&frame(DATA, 1, 1)).unwrap();
        }
        // An event stream: each event is a frame, and the reader sends two window updates for it.
        for _ in 0..10_000 {
            frames.left(130);
            frames
                .arrived(&frame(WINDOW_UPDATE, 0, 4).repeat(2))
                .unwrap();
        }
    }

    #[test]
    fn what_has_begun_is_known_until_it_is_whole() {
        let mut frames = ConnectionFrames::new(None);
        let first = frames.begun();
        assert!(first.is_some(), "the first SETTINGS");
        frames.arrived(&frame(SETTINGS, 0, 12)[..20]).unwrap();
        assert_eq!(frames.begun(), first);
        frames.arrived(&[0]).unwrap();
        assert_eq!(frames.begun(), None);
        // A header block is one item, however many frames it has and however slowly they come.
        frames.arrived(&frame(HEADERS, 0, 20)).unwrap();
        let block = frames.begun();
        assert!(block.is_some() && block != first);
        for _ in 0..3 {
            frames.arrived(&frame(CONTINUATION, 0, 1)).unwrap();
            assert_eq!(frames.begun(), block);
        }
        let last = frame(CONTINUATION, END_HEADERS, 2);
        frames.arrived(&last[..10]).unwrap();
        assert_eq!(frames.begun(), block);
        frames.arrived(&last[10..]).unwrap();
        assert_eq!(frames.begun(), None);
        // A body may trickle; its frame header and control frames may not.
        let data = frame(DATA, 0, 100);
        frames.arrived(&data[..3]).unwrap();
        assert!(frames.begun().is_some());
        frames.arrived(&data[3..50]).unwrap();
        assert_eq!(frames.begun(), None);
        frames.arrived(&data[50..]).unwrap();
        let ping = frame(PING, 0, 8);
        frames.arrived(&ping[..12]).unwrap();
        let half = frames.begun();
        assert!(half.is_some());
        frames
            .arrived(&[&ping[12..], &ping[..12]].concat())
            .unwrap();
        assert!(frames.begun().is_some());
        assert_ne!(frames.begun(), half, "another frame");
    }

    // Holds invariant 225.
    #[test]
    fn connections_of_an_address_share_what_they_may_send() {
        let shared = AddressFrames::default();
        let ping = frame(PING, 0, 8);
        let counts: Vec<usize> = (0..200)
            .map(|_| {
                accepted(
                    &mut ConnectionFrames::new(Some(shared.clone())),
                    &ping,
                    10_000,
                )
            })
            .collect();
        assert!(counts[0] > OWN_MAX as usize, "{counts:?}");
        let own = 200 * (OWN_MAX as usize + 1);
        // A few more were granted meanwhile.
        let shared = (ADDRESS_MAX as usize + 8) * PORTION as usize;
        assert!(counts.iter().sum::<usize>() < own + shared, "{counts:?}");
    }

    #[test]
    fn what_is_allowed_grows_with_time_up_to_its_bound() {
        let mut allowance = FrameAllowance::new(1, 2, 3);
        let begun = allowance.grown_at;
        assert!(allowance.take(begun));
        assert!(!allowance.take(begun + Duration::from_millis(499)));
        assert!(allowance.take(begun + Duration::from_millis(500)));
        assert!(!allowance.take(begun + Duration::from_millis(999)));
        let later = begun + Duration::from_hours(1);
        assert_eq!((0..10).filter(|_| allowance.take(later)).count(), 3);
    }
}
