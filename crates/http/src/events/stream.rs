//! One stream of events to one caller. It keeps a position and nothing else: what it sends comes from the
//! organization's tail or, where the tail no longer reaches back that far, from the store.

use std::sync::Arc;
use std::time::Duration;

use kedge_actors::Engine;
use kedge_actors::fair::{Turn, Turns, share};
use kedge_config::Config;
use kedge_protocol::Id;
use kedge_protocol::event::Position;
use kedge_replay::events::{Filter, Span};
use kedge_storage::ReadError;

use crate::auth::api_key::ShownKey;
use crate::clock::now_s;
use crate::error::ApiError;
use crate::limits::{ClientAddress, Holder, Place, Places, Share};
use crate::stream::{Body, WriteError, Writer};
use bytes::{Bytes, BytesMut};
use metrics::{counter, gauge};
use tokio::sync::watch;
use tokio::time::Instant;

use super::tail::{Frame, Tail, Tails};
use crate::metric_definitions::{STREAMS, STREAMS_CUT_OFF};

/// About how many bytes are sent at one time.
const CHUNK_BYTES: usize = 16 * 1024;
/// Events that a stream reads at once while it catches up.
const BEHIND_ROWS: usize = 512;
/// How long a caller whose connection broke should wait before it reconnects, milliseconds.
const RETRY_MS: u64 = 2_000;
/// Streams that send at one time. All of them at once would make the workers late for everybody's requests: each costs a
/// worker a look at the tail and a write to a socket.
const SENDING_MAX: usize = 8;
/// How long a stream keeps its turn until its connection picks up what it sends. It takes longer only if the caller does
/// not read.
const PICK_UP: Duration = Duration::from_millis(20);
/// How long a stream keeps its place at least while its organization and its address hold no more than others. Streams
/// end with their tokens anyway, and resume without a gap.
const PLACE_PATIENCE: Duration = Duration::from_mins(1);

/// All streams.
pub struct Streams {
    engine: Engine,
    tails: Tails,
    places: Places,
    sending: Arc<Turns<Id>>,
    heartbeat: Duration,
    write_timeout: Duration,
    stopping: watch::Sender<bool>,
}

/// The request for a stream.
pub struct Subscription {
    /// The organization whose events are sent.
    pub organization: Id,
    /// The filter of its events.
    pub filter: Filter,
    /// Only events after this position; `None`: only events from now on.
    pub after: Option<Position>,
    /// The wallet that reads, if an access token was shown.
    pub wallet: Option<Id>,
    /// The API key that was shown, if one was.
    pub key: Option<ShownKey>,
    /// The caller's address.
    pub address: ClientAddress,
    /// When the caller's token expires, Unix seconds: the stream ends with it.
    pub until_s: u64,
}

impl Streams {
    /// No streams yet.
    pub fn new(config: &Config, engine: Engine) -> Self {
        let share = |all| share(all, config.organization_share_percent);
        let all = config.streams_max;
        Self {
            tails: Tails::new(engine.clone()),
            engine,
            places: Places::new(Share::Streams, all, share(all), PLACE_PATIENCE),
            sending: Turns::new(SENDING_MAX, share(SENDING_MAX), usize::MAX),
            heartbeat: Duration::from_secs(config.stream_heartbeat_s),
            write_timeout: Duration::from_secs(config.write_timeout_s),
            stopping: watch::Sender::new(false),
        }
    }

