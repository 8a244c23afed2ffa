//! A follower's reader of the stream, which returns frames in order.
//!
//! It uses an ephemeral pull consumer. The consumer lives on one server, so a silent or failing one is replaced by a
//! new one that continues at the next place. Only a place and a hash survive the replacement. A server whose copy of
//! the stream lags keeps its consumers alive without messages, so the reader asks the stream's leader after a silence.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _};
use kedge_log::{FrameHeader, LogPosition, StoredFrame};
use kedge_protocol::Hash;

use crate::connection::Cluster;
use crate::error::{StreamConflict, StreamError};
use crate::servers::{ConsumerMessage, ConsumerMessages, LogStreamEnds};
use crate::stream::{StreamLag, offset_of};

/// Silence after which the stream's leader is asked for the next message.
const QUIET: Duration = Duration::from_secs(1);
/// Bytes of messages in flight; twice the longest frame.
const BATCH_BYTES: usize = 16 << 20;
const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Reads the stream's frames in order.
pub struct StreamFollower {
    cluster: Cluster,
    /// The last frame read.
    last: u64,
    hash: Hash,
    messages: Option<StreamConsumer>,
    pause: Duration,
    short: StreamLag,
}

struct StreamConsumer {
    messages: ConsumerMessages,
    /// Place of the next message.
    place: u64,
    /// Set when the stream's leader had a message before the consumer; reset by the consumer's next one.
    lags: bool,
}

impl Cluster {
    /// Reads the frames after a position of the node's own log.
    pub fn follow(&self, after: &LogPosition) -> StreamFollower {
        StreamFollower {
            cluster: self.clone(),
            last: after.frame,
            hash: after.hash,
            messages: None,
            pause: PAUSE_MIN,
            short: StreamLag::default(),
        }
    }
}

impl StreamFollower {
    /// Waits, through any failure of the servers, until the stream is readable and contains the last frame read.
    /// Cancel-safe.
    ///
    /// # Errors
    /// [`StreamError::StreamConflict`] if the stream contradicts the frames read, or has ended before them for a while;
    /// [`StreamError::Missing`] if it begins later; [`StreamError::Gone`] if it has been gone for a while. Calling it
    /// again retries: separated servers may have reconnected.
    pub async fn connect(&mut self) -> Result<(), StreamError> {
        while !self.try_connect().await? {}
        Ok(())
    }

    /// Like [`StreamFollower::connect`], but returns false when the stream is gone or ends before the last frame read. That
    /// may be temporary: call it again.
    ///
    /// # Errors
    /// Those of [`StreamFollower::connect`].
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
                // Freshly started servers may not know the stream yet.
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

