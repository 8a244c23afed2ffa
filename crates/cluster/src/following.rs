//! The stream's frames in order, as a follower reads them.
//!
//! An ephemeral pull consumer brings them. It lives on one server, so whenever it is silent or fails, another one is made
//! from the next place on. Nothing but a place and a hash is kept between the two. A server whose copy of the stream stands
//! still keeps its consumers alive without a message, so the stream's leader is asked for the next one when none comes.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _};
use kedge_log::{FrameHeader, Position, StoredFrame};
use kedge_protocol::Hash;

use crate::connection::Cluster;
use crate::error::{Broken, StreamError};
use crate::servers::{Arrived, Arriving, Ends};
use crate::stream::{Short, offset_of};

/// After so long without a message the stream's leader is asked for the next one.
const QUIET: Duration = Duration::from_secs(1);
/// Bytes of messages that may be on their way; and twice the longest frame.
const BATCH_BYTES: usize = 16 << 20;
const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Reads the stream's frames in order.
pub struct Following {
    cluster: Cluster,
    /// The last frame that was read.
    last: u64,
    hash: Hash,
    messages: Option<Open>,
    pause: Duration,
    short: Short,
}

struct Open {
    messages: Arriving,
    /// The place of the next message.
    place: u64,
    /// Whether the stream's leader had a message before the consumer, which has brought none since.
    lags: bool,
}

impl Cluster {
    /// Reads the frames after a position, which is that of the node's own log.
    pub fn follow(&self, after: &Position) -> Following {
        Following {
            cluster: self.clone(),
            last: after.frame,
            hash: after.hash,
            messages: None,
            pause: PAUSE_MIN,
            short: Short::default(),
        }
    }
}

impl Following {
    /// Waits until the stream can be read after the last frame that was read, and holds that frame; through any failure of
    /// the servers. It may be cancelled at any time.
    ///
    /// # Errors
    /// [`StreamError::Broken`] if the stream does not continue what was read, also if it has ended earlier for a while;
    /// [`StreamError::Missing`] if it begins later; [`StreamError::Gone`] if it has been gone for a while. The next call looks again: servers that lost the others may have got
    /// them back.
    pub async fn connect(&mut self) -> Result<(), StreamError> {
        while !self.try_connect().await? {}
        Ok(())
    }

