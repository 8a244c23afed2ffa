//! Recreation of the stream from a node's own segments: after the loss of the servers' data, after damage, or to
//! convert a single node's log. All nodes must be stopped.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use kedge_log::{LogReadError, LogReader};

use crate::connection::Cluster;
use crate::error::{ReseedError, StreamError};
use crate::publication::{OutgoingFrame, StreamPublishOutcome};
use crate::servers::Acknowledgement;
use crate::settings;

/// Limits of frames and bytes in flight.
const IN_FLIGHT_MAX: usize = 64;
const IN_FLIGHT_BYTES_MAX: usize = 16 << 20;
/// Time limit per frame.
const PATIENCE: Duration = Duration::from_mins(1);

/// A recreated stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReseedSummary {
    /// First frame.
    pub first: u64,
    /// Last frame.
    pub last: u64,
    /// Bytes of all frames.
    pub bytes: u64,
}

struct ReseedFrame {
    frame: OutgoingFrame,
    acknowledgement: Option<Acknowledgement>,
}

impl Cluster {
    /// Deletes and recreates the stream, and publishes every frame of a log from `from` on, in order. A node with fewer
    /// than `from - 1` frames then needs a copy of another node's data. `force` permits a stream that is broken or has
    /// frames that the log lacks. `progress` receives the last acknowledged frame. Reads the log on the calling thread.
    ///
    /// # Errors
    /// [`ReseedError`]. The stream is unchanged except after [`ReseedError::Engine`], [`ReseedError::Connect`] and
    /// [`ReseedError::Read`], which require a repetition.
    pub async fn reseed(
        &self,
        reader: &LogReader,
        from: u64,
        force: bool,
        mut progress: impl FnMut(u64),
    ) -> Result<ReseedSummary, ReseedError> {
        let last = reader.position().frame;
        let first = reader.first_frame();
        if !(first..=last).contains(&from) {
            return Err(ReseedError::From { from, first, last });
        }
        self.nobody_leads().await?;
        if !force {
            self.holds_all(reader).await?;
        }
        self.make_again().await?;
        let mut sent: VecDeque<ReseedFrame> = VecDeque::new();
        let mut done = ReseedSummary {
            first: from,
            last,
            bytes: 0,
        };
        for (frame, number) in reader.frames(from).zip(from..=last) {
            let frame = frame?;
            let bytes = Bytes::from(frame.for_others());
            done.bytes += bytes.len() as u64;
            let waiting = |sent: &VecDeque<ReseedFrame>| {
                sent.iter().map(|one| one.frame.bytes.len()).sum::<usize>()
            };
            while sent.len() >= IN_FLIGHT_MAX
                || (waiting(&sent) + bytes.len() > IN_FLIGHT_BYTES_MAX && !sent.is_empty())
            {
                progress(self.acknowledged(&mut sent, from).await?);
            }
            let frame = OutgoingFrame {
                place: number - from + 1,
                bytes,
                hash: frame.header().hash(),
                candidate: None,
            };
            // Several are in flight, as there is no other publisher.
            let acknowledgement = self.send(&frame).await;
            sent.push_back(ReseedFrame {
                frame,
                acknowledgement,
            });
        }
        while !sent.is_empty() {
            progress(self.acknowledged(&mut sent, from).await?);
        }
        self.holds_all(reader).await?;
        Ok(done)
    }

    /// Waits for the first frame's acknowledgement; returns its number.
    async fn acknowledged(
        &self,
        sent: &mut VecDeque<ReseedFrame>,
        from: u64,
    ) -> Result<u64, ReseedError> {
        let Some(one) = sent.pop_front() else {
            return Ok(from);
        };
        let number = one.frame.place - 1 + from;
        let settling = self.settle(&one.frame, one.acknowledgement);
        let why = match tokio::time::timeout(PATIENCE, settling).await {
            Ok(StreamPublishOutcome::Acknowledged) => return Ok(number),
            Ok(StreamPublishOutcome::Other(other)) => {
                format!("frame {other} of another node came in between")
            }
            Ok(StreamPublishOutcome::Lost(broken)) => broken.to_string(),
            Err(_) => format!("no acknowledgement within {PATIENCE:?}"),
        };
        let what = format!("frame {number} was not published");
        Err(ReseedError::Engine { what, why })
    }

    /// Checks for the duration of a lease that no node renews it.
    async fn nobody_leads(&self) -> Result<(), ReseedError> {
        let lease = self.lease();
        let before = lease.read().await?;
        tokio::time::sleep(self.0.options.lease).await;
        let after = lease.read().await?;
        match after.holder {
            Some(holder) if after.revision != before.revision => {
                Err(ReseedError::Running { node: holder.node })
            }
            _ => Ok(()),
        }
    }

    /// Checks that the log holds every frame of the stream. The last one suffices, because each frame names its
    /// predecessor.
    async fn holds_all(&self, reader: &LogReader) -> Result<(), ReseedError> {
        let Some(tail) = self.tail().await? else {
            return Ok(());
        };
        let lacks = |log: String| ReseedError::Lacks {
            frame: tail.number,
            stream: tail.hash,
            log,
        };
        match reader.frame(tail.number) {
            Ok(Some(frame)) if frame.header().hash() == tail.hash => Ok(()),
            Ok(Some(frame)) => Err(lacks(format!("its hash is {}", frame.header().hash()))),
            Ok(None) => Err(lacks(format!(
                "it ends at frame {}",
                reader.position().frame
            ))),
            Err(LogReadError::Missing { first_frame, .. }) => {
                Err(lacks(format!("it begins with frame {first_frame}")))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn make_again(&self) -> Result<(), ReseedError> {
        let inner = &self.0;
        let context = &inner.nats()?.context;
        let deleted = context.delete_stream(inner.options.stream()).await;
        deleted.map_err(|error| ReseedError::Engine {
            what: "the stream was not deleted".to_owned(),
            why: error.to_string(),
        })?;
        *inner.offset.lock() = None;
        settings::stream(context, &inner.options, &inner.identity).await?;
        match self.tail().await? {
            None => Ok(()),
            Some(tail) => Err(StreamError::Unreachable(format!(
                "the new stream has frame {} already",
                tail.number
            ))
            .into()),
        }
    }
}
