//! One event stream. Its only state is a position: events come from the organization's tail or, if that no longer
//! reaches back far enough, from the store.

use std::sync::Arc;
use std::time::Duration;

use kedge_actors::Engine;
use kedge_actors::fair::{FairPermit, FairQueue, share};
use kedge_config::Config;
use kedge_protocol::Id;
use kedge_protocol::event::EventPosition;
use kedge_replay::events::{EventFilter, EventSpan};
use kedge_storage::StoreReadError;

use crate::auth::api_key::PresentedKey;
use crate::clock::now_s;
use crate::error::ApiResult;
use crate::limits::{ClientAddress, ShareHolder, ShareKind, SharePool, ShareSlot};
use crate::stream::{BodyWriter, ReplyBody, WriteError};
use bytes::{Bytes, BytesMut};
use metrics::{counter, gauge};
use tokio::sync::watch;
use tokio::time::Instant;

use super::tail::{EventFrame, EventTail, EventTails};
use crate::metric_definitions::{STREAMS, STREAMS_CUT_OFF};

/// Approximate bytes of one send.
const CHUNK_BYTES: usize = 16 * 1024;
/// Events read from the store in one step.
const BEHIND_ROWS: usize = 512;
/// Reconnection delay for clients, milliseconds.
const RETRY_MS: u64 = 2_000;
/// Streams that send concurrently. More would delay all requests, since each costs a worker a look at the tail and a
/// write to a socket.
const SENDING_MAX: usize = 8;
/// Time for which a stream keeps its sending permit while its connection picks up a chunk. It takes longer only if the
/// caller does not read.
const PICK_UP: Duration = Duration::from_millis(20);
/// Time for which a stream is sure of its place while its organization and address hold no more than others. Streams
/// end with their tokens anyway, and resume without a gap.
const PLACE_PATIENCE: Duration = Duration::from_mins(1);

pub struct EventStreams {
    engine: Engine,
    tails: EventTails,
    places: SharePool,
    sending: Arc<FairQueue<Id>>,
    heartbeat: Duration,
    write_timeout: Duration,
    stopping: watch::Sender<bool>,
}

pub struct StreamRequest {
    pub organization: Id,
    pub filter: EventFilter,
    /// Events after this position; `None`: from now on.
    pub after: Option<EventPosition>,
    /// The reading wallet, if an access token was shown.
    pub wallet: Option<Id>,
    pub key: Option<PresentedKey>,
    pub address: ClientAddress,
    /// Expiry of the caller's token, Unix seconds, which ends the stream.
    pub until_s: u64,
}

impl EventStreams {
    pub fn new(config: &Config, engine: Engine) -> Self {
        let share = |all| share(all, config.organization_share_percent);
        let all = config.streams_max;
        Self {
            tails: EventTails::new(engine.clone()),
            engine,
            places: SharePool::new(ShareKind::Streams, all, share(all), PLACE_PATIENCE),
            sending: FairQueue::new(SENDING_MAX, share(SENDING_MAX), usize::MAX),
            heartbeat: Duration::from_secs(config.stream_heartbeat_s),
            write_timeout: Duration::from_secs(config.write_timeout_s),
            stopping: watch::Sender::new(false),
        }
    }

    /// Starts the task of a stream.
    pub fn open(&self, subscription: StreamRequest) -> ApiResult<ReplyBody> {
        let holder = ShareHolder::Organization(subscription.organization);
        let place = self.places.take(holder, subscription.address)?;
        let tail = self.tails.join(subscription.organization)?;
        let at = match subscription.after {
            Some(after) => after,
            None => self.engine.published().snapshot.last_position()?,
        };
        let (writer, body) = ReplyBody::written(self.write_timeout);
        let stream = EventStreamBody {
            engine: self.engine.clone(),
            organization: subscription.organization,
            wallet: subscription.wallet,
            key: subscription.key,
            member_at: 0,
            filter: subscription.filter,
            tail,
            sending: Arc::clone(&self.sending),
            heartbeat: self.heartbeat,
            writer,
            at,
        };
        let lifetime = Duration::from_secs(subscription.until_s.saturating_sub(now_s()));
        tokio::spawn(stream.run(place, lifetime, self.stopping.subscribe()));
        Ok(body)
    }

