//! Frames of HTTP/2 that serve no request: pings, settings, priorities, empty pieces of bodies. They cost their caller
//! next to nothing and the server about a microsecond each, and no limit of requests counts them. So a connection may
//! send some for each request, and for what it sends and reads besides; more only slowly, and all connections of an
//! address together no faster than that. A frame or a block of headers that is begun has to become whole in time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::seats::Seat;

/// Bytes of a frame's header (RFC 9113, 4.1).
const HEADER_BYTES: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const CONTINUATION: u8 = 9;
/// The flag of a frame that ends a block of headers.
const END_HEADERS: u8 = 4;
/// Of the four bytes of a stream's number, the first bit has no meaning.
const STREAM_BITS: u32 = u32::MAX >> 1;

/// Frames that a request brings with it: its window updates, its priority, its trailers and the end of its body.
const OF_REQUEST: u32 = 8;
/// Bytes of a body, and of answers, that allow one more frame.
const BODY_BYTES: u32 = 16;
const ANSWER_BYTES: usize = 64;
/// The most frames that are saved up.
const SAVED_MAX: u32 = 4_096;

/// Frames a second that a connection may send whatever others of its address do, and how many of them it may save.
const OWN_PER_S: u32 = 1;
const OWN_MAX: u32 = 64;
/// More frames are taken in such amounts.
const PORTION: u32 = 64;
/// Portions of one connection a second, the most that it saves, and what it has at first.
const CONNECTION_PER_S: u32 = 2;
const CONNECTION_MAX: u32 = 16;
const CONNECTION_FIRST: u32 = 2;
/// The same for all connections of an address.
const ADDRESS_PER_S: u32 = 32;
const ADDRESS_MAX: u32 = 128;

/// A caller has sent too many frames that serve no request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the caller sent too many frames that serve no request")]
pub struct Flooded;

/// An amount that grows with time up to a bound.
#[derive(Debug)]
struct Allowance {
    left: u32,
    most: u32,
    /// The time in which one more is allowed.
    interval: Duration,
    grown_at: Instant,
}

impl Allowance {
    fn new(first: u32, per_s: u32, most: u32) -> Self {
        Self {
            left: first,
            most,
            interval: Duration::from_secs(1) / per_s,
            grown_at: Instant::now(),
        }
    }

    /// Takes one; false if none is left.
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

/// What a connection has in common with others of its address: what they may send together, and its seat among theirs.
#[derive(Clone)]
pub struct Shared {
    allowance: Arc<Mutex<Allowance>>,
    seat: Option<Arc<Seat>>,
}

impl Default for Shared {
    /// A whole allowance.
    fn default() -> Self {
        let whole = Allowance::new(ADDRESS_MAX, ADDRESS_PER_S, ADDRESS_MAX);
        Self {
            allowance: Arc::new(Mutex::new(whole)),
            seat: None,
        }
    }
}

impl Shared {
    /// The same for the connection that has this seat.
    pub(crate) fn of(self, seat: Arc<Seat>) -> Self {
        Self {
            seat: Some(seat),
            ..self
        }
    }
}

/// The frames that arrive on a connection.
pub struct Frames {
    /// The header that has arrived in part.
    header: [u8; HEADER_BYTES],
    header_bytes: usize,
    /// Bytes of the frame that are still missing.
    missing: usize,
    kind: u8,
    flags: u8,
    /// The first SETTINGS have arrived, which every caller begins with.
    has_settings: bool,
    /// A block of headers has begun and not ended.
    is_in_block: bool,
    /// What has begun and has to become whole in time, by its number.
    begun: Option<u32>,
    begun_last: u32,
    /// The highest stream that a request has opened.
    opened: u32,
    /// Frames that serve no request and are allowed.
    allowed: u32,
    /// Bytes of answers that have allowed no frame yet.
    left: usize,
    own: Allowance,
    portions: Allowance,
    address: Option<Shared>,
}

impl Frames {
    /// Those of a new connection, which shares an allowance with others of its address, or with none.
    pub fn new(address: Option<Shared>) -> Self {
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
            own: Allowance::new(OWN_MAX, OWN_PER_S, OWN_MAX),
            portions: Allowance::new(CONNECTION_FIRST, CONNECTION_PER_S, CONNECTION_MAX),
            address,
        }
    }