    /// Begins a stream, which continues by itself.
    pub fn open(&self, subscription: Subscription) -> Result<Body, ApiError> {
        let holder = Holder::Organization(subscription.organization);
        let place = self.places.take(holder, subscription.address)?;
        let tail = self.tails.join(subscription.organization)?;
        let at = match subscription.after {
            Some(after) => after,
            None => self.engine.published().snapshot.last_position()?,
        };
        let (writer, body) = Body::written(self.write_timeout);
        let stream = Stream {
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
}

struct Stream {
    engine: Engine,
    organization: Id,
    wallet: Option<Id>,
    key: Option<ShownKey>,
    /// The sequence at which the wallet was last found to be a member.
    member_at: u64,
    filter: Filter,
    tail: Arc<Tail>,
    sending: Arc<Turns<Id>>,
    heartbeat: Duration,
    writer: Writer,
    /// Everything up to here has been sent, or is filtered out.
    at: Position,
}

/// Why a stream ends.
#[derive(Debug, thiserror::Error)]
enum End {
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
    Read(#[from] ReadError),
    #[error("an event could not be written: {0}")]
    Event(#[from] serde_json::Error),
    #[error("the thread that read events ended early: {0}")]
    Thread(#[from] tokio::task::JoinError),
}

impl Stream {
    async fn run(mut self, place: Place, lifetime: Duration, mut stopping: watch::Receiver<bool>) {
        gauge!(STREAMS).increment(1);
        let end = tokio::select! {
            end = self.follow() => end,
            () = tokio::time::sleep(lifetime) => End::TokenExpired,
            () = place.lost() => End::PlaceLost,
            // If there is no sender any more, the server has stopped too.
            _ = stopping.wait_for(|stopping| *stopping) => End::Stopping,
        };
        gauge!(STREAMS).decrement(1);
        let last_words = match &end {
            End::Write(error) => {
                if *error == WriteError::Slow {
                    counter!(STREAMS_CUT_OFF).increment(1);
                }
                return;
            }
            End::Read(_) | End::Event(_) | End::Thread(_) => {
                tracing::error!(error = %end, "an event stream ended early");
                End::Tail.to_string()
            }
            _ => end.to_string(),
        };
        self.writer.finish(format!(": {last_words}\n\n").into());
    }

    /// Sends until the stream has to end.
    async fn follow(&mut self) -> End {
        let mut tail_reached = self.tail.reached();
        let mut lines = format!("retry: {RETRY_MS}\n");
        loop {
            // A block without data only moves the position at which a client resumes. Nobody can
            // resume at a position that the log has not reached.
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
                        Err(_) => return End::Tail,
                    },
                    () = tokio::time::sleep_until(quiet_until) => break,
                    () = self.writer.gone() => return WriteError::Gone.into(),
                }
            }
            lines = String::from(": \n");
        }
    }

    /// Refuses to send more to a wallet that was removed from its organization, or for a key that has ended.
    fn check_caller(&mut self) -> Result<(), End> {
        let published = self.engine.published();
        if self
            .key
            .as_ref()
            .is_some_and(|key| !key.is_valid(&published))
        {
            return Err(End::KeyEnded);
        }
        let Some(wallet) = self
            .wallet
            .filter(|_| self.member_at <= published.keys_changed_at)
        else {
            return Ok(());
        };
        let wallet = published.snapshot.wallet(wallet)?;
        if wallet.is_none_or(|wallet| wallet.is_removed()) {
            return Err(End::Removed);
        }
        self.member_at = published.head.sequence + 1;
        Ok(())
    }

    /// Waits for a turn at sending. The caller has read what was sent before, so that nobody waits for a caller that
    /// does not read.
    async fn turn(&self) -> Result<Turn<Id>, End> {
        self.writer.ready().await?;
        match self.sending.take(self.organization).await {
            Ok(turn) => Ok(turn),
            Err(_) => unreachable!("any number may wait for a turn"),
        }
    }

    /// Sends a piece. The turn lasts until the connection has picked it up and writes it. If it ended earlier, the
    /// connections of all streams would be woken at once.
    async fn send(&self, chunk: Bytes, turn: Turn<Id>) -> Result<(), End> {
        self.writer.write(chunk).await?;
        let _picked_up = tokio::time::timeout(PICK_UP, self.writer.picked_up()).await;
        drop(turn);
        Ok(())
    }

    /// Sends lines that are no events.
    async fn send_lines(&self, lines: String) -> Result<(), End> {
        let turn = self.turn().await?;
        self.send(lines.into(), turn).await
    }

    /// Sends everything up to where the tail is; true if there was anything.
    async fn catch_up(
        &mut self,
        tail_reached: &mut watch::Receiver<Position>,
    ) -> Result<bool, End> {
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

    /// The next events that the tail no longer holds, read on another thread: many streams that catch up would leave the
    /// workers no time for requests.
    async fn read_behind(&self) -> Result<(Bytes, Position), End> {
        let (engine, organization) = (self.engine.clone(), self.organization);
        let (filter, at) = (self.filter.clone(), self.at);
        let read = move || read_behind(&engine, organization, &filter, at);
        tokio::task::spawn_blocking(read).await?
    }
}

fn read_behind(
    engine: &Engine,
    organization: Id,
    filter: &Filter,
    at: Position,
) -> Result<(Bytes, Position), End> {
    let published = engine.published();
    let snapshot = &published.snapshot;
    let span = Span {
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
    let frames: Result<Vec<Frame>, _> = piece.events.iter().map(Frame::of).collect();
    Ok((joined(frames?.iter()), reached))
}

/// The lines of some frames; a single frame is not copied.
fn joined<'a>(frames: impl Iterator<Item = &'a Frame>) -> Bytes {
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
