//! Publishing of a frame at its place, and its outcome.
//!
//! At most one message gets a place, so publishing the same bytes with the same expectation again is safe. After an
//! error or a time-out, the publisher reads the frame's place from the stream. Servers may accept messages without
//! answering reads: JetStream's meta leader differs from the stream's leader, and servers without a meta leader refuse
//! all reads. So a frame is also published again while reads stay unanswered.
//!
//! **A frame is published only after the previous one was acknowledged.** The servers compare places, not contents:
//! with two frames in flight, another leader's frame could get the first place, and the second frame would be accepted
//! after it.

use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use kedge_log::FrameHeader;
use kedge_protocol::Hash;
use tokio::time::{Instant, MissedTickBehavior, interval, interval_at};

use crate::connection::Cluster;
use crate::error::StreamConflict;
use crate::servers::{Acknowledgement, LogStreamMessage, OutboundMessage};
use crate::stream::StreamLag;

const PAUSE_MIN: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_millis(250);
/// Interval of reads of a place while none is answered. During an election of the stream's leader the servers drop
/// reads silently, and the next read after it is answered first. Earlier reads stay open until their time-out, because
/// a slow network may answer them late.
const ASKED_EVERY: Duration = Duration::from_millis(200);

/// A frame to publish.
#[derive(Clone)]
pub(crate) struct OutgoingFrame {
    pub(crate) place: u64,
    pub(crate) bytes: Bytes,
    pub(crate) hash: Hash,
    /// Secret mark of this publisher on a term's opening frame, because candidates for one term publish the same bytes.
    pub(crate) candidate: Option<String>,
}

impl OutgoingFrame {
    /// Whether a message of the stream is this frame.
    fn is(&self, found: &LogStreamMessage, header: &FrameHeader) -> bool {
        header.hash() == self.hash && found.candidate == self.candidate
    }
}

/// Outcome of publishing a frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum StreamPublishOutcome {
    /// A quorum holds it in the stream.
    Acknowledged,
    /// Another frame, with this number, has its place.
    Other(u64),
    /// The stream ends before an acknowledged frame, or has lost the message at the frame's place.
    Lost(StreamConflict),
}

/// Whether a frame was acknowledged at its place.
fn is_acknowledged(place: u64, answer: Result<u64, String>) -> bool {
    match answer {
        Ok(acknowledged) if acknowledged == place => return true,
        Ok(found) => tracing::error!(place, found, "a frame got another place"),
        Err(error) => tracing::debug!(place, %error, "a frame was not acknowledged"),
    }
    false
}

/// Content of a frame's place.
enum PlaceContents {
    /// The frame was acknowledged there.
    Acknowledged,
    Message(LogStreamMessage),
    /// No message is there.
    Nothing,
}

impl Cluster {
    /// Publishes a frame without awaiting the acknowledgement. `None` if sending timed out.
    pub(crate) async fn send(&self, frame: &OutgoingFrame) -> Option<Acknowledgement> {
        let inner = &self.0;
        let sending = inner.servers.publish(OutboundMessage {
            payload: frame.bytes.clone(),
            expected_last: frame.place - 1,
            candidate: frame.candidate.clone(),
        });
        let sent = tokio::time::timeout(inner.options.publish_timeout, sending).await;
        sent.ok().flatten()
    }

    /// Publishes a frame, unless it was sent, and waits for its outcome. Publishes it again if it is missing, and while
    /// reads stay unanswered. All previous frames must be acknowledged. Never times out: wrap it in a limit.
    pub(crate) async fn settle(
        &self,
        frame: &OutgoingFrame,
        mut sent: Option<Acknowledgement>,
    ) -> StreamPublishOutcome {
        let place = frame.place;
        let mut pause = PAUSE_MIN;
        let mut short = StreamLag::default();
        let mut tries = 0;
        loop {
            if tries == 0 && sent.is_none() {
                sent = self.send(frame).await;
            }
            if let Some(acknowledgement) = sent.take()
                && is_acknowledged(place, acknowledgement.await)
            {
                return StreamPublishOutcome::Acknowledged;
            }
            match self.found(frame).await {
                PlaceContents::Acknowledged => return StreamPublishOutcome::Acknowledged,
                PlaceContents::Message(found) => match FrameHeader::read(&found.payload) {
                    Ok(header) if frame.is(&found, &header) => {
                        return StreamPublishOutcome::Acknowledged;
                    }
                    Ok(header) => return StreamPublishOutcome::Other(header.number),
                    Err(_) => return StreamPublishOutcome::Other(0),
                },
                PlaceContents::Nothing => {
                    if tries > 0
                        && let Some(broken) = self.lost_at(place, &frame.bytes, &mut short).await
                    {
                        return StreamPublishOutcome::Lost(broken);
                    }
                    sent = self.send(frame).await;
                }
            }
            tries += 1;
            if sent.is_none() || tries > 1 {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(PAUSE_MAX);
            }
        }
    }

    /// Content of a frame's place, by the first answer to several reads. Publishes the frame again while reads stay
    /// unanswered, and also ends with its acknowledgement.
    async fn found(&self, frame: &OutgoingFrame) -> PlaceContents {
        let place = frame.place;
        let mut asked = FuturesUnordered::new();
        let mut acknowledged = FuturesUnordered::new();
        let mut ask = interval(ASKED_EVERY);
        let publish_every = self.0.options.publish_timeout.max(ASKED_EVERY);
        let mut publish = interval_at(Instant::now() + publish_every, publish_every);
        publish.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                Some(answer) = acknowledged.next() => if is_acknowledged(place, answer) {
                    return PlaceContents::Acknowledged;
                },
                Some(answer) = asked.next() => match answer {
                    Ok(Some(message)) => return PlaceContents::Message(message),
                    Ok(None) => return PlaceContents::Nothing,
                    Err(error) => tracing::debug!(place, %error, "a frame's place cannot be read"),
                },
                _ = ask.tick() => asked.push(self.stored(place)),
                // Without a connection the client would queue and later send every copy.
                _ = publish.tick() => if self.0.servers.is_connected() {
                    acknowledged.extend(self.send(frame).await);
                },
            }
        }
    }

    /// Whether the place has been empty for so long, although the stream does not end directly before it, that the
    /// stream must have lost frames.
    async fn lost_at(
        &self,
        place: u64,
        bytes: &Bytes,
        short: &mut StreamLag,
    ) -> Option<StreamConflict> {
        let last = self.ends().await.ok()?.last;
        if !short.lasts(last + 1 != place) {
            return None;
        }
        let number = FrameHeader::read(bytes).map_or(0, |header| header.number);
        let (lost, stream) = if last < place {
            let acknowledged = place - 1;
            let what = format!("{last} messages, although it acknowledged {acknowledged}");
            (acknowledged - last, what)
        } else {
            (
                0,
                format!("no message at place {place}, although {last} were published"),
            )
        };
        Some(StreamConflict {
            frame: number.saturating_sub(lost),
            stream,
            log: format!("the frames up to {}", number.saturating_sub(1)),
        })
    }
}