    /// Ends all streams, including later ones.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Waits until [`Self::stop`] was called.
    pub async fn stopped(&self) {
        // The sender lives as long as this.
        let _ = self
            .stopping
            .subscribe()
            .wait_for(|stopping| *stopping)
            .await;
    }
}

struct EventStreamBody {
    engine: Engine,
    organization: Id,
    wallet: Option<Id>,
    key: Option<PresentedKey>,
    /// Sequence at which the wallet was last found to be a member.
    member_at: u64,
    filter: EventFilter,
    tail: Arc<EventTail>,
    sending: Arc<FairQueue<Id>>,
    heartbeat: Duration,
    writer: BodyWriter,
    /// Everything up to here has been sent or filtered out.
    at: EventPosition,
}

#[derive(Debug, thiserror::Error)]
enum EventStreamEnd {
    #[error("the token has expired; reconnect with a new one")]
    TokenExpired,
    #[error("the wallet was removed from its organization")]
    Removed,
    #[error("the API key is no longer valid")]
    KeyEnded,
    #[error("all streams are in use, and a caller with fewer got this one's place; reconnect")]
    PlaceLost,
    #[error("the server is stopping; reconnect")]
    Stopping,
    #[error("the events could not be read; reconnect")]
    Tail,
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("the store could not be read: {0}")]
    Read(#[from] StoreReadError),
    #[error("an event could not be written: {0}")]
    Event(#[from] serde_json::Error),
    #[error("the thread that read events ended early: {0}")]
    Thread(#[from] tokio::task::JoinError),
}

impl EventStreamBody {
    async fn run(
        mut self,
        place: ShareSlot,
        lifetime: Duration,
        mut stopping: watch::Receiver<bool>,
    ) {
        gauge!(STREAMS).increment(1);
        let end = tokio::select! {
            end = self.follow() => end,
            () = tokio::time::sleep(lifetime) => EventStreamEnd::TokenExpired,
            () = place.lost() => EventStreamEnd::PlaceLost,
            // Without a sender the server has stopped too.
            _ = stopping.wait_for(|stopping| *stopping) => EventStreamEnd::Stopping,
        };
        gauge!(STREAMS).decrement(1);
        let last_words = match &end {
            EventStreamEnd::Write(error) => {
                if *error == WriteError::Slow {
                    counter!(STREAMS_CUT_OFF).increment(1);
                }
                return;
            }
            EventStreamEnd::Read(_) | EventStreamEnd::Event(_) | EventStreamEnd::Thread(_) => {
                tracing::error!(error = %end, "an event stream ended early");
                EventStreamEnd::Tail.to_string()
            }
            _ => end.to_string(),
        };
        self.writer.finish(format!(": {last_words}\n\n").into());
    }

    /// Sends until the stream ends.
    async fn follow(&mut self) -> EventStreamEnd {
        let mut tail_reached = self.tail.reached();
        let mut lines = format!("retry: {RETRY_MS}\n");
        loop {
            // A block without data only moves the position at which a client resumes. The log must have reached that
            // position.
            if self.at.sequence <= self.engine.published().head.sequence {
                lines.push_str(&format!("id: {}\n", self.at));
            }
            lines.push('\n');
            if let Err(end) = self.send_lines(lines).await {
                return end;
            }
            let mut quiet_until = Instant::now() + self.heartbeat;
            loop {
                match self.catch_up(&mut tail_reached).await {
                    Ok(true) => quiet_until = Instant::now() + self.heartbeat,
                    Ok(false) => {}
                    Err(end) => return end,
                }
                tokio::select! {
                    changed = tail_reached.changed() => match changed {
                        Ok(()) => {}
                        Err(_) => return EventStreamEnd::Tail,
                    },
                    () = tokio::time::sleep_until(quiet_until) => break,
                    () = self.writer.gone() => return WriteError::Gone.into(),
                }
            }
            lines = String::from(": \n");
        }
    }

    /// Ends the stream if its wallet was removed or its key revoked.
    fn check_caller(&mut self) -> Result<(), EventStreamEnd> {
        let published = self.engine.published();
        if self
            .key
            .as_ref()
            .is_some_and(|key| !key.is_valid(&published))
        {
            return Err(EventStreamEnd::KeyEnded);
        }
        let Some(wallet) = self
            .wallet
            .filter(|_| self.member_at <= published.keys_changed_at)
        else {
            return Ok(());
        };
        let wallet = published.snapshot.wallet(wallet)?;
        if wallet.is_none_or(|wallet| wallet.is_removed()) {
            return Err(EventStreamEnd::Removed);
        }
        self.member_at = published.head.sequence + 1;
        Ok(())
    }

    /// Waits for a sending permit. The caller has read everything sent before, so no stream waits for a stalled one.
    async fn turn(&self) -> Result<FairPermit<Id>, EventStreamEnd> {
        self.writer.ready().await?;
        match self.sending.take(self.organization).await {
            Ok(turn) => Ok(turn),
            Err(_) => unreachable!("any number may wait for a turn"),
        }
    }

    /// Sends a chunk. The permit is held until the connection has picked it up and writes it; otherwise the connections
    /// of all streams would wake together.
    async fn send(&self, chunk: Bytes, turn: FairPermit<Id>) -> Result<(), EventStreamEnd> {
        self.writer.write(chunk).await?;
        let _picked_up = tokio::time::timeout(PICK_UP, self.writer.picked_up()).await;
        drop(turn);
        Ok(())
    }

    /// Sends lines that are no events.
    async fn send_lines(&self, lines: String) -> Result<(), EventStreamEnd> {
        let turn = self.turn().await?;
        self.send(lines.into(), turn).await
    }

    /// Sends everything up to the end of the tail; true if there was anything.
    async fn catch_up(
        &mut self,
        tail_reached: &mut watch::Receiver<EventPosition>,
    ) -> Result<bool, EventStreamEnd> {
        let mut has_sent = false;
        while self.at < *tail_reached.borrow_and_update() {
            let turn = self.turn().await?;
            self.check_caller()?;
            let (chunk, reached) = match self.tail.take(self.at, CHUNK_BYTES) {
                Some(taken) => {
                    let wanted = taken.frames.iter().map(Arc::as_ref);
                    let wanted = wanted.filter(|frame| frame.is_wanted(&self.filter));
                    (joined(wanted), taken.reached)
                }
                None => self.read_behind().await?,
            };
            if chunk.is_empty() {
                drop(turn);
                tokio::task::yield_now().await;
            } else {
                self.send(chunk, turn).await?;
                has_sent = true;
            }
            if reached == self.at {
                break;
            }
            self.at = reached;
        }
        Ok(has_sent)
    }

    /// The next events that have left the tail, read on another thread: many streams that catch up would otherwise
    /// occupy the workers.
    async fn read_behind(&self) -> Result<(Bytes, EventPosition), EventStreamEnd> {
        let (engine, organization) = (self.engine.clone(), self.organization);
        let (filter, at) = (self.filter.clone(), self.at);
        let read = move || read_behind(&engine, organization, &filter, at);
        tokio::task::spawn_blocking(read).await?
    }
}

fn read_behind(
    engine: &Engine,
    organization: Id,
    filter: &EventFilter,
    at: EventPosition,
) -> Result<(Bytes, EventPosition), EventStreamEnd> {
    let published = engine.published();
    let snapshot = &published.snapshot;
    let span = EventSpan {
        after: Some(at),
        until: None,
        descending: false,
        events_max: BEHIND_ROWS,
        bytes_max: CHUNK_BYTES,
        rows_max: BEHIND_ROWS,
    };
    let piece = kedge_replay::events::read(snapshot, organization, filter, span)?;
    let reached = if piece.ended {
        snapshot.last_position()?.max(at)
    } else {
        piece.reached.unwrap_or(at)
    };
    let frames: Result<Vec<EventFrame>, _> = piece.events.iter().map(EventFrame::of).collect();
    Ok((joined(frames?.iter()), reached))
}

/// Joins the lines of frames; a single frame is not copied.
fn joined<'a>(frames: impl Iterator<Item = &'a EventFrame>) -> Bytes {
    let mut frames = frames.peekable();
    let Some(first) = frames.next() else {
        return Bytes::new();
    };
    if frames.peek().is_none() {
        return first.text.clone();
    }
    let mut joined = BytesMut::from(first.text.as_ref());
    for frame in frames {
        joined.extend_from_slice(&frame.text);
    }
    joined.freeze()
}