    /// Waits for the next frame's bytes; `None` if it has to connect first. Cancel-safe.
    ///
    /// # Errors
    /// [`StreamError::StreamConflict`] if the next message does not continue the frames read.
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
                MessageContinuity::Next(bytes) => return Ok(Some(bytes)),
                MessageContinuity::Before => {}
                MessageContinuity::Gap { place, found } => {
                    self.messages = None;
                    self.gap(place, found).await?;
                }
                MessageContinuity::Broken(broken) => {
                    self.messages = None;
                    return Err(broken.into());
                }
            }
        }
        Ok(None)
    }

    /// Asks the stream's leader for the next message after the consumer was silent. A second silence replaces the
    /// consumer.
    async fn ask_leader(&mut self) -> Result<MessageContinuity, StreamError> {
        let Some(place) = self.messages.as_ref().map(|open| open.place) else {
            return Ok(MessageContinuity::Before);
        };
        let bytes = match self.cluster.message(place).await {
            Ok(Some(bytes)) => bytes,
            // If its server does not answer either, the consumer notices by itself.
            Ok(None) | Err(StreamError::Unreachable(_)) => return Ok(MessageContinuity::Before),
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

    /// The frames that have already arrived, up to about `bytes_max`, so that a follower can sync many in one go.
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
                MessageContinuity::Next(frame) => {
                    bytes += frame.len();
                    frames.push(frame);
                }
                MessageContinuity::Before => {}
                // The next call reads this message again, and returns the error.
                MessageContinuity::Gap { .. } | MessageContinuity::Broken(_) => {
                    self.messages = None;
                    break;
                }
            }
        }
        frames
    }

    pub fn last(&self) -> u64 {
        self.last
    }

    /// Creates a consumer; `None` if the stream seems too short at present.
    async fn open(&mut self) -> Result<Option<StreamConsumer>, StreamError> {
        let cluster = self.cluster.clone();
        let ends = cluster.ends().await?;
        let offset = cluster.offset().await?;
        let place = match offset.map(|offset| (self.last + 1).checked_add_signed(offset)) {
            Some(Some(place)) if place >= ends.first => place,
            Some(_) => return Err(self.missing(ends).await),
            None if self.last == 0 => 1,
            None => 0,
        };
        // The stream is empty, or ends before the last frame read.
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
        Ok(Some(StreamConsumer {
            messages,
            place,
            lags: false,
        }))
    }

    /// Checks that the stream contains the last frame read.
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

    /// Classifies a message of the consumer.
    fn join_message(&mut self, message: &ConsumerMessage) -> MessageContinuity {
        if let Some(open) = &mut self.messages {
            open.lags = false;
        }
        self.join(message.place, &message.payload)
    }

    /// Classifies the message at a place.
    fn join(&mut self, found: u64, payload: &Bytes) -> MessageContinuity {
        let Some(open) = &mut self.messages else {
            return MessageContinuity::Before;
        };
        let place = open.place;
        if found < place {
            return MessageContinuity::Before;
        }
        if found > place {
            return MessageContinuity::Gap { place, found };
        }
        let next = self.last + 1;
        let bytes = payload.clone();
        // A copy is checked, because the stream's bytes are passed on unchanged.
        let frame = match StoredFrame::read(bytes.to_vec()) {
            Ok(frame) => frame,
            Err(error) => {
                let what =
                    format!("a message at place {place} that is not a whole frame ({error})");
                return MessageContinuity::Broken(self.broken(next, what));
            }
        };
        let header = frame.header();
        if header.number != next || header.previous != self.hash {
            let what = format!(
                "frame {} after a frame with hash {}, at place {place}",
                header.number, header.previous
            );
            return MessageContinuity::Broken(self.broken(next, what));
        }
        open.place += 1;
        self.last = next;
        self.hash = header.hash();
        self.pause = PAUSE_MIN;
        *self.cluster.0.offset.lock() = Some(offset_of(place, next));
        MessageContinuity::Next(bytes)
    }

    /// The consumer skipped places: they are gone, unless the stream's leader has the next one.
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

    async fn missing(&self, ends: LogStreamEnds) -> StreamError {
        match self.cluster.end(ends, ends.first).await {
            Ok(first) => StreamError::Missing {
                frame: self.last + 1,
                first: first.map_or(0, |first| first.number),
            },
            Err(error) => error,
        }
    }

    fn shorter(&self, last: u64, offset: Option<i64>) -> StreamConflict {
        let end = last.checked_add_signed(-offset.unwrap_or(0)).unwrap_or(0);
        self.broken(end + 1, format!("frames up to {end} only"))
    }

    fn broken(&self, frame: u64, stream: String) -> StreamConflict {
        StreamConflict {
            frame,
            stream,
            log: format!("frame {} with hash {} as its last", self.last, self.hash),
        }
    }
}

/// Position of a message relative to the frames read.
enum MessageContinuity {
    /// The next frame.
    Next(Bytes),
    /// A frame that was already read.
    Before,
    /// Messages are missing before it.
    Gap {
        place: u64,
        found: u64,
    },
    Broken(StreamConflict),
}