    /// The same, but false as soon as the stream was seen to be gone or to end before the last frame that was read. That may
    /// pass: the next call looks again.
    ///
    /// # Errors
    /// As [`Following::connect`].
    pub async fn try_connect(&mut self) -> Result<bool, StreamError> {
        while self.messages.is_none() {
            let is_there = match self.open().await {
                Ok(Some(open)) => {
                    self.messages = Some(open);
                    break;
                }
                Ok(None) => false,
                Err(StreamError::Unreachable(why)) => {
                    tracing::debug!(why, "the stream cannot be followed now");
                    true
                }
                // Servers that have just started may not know of it yet.
                Err(StreamError::Gone { .. }) if !self.short.lasts(true) => false,
                Err(error) => return Err(error),
            };
            tokio::time::sleep(self.pause).await;
            self.pause = (self.pause * 2).min(PAUSE_MAX);
            if !is_there {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Waits for the next frame's bytes; `None` if it has to connect first. It may be cancelled at any time, and loses
    /// nothing.
    ///
    /// # Errors
    /// [`StreamError::Broken`] if the next message does not continue what was read.
    pub async fn read(&mut self) -> Result<Option<Bytes>, StreamError> {
        while let Some(open) = &mut self.messages {
            let joined = match tokio::time::timeout(QUIET, open.messages.next()).await {
                Ok(Some(Ok(message))) => self.join_message(&message),
                Ok(failed) => {
                    if let Some(Err(error)) = failed {
                        tracing::debug!(%error, "the consumer of the stream is made again");
                    }
                    self.messages = None;
                    continue;
                }
                Err(_) => self.ask_leader().await?,
            };
            match joined {
                Join::Next(bytes) => return Ok(Some(bytes)),
                Join::Before => {}
                Join::Gap { place, found } => {
                    self.messages = None;
                    self.gap(place, found).await?;
                }
                Join::Broken(broken) => {
                    self.messages = None;
                    return Err(broken.into());
                }
            }
        }
        Ok(None)
    }

    /// The consumer brings nothing: the stream's leader may have the next message all the same. A consumer that has
    /// brought nothing until this happens again is given up.
    async fn ask_leader(&mut self) -> Result<Join, StreamError> {
        let Some(place) = self.messages.as_ref().map(|open| open.place) else {
            return Ok(Join::Before);
        };
        let bytes = match self.cluster.message(place).await {
            Ok(Some(bytes)) => bytes,
            // The consumer notices by itself when its server does not answer either.
            Ok(None) | Err(StreamError::Unreachable(_)) => return Ok(Join::Before),
            Err(error) => return Err(error),
        };
        let joined = self.join(place, &bytes);
        if let Some(open) = &mut self.messages {
            if open.lags {
                tracing::warn!(
                    place,
                    "the NATS server of the consumer lacks messages that the stream's leader has: making another consumer"
                );
                self.messages = None;
            } else {
                open.lags = true;
            }
        }
        Ok(joined)
    }

    /// The frames that have arrived already, up to about so many bytes, so that a follower can sync many at once.
    pub fn ready(&mut self, bytes_max: usize) -> Vec<Bytes> {
        // The consumer has timers, and the caller may be on a thread that waits for the disk.
        let runtime = self.cluster.0.runtime.clone();
        let _entered = runtime.enter();
        let mut frames = Vec::new();
        let mut bytes = 0;
        while bytes < bytes_max
            && let Some(open) = &mut self.messages
        {
            let joined = match open.messages.next().now_or_never() {
                Some(Some(Ok(message))) => self.join_message(&message),
                Some(_) => {
                    self.messages = None;
                    break;
                }
                None => break,
            };
            match joined {
                Join::Next(frame) => {
                    bytes += frame.len();
                    frames.push(frame);
                }
                Join::Before => {}
                // The next call reads it again, and fails with it.
                Join::Gap { .. } | Join::Broken(_) => {
                    self.messages = None;
                    break;
                }
            }
        }
        frames
    }

    /// The last frame that was read.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Makes a consumer; `None` if the stream ends early so far.
    async fn open(&mut self) -> Result<Option<Open>, StreamError> {
        let cluster = self.cluster.clone();
        let ends = cluster.ends().await?;
        let offset = cluster.offset().await?;
        let place = match offset.map(|offset| (self.last + 1).checked_add_signed(offset)) {
            Some(Some(place)) if place >= ends.first => place,
            Some(_) => return Err(self.missing(ends).await),
            None if self.last == 0 => 1,
            None => 0,
        };
        // An empty stream, or one that ends before what was read from it.
        let is_short = ends.last + 1 < place || place == 0;
        if is_short {
            if self.short.lasts(true) {
                return Err(self.shorter(ends.last, offset).into());
            }
            return Ok(None);
        }
        self.short.lasts(false);
        self.check_last(place, ends.first).await?;
        let bytes_max = BATCH_BYTES.max(2 * cluster.0.options.payload_bytes_max());
        let messages = cluster.0.servers.consume(place, bytes_max).await?;
        Ok(Some(Open {
            messages,
            place,
            lags: false,
        }))
    }

    /// Checks that the stream holds the last frame that was read.
    async fn check_last(&self, place: u64, first: u64) -> Result<(), StreamError> {
        if self.last == 0 || place <= first {
            return Ok(());
        }
        let Some(found) = self.cluster.message(place - 1).await? else {
            let gone = format!("no message at place {}", place - 1);
            return Err(self.broken(self.last, gone).into());
        };
        match FrameHeader::read(&found) {
            Ok(header) if header.number == self.last && header.hash() == self.hash => Ok(()),
            Ok(header) => {
                let other = format!("frame {} with hash {}", header.number, header.hash());
                Err(self.broken(self.last, other).into())
            }
            Err(error) => {
                let other = format!("a message that is not a frame ({error})");
                Err(self.broken(self.last, other).into())
            }
        }
    }

    /// Whether a message of the consumer is the next frame.
    fn join_message(&mut self, message: &Arrived) -> Join {
        if let Some(open) = &mut self.messages {
            open.lags = false;
        }
        self.join(message.place, &message.payload)
    }

    /// Whether the message at a place is the next frame.
    fn join(&mut self, found: u64, payload: &Bytes) -> Join {
        let Some(open) = &mut self.messages else {
            return Join::Before;
        };
        let place = open.place;
        if found < place {
            return Join::Before;
        }
        if found > place {
            return Join::Gap { place, found };
        }
        let next = self.last + 1;
        let bytes = payload.clone();
        // A copy is checked: the stream's bytes are passed on as they are.
        let frame = match StoredFrame::read(bytes.to_vec()) {
            Ok(frame) => frame,
            Err(error) => {
                let what =
                    format!("a message at place {place} that is not a whole frame ({error})");
                return Join::Broken(self.broken(next, what));
            }
        };
        let header = frame.header();
        if header.number != next || header.previous != self.hash {
            let what = format!(
                "frame {} after a frame with hash {}, at place {place}",
                header.number, header.previous
            );
            return Join::Broken(self.broken(next, what));
        }
        open.place += 1;
        self.last = next;
        self.hash = header.hash();
        self.pause = PAUSE_MIN;
        *self.cluster.0.offset.lock() = Some(offset_of(place, next));
        Join::Next(bytes)
    }

    /// A consumer left places out: they are gone, unless the stream's leader has the next one.
    async fn gap(&mut self, place: u64, found: u64) -> Result<(), StreamError> {
        match self.cluster.message(place).await {
            Ok(None) => {
                let what = format!("no message at places {place} to {}", found - 1);
                Err(self.broken(self.last + 1, what).into())
            }
            Ok(Some(_)) | Err(StreamError::Unreachable(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn missing(&self, ends: Ends) -> StreamError {
        match self.cluster.end(ends, ends.first).await {
            Ok(first) => StreamError::Missing {
                frame: self.last + 1,
                first: first.map_or(0, |first| first.number),
            },
            Err(error) => error,
        }
    }

    fn shorter(&self, last: u64, offset: Option<i64>) -> Broken {
        let end = last.checked_add_signed(-offset.unwrap_or(0)).unwrap_or(0);
        self.broken(end + 1, format!("frames up to {end} only"))
    }

    fn broken(&self, frame: u64, stream: String) -> Broken {
        Broken {
            frame,
            stream,
            log: format!("frame {} with hash {} as its last", self.last, self.hash),
        }
    }
}

/// How a message follows what was read.
enum Join {
    /// It is the next frame.
    Next(Bytes),
    /// It was read before.
    Before,
    /// Messages before it are left out.
    Gap {
        place: u64,
        found: u64,
    },
    Broken(Broken),
}
