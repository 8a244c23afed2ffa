//! Reads of single messages of the stream. Its leader answers them, so a quorum holds what is read.
//!
//! A frame's place in the stream is its number plus an offset: 0 in a stream that began with the log, another one in a
//! recreated stream that begins with a later frame.

use std::time::Duration;

use bytes::Bytes;
use kedge_log::{FrameHeader, LogFloor, LogPosition, encode_empty};
use kedge_protocol::Hash;
use tokio::time::Instant;

use crate::connection::Cluster;
use crate::error::{LeadTermError, StreamConflict, StreamError};
use crate::publication::{OutgoingFrame, StreamPublishOutcome};
use crate::servers::{LogStreamEnds, LogStreamMessage};

/// How long the stream may seem too short before it counts as broken: a new leader of the stream may not have applied
/// everything yet.
pub(crate) const SHORT_MAX: Duration = Duration::from_secs(10);

/// A frame at an end of the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamTailFrame {
    pub number: u64,
    pub term: u64,
    pub format: u16,
    pub hash: Hash,
    /// Place in the stream.
    pub place: u64,
}

/// The opening frame of a term.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TermFrame {
    /// To be appended to the node's own log.
    pub bytes: Bytes,
    /// Place in the stream.
    pub place: u64,
}

impl Cluster {
    /// The last frame of the stream; `None` if it is empty.
    ///
    /// # Errors
    /// [`StreamError::Unreachable`], or [`StreamError::StreamConflict`] if the last message is gone or is not a frame.
    pub async fn tail(&self) -> Result<Option<StreamTailFrame>, StreamError> {
        let ends = self.ends().await?;
        self.end(ends, ends.last).await
    }

    /// The first remaining frame of the stream; `None` if it is empty.
    ///
    /// # Errors
    /// Those of [`Cluster::tail`].
    pub async fn first(&self) -> Result<Option<StreamTailFrame>, StreamError> {
        let ends = self.ends().await?;
        self.end(ends, ends.first).await
    }

    /// A frame's bytes; `None` if the stream does not have it, or not yet.
    ///
    /// # Errors
    /// [`StreamError::Unreachable`], or [`StreamError::StreamConflict`] if another frame has its place.
    pub async fn frame(&self, number: u64) -> Result<Option<Bytes>, StreamError> {
        let Some(offset) = self.offset().await? else {
            return Ok(None);
        };
        let Some(place) = number.checked_add_signed(offset).filter(|place| *place > 0) else {
            return Ok(None);
        };
        let Some(bytes) = self.message(place).await? else {
            return Ok(None);
        };
        match FrameHeader::read(&bytes) {
            Ok(header) if header.number == number => Ok(Some(bytes)),
            found => Err(StreamConflict {
                frame: number,
                stream: found.map_or_else(
                    |error| format!("a message at place {place} that is not a frame ({error})"),
                    |header| format!("frame {} at place {place}", header.number),
                ),
                log: format!("frame {number} at place {place}"),
            }
            .into()),
        }
    }

    /// Begins a term: publishes its opening frame after `after`, this node's last applied frame. The node must append
    /// the opening frame to its own log and sync it before the term's first frame.
    ///
    /// # Errors
    /// [`LeadTermError::Moved`] if the stream has a later frame. After [`LeadTermError::Stream`] it is unknown whether the
    /// frame got into the stream: follow, and begin a higher term.
    pub async fn begin_term(
        &self,
        after: &LogPosition,
        term: u64,
    ) -> Result<TermFrame, LeadTermError> {
        let tail = self.tail().await?;
        let place = match tail {
            None if after.frame > 0 => {
                return Err(LeadTermError::Empty {
                    frames: after.frame,
                });
            }
            None => 1,
            Some(tail) if tail.number > after.frame => {
                return Err(LeadTermError::Moved {
                    stream: tail.number,
                    applied: after.frame,
                });
            }
            Some(tail) if (tail.number, tail.hash) != (after.frame, after.hash) => {
                return Err(StreamError::from(joins_not(&tail, after)).into());
            }
            Some(tail) if tail.term >= term => {
                return Err(LeadTermError::Term {
                    term,
                    last: tail.term,
                });
            }
            Some(tail) => tail.place + 1,
        };
        let format = tail.map_or(LogFloor::START.format, |tail| tail.format);
        let (position, bytes) = encode_empty(after, LogFloor { term, format });
        let frame = OutgoingFrame {
            place,
            bytes: Bytes::from(bytes),
            hash: position.hash,
            candidate: Some(self.0.servers.new_mark()),
        };
        let patience = 3 * self.0.options.publish_timeout;
        let settling = self.settle(&frame, None);
        match tokio::time::timeout(patience, settling).await {
            Ok(StreamPublishOutcome::Acknowledged) => {
                *self.0.offset.lock() = Some(offset_of(place, position.frame));
                Ok(TermFrame {
                    bytes: frame.bytes,
                    place,
                })
            }
            Ok(StreamPublishOutcome::Other(found)) => Err(LeadTermError::Moved {
                stream: found,
                applied: after.frame,
            }),
            Ok(StreamPublishOutcome::Lost(broken)) => Err(StreamError::from(broken).into()),
            Err(_) => {
                let why = format!("the frame of term {term} was not acknowledged in {patience:?}");
                Err(StreamError::Unreachable(why).into())
            }
        }
    }