    /// Counts the frames in bytes that have arrived.
    pub fn arrived(&mut self, mut bytes: &[u8]) -> Result<(), Flooded> {
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

    fn header_arrived(&mut self) -> Result<(), Flooded> {
        let [high, middle, low, kind, flags, stream @ ..] = self.header;
        let length = u32::from_be_bytes([0, high, middle, low]);
        self.missing = length as usize;
        (self.kind, self.flags) = (kind, flags);
        if kind == DATA {
            // A body has rules of its own.
            self.rest();
        }
        if self.missing == 0 {
            self.is_whole();
        }
        self.count(kind, u32::from_be_bytes(stream) & STREAM_BITS, length)
    }

    /// Notes that the frame has arrived as a whole.
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

    /// Notes that nothing has to become whole, unless something larger than a frame does.
    fn rest(&mut self) {
        if self.has_settings && !self.is_in_block {
            self.begun = None;
        }
    }

    /// What has to become whole in time, if anything: the first SETTINGS, a block of headers, a frame other than DATA.
    /// The number changes with what it is.
    pub fn begun(&self) -> Option<u32> {
        self.begun
    }

    /// The connection's seat among those of its address.
    pub(crate) fn seat(&self) -> Option<&Arc<Seat>> {
        self.address.as_ref()?.seat.as_ref()
    }

    /// Notes that so many bytes have left.
    pub fn left(&mut self, bytes: usize) {
        self.left += bytes;
        self.allow((self.left / ANSWER_BYTES) as u32);
        self.left %= ANSWER_BYTES;
    }

    fn allow(&mut self, frames: u32) {
        self.allowed = self.allowed.saturating_add(frames).min(SAVED_MAX);
    }

    fn count(&mut self, kind: u8, stream: u32, length: u32) -> Result<(), Flooded> {
        match kind {
            // Only the first of a stream is a request.
            HEADERS if stream > self.opened => {
                self.opened = stream;
                self.allow(OF_REQUEST);
                return Ok(());
            }
            DATA => self.allow(length / BODY_BYTES),
            _ => {}
        }
        if self.allowed == 0 {
            self.allowed = self.more(Instant::now()).ok_or(Flooded)?;
        }
        self.allowed -= 1;
        Ok(())
    }

    /// How many more are allowed.
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

    /// How many of these are accepted, up to a bound.
    fn accepted(frames: &mut Frames, bytes: &[u8], most: usize) -> usize {
        (0..most)
            .take_while(|_| frames.arrived(bytes).is_ok())
            .count()
    }

    #[test]
    fn a_flood_ends_soon_however_its_bytes_are_cut() {
        let most = (OWN_MAX + (CONNECTION_FIRST + 1) * PORTION) as usize;
        for kind in [2, 4, PING, 3, WINDOW_UPDATE, 9, 0xb, 0xff] {
            let count = accepted(&mut Frames::new(None), &frame(kind, 0, 8), 10_000);
            assert!((100..=most).contains(&count), "{kind}: {count}");
        }
        let mut frames = Frames::new(None);
        let pings: Vec<u8> = frame(PING, 0, 8).repeat(1_000);
        let whole = pings.chunks(7).try_for_each(|piece| frames.arrived(piece));
        assert_eq!(whole, Err(Flooded));
        let empty = accepted(&mut Frames::new(None), &frame(DATA, 0, 0), 10_000);
        assert!(empty <= most, "{empty}");
        // Nor is more on a stream that has been answered or reset a request.
        let ends = accepted(&mut Frames::new(None), &frame(DATA, 1, 0), 10_000);
        assert!(ends <= most, "{ends}");
        let again = accepted(&mut Frames::new(None), &frame(HEADERS, 5, 20), 10_000);
        assert!(again <= most + 1 + OF_REQUEST as usize, "{again}");
    }

    #[test]
    fn what_serves_requests_is_never_too_much() {
        let mut frames = Frames::new(None);
        for number in 0..10_000_u32 {
            let mut headers = frame(HEADERS, 4, 100);
            headers[5..HEADER_BYTES].copy_from_slice(&(2 * number + 1).to_be_bytes());
            frames.arrived(&headers).unwrap();
            frames.arrived(&frame(2, 0, 5)).unwrap();
            frames.arrived(&frame(WINDOW_UPDATE, 0, 4)).unwrap();
            frames.arrived(&frame(DATA, 0, 40)).unwrap();
            frames.arrived(&frame(DATA, 1, 1)).unwrap();
        }
        // An answer of events: each has its own frame, and its reader gives back two windows for it.
        for _ in 0..10_000 {
            frames.left(130);
            frames
                .arrived(&frame(WINDOW_UPDATE, 0, 4).repeat(2))
                .unwrap();
        }
    }

    #[test]
    fn what_has_begun_is_known_until_it_is_whole() {
        let mut frames = Frames::new(None);
        let first = frames.begun();
        assert!(first.is_some(), "the first SETTINGS");
        frames.arrived(&frame(SETTINGS, 0, 12)[..20]).unwrap();
        assert_eq!(frames.begun(), first);
        frames.arrived(&[0]).unwrap();
        assert_eq!(frames.begun(), None);
        // A block of headers is one thing, however many frames it has and however slowly they come.
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
        // A body may trickle; the header of its frame and a frame of control may not.
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

    #[test]
    fn connections_of_an_address_share_what_they_may_send() {
        let shared = Shared::default();
        let ping = frame(PING, 0, 8);
        let counts: Vec<usize> = (0..200)
            .map(|_| accepted(&mut Frames::new(Some(shared.clone())), &ping, 10_000))
            .collect();
        assert!(counts[0] > OWN_MAX as usize, "{counts:?}");
        let own = 200 * (OWN_MAX as usize + 1);
        // A few more have grown meanwhile.
        let shared = (ADDRESS_MAX as usize + 8) * PORTION as usize;
        assert!(counts.iter().sum::<usize>() < own + shared, "{counts:?}");
    }

    #[test]
    fn what_is_allowed_grows_with_time_up_to_its_bound() {
        let mut allowance = Allowance::new(1, 2, 3);
        let begun = allowance.grown_at;
        assert!(allowance.take(begun));
        assert!(!allowance.take(begun + Duration::from_millis(499)));
        assert!(allowance.take(begun + Duration::from_millis(500)));
        assert!(!allowance.take(begun + Duration::from_millis(999)));
        let later = begun + Duration::from_hours(1);
        assert_eq!((0..10).filter(|_| allowance.take(later)).count(), 3);
    }
}