    /// Checks whether the servers answer without having the stream.
    ///
    /// # Errors
    /// [`StreamError::Gone`] in that case. An unreachable server is not an error here.
    pub async fn check_there(&self) -> Result<(), StreamError> {
        // A simulator's servers keep the stream.
        if self.0.nats().is_err() {
            return Ok(());
        }
        match self.ends().await {
            Err(error @ StreamError::Gone { .. }) => Err(error),
            _ => Ok(()),
        }
    }

    pub(crate) async fn ends(&self) -> Result<LogStreamEnds, StreamError> {
        self.0.servers.ends().await
    }

    /// The message at a place.
    pub(crate) async fn message(&self, place: u64) -> Result<Option<Bytes>, StreamError> {
        Ok(self.stored(place).await?.map(|message| message.payload))
    }

    /// The message at a place, with its mark.
    pub(crate) async fn stored(&self, place: u64) -> Result<Option<LogStreamMessage>, StreamError> {
        self.0.servers.stored(place).await
    }

    /// Place minus number of a frame; `None` if the stream is empty.
    pub(crate) async fn offset(&self) -> Result<Option<i64>, StreamError> {
        let known = *self.0.offset.lock();
        if known.is_some() {
            return Ok(known);
        }
        // Uses the first frame: foreign messages are at the end.
        let first = self.first().await?;
        let found = first.map(|first| offset_of(first.place, first.number));
        *self.0.offset.lock() = found;
        Ok(found)
    }

    /// The frame at one end of the stream.
    pub(crate) async fn end(
        &self,
        ends: LogStreamEnds,
        place: u64,
    ) -> Result<Option<StreamTailFrame>, StreamError> {
        if ends.last == 0 {
            return Ok(None);
        }
        let known = *self.0.offset.lock();
        let broken = |stream: String| StreamConflict {
            frame: place.saturating_add_signed(-known.unwrap_or(0)),
            stream,
            log: "a log whose frames follow each other".to_owned(),
        };
        let found = if ends.messages == 0 {
            None
        } else {
            self.message(place).await?
        };
        let Some(bytes) = found else {
            let what = format!(
                "no message at place {place}, although {} were published",
                ends.last
            );
            return Err(broken(what).into());
        };
        let header = FrameHeader::read(&bytes).map_err(|error| {
            broken(format!(
                "a message at place {place} that is not a frame ({error})"
            ))
        })?;
        Ok(Some(StreamTailFrame {
            number: header.number,
            term: header.term,
            format: header.format,
            hash: header.hash(),
            place,
        }))
    }
}

/// Place minus number of a frame.
pub(crate) fn offset_of(place: u64, number: u64) -> i64 {
    place.cast_signed() - number.cast_signed()
}

/// The error for a stream that ends elsewhere than this node's log without being ahead.
fn joins_not(tail: &StreamTailFrame, after: &LogPosition) -> StreamConflict {
    StreamConflict {
        frame: tail.number.min(after.frame),
        stream: format!("frame {} with hash {} as its last", tail.number, tail.hash),
        log: format!("frame {} with hash {}", after.frame, after.hash),
    }
}

/// Start of the period in which the stream seems to end before acknowledged frames.
#[derive(Default)]
pub(crate) struct StreamLag(Option<Instant>);

impl StreamLag {
    /// Records whether it does; true once that has lasted.
    pub(crate) fn lasts(&mut self, is_short: bool) -> bool {
        if !is_short {
            self.0 = None;
            return false;
        }
        self.0.get_or_insert_with(Instant::now).elapsed() >= SHORT_MAX
    }
}
