//! Simulated servers of the log: one stream and one bucket with an authoritative state, and messages in transit. They
//! lose, repeat and delay messages, and show a node an old state. They keep their promises: a message gets a position
//! only if it expected that position, and acknowledged messages stay. `bucket` has the values.

mod bucket;

use std::collections::BTreeMap;
use std::mem::take;

use bytes::Bytes;
use kedge_cluster::{ConsumerMessage, CoreMessage, LogStreamEnds, LogStreamMessage};
use kedge_log::FrameHeader;
use kedge_protocol::Hash;
use tokio::sync::{mpsc, oneshot};

use self::bucket::BucketRevision;
use super::rates::ClusterFaultRates;
use crate::random::{RunTrace, SimulationRandom};

/// A consumer whose servers are out of reach for this long fails.
const HEARTBEATS_MS: u64 = 1_000;

type DelayedEffect = Box<dyn FnOnce(&mut SimulatedServers) + Send>;

/// Kind of a request, as faults distinguish them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ServersRequestKind {
    /// Reads or consumes the stream.
    Read,
    /// Publishes to the stream.
    Publish,
    /// Reads the bucket.
    ReadBucket,
    /// Writes to the bucket.
    WriteBucket,
    /// Sends a message that is not stored.
    Say,
}

/// Faults between a node and the servers.
#[derive(Clone, Copy, Default)]
struct LinkFaults {
    /// Until then, no server is reachable.
    split_until: u64,
    /// Until then, the reachable servers end with these messages and values.
    stale_until: u64,
    stale_at: (usize, usize),
}

struct SimulatedConsumer {
    node: usize,
    /// The index of the next message.
    next: usize,
    sender: mpsc::UnboundedSender<Result<ConsumerMessage, String>>,
    silent_until: u64,
    cut_since: Option<u64>,
}

struct SubjectSubscription {
    node: usize,
    subject: String,
    sender: mpsc::UnboundedSender<CoreMessage>,
}

/// The last frame of the stream.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct SimulatedTail {
    pub(super) frame: u64,
    /// Sequence of its last action.
    pub(super) sequence: u64,
    pub(super) term: u64,
}

pub(super) struct SimulatedServers {
    pub(super) now_ms: u64,
    random: SimulationRandom,
    /// Chooses the servers that answer reads of the bucket.
    lagging: SimulationRandom,
    rates: ClusterFaultRates,
    trace: RunTrace,
    stream: Vec<LogStreamMessage>,
    /// Hash and end of each frame.
    frames: Vec<(Hash, SimulatedTail)>,
    bucket: Vec<BucketRevision>,
    events: BTreeMap<(u64, u64), DelayedEffect>,
    /// Counter of events, marks and the like.
    number: u64,
    links: Vec<LinkFaults>,
    consumers: Vec<SimulatedConsumer>,
    subscriptions: Vec<SubjectSubscription>,
    outage_until: u64,
    no_bucket_until: u64,
}

impl SimulatedServers {
    pub(super) fn new(seed: u64, rates: ClusterFaultRates, nodes: usize) -> Self {
        Self {
            now_ms: 0,
            random: SimulationRandom::new(seed, 11),
            lagging: SimulationRandom::new(seed, 16),
            rates,
            trace: RunTrace::default(),
            stream: Vec::new(),
            frames: Vec::new(),
            bucket: Vec::new(),
            events: BTreeMap::new(),
            number: 0,
            links: vec![LinkFaults::default(); nodes],
            consumers: Vec::new(),
            subscriptions: Vec::new(),
            outage_until: 0,
            no_bucket_until: 0,
        }
    }

    /// Advances the time: everything due happens.
    pub(super) fn step(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        while let Some(first) = self.events.first_entry()
            && first.key().0 <= now_ms
        {
            first.remove()(self);
        }
        let mut consumers = take(&mut self.consumers);
        consumers.retain_mut(|consumer| self.bring(consumer));
        self.consumers.append(&mut consumers);
        let subscriptions = &mut self.subscriptions;
        subscriptions.retain(|subscription| !subscription.sender.is_closed());
    }

    /// Ends all faults.
    pub(super) fn calm_down(&mut self) {
        self.rates = ClusterFaultRates::none();
        (self.outage_until, self.no_bucket_until) = (0, 0);
        self.links.fill(LinkFaults::default());
        for consumer in &mut self.consumers {
            consumer.silent_until = 0;
        }
    }

    pub(super) fn trace(&self) -> RunTrace {
        self.trace
    }

    /// A unique mark.
    pub(super) fn mark(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// The hash of a frame of the stream, and the log's end with it.
    pub(super) fn frame(&self, number: u64) -> Option<(Hash, SimulatedTail)> {
        let index = number.checked_sub(1)?;
        self.frames.get(index as usize).copied()
    }

    /// The end of the stream.
    pub(super) fn end(&self) -> SimulatedTail {
        self.frames
            .last()
            .map_or(SimulatedTail::default(), |frame| frame.1)
    }

    pub(super) fn frames(&self) -> impl Iterator<Item = &Bytes> {
        self.stream.iter().map(|stored| &stored.payload)
    }

    pub(super) fn split(&mut self, node: usize, until_ms: u64) {
        self.links[node].split_until = until_ms;
    }

    pub(super) fn make_stale(&mut self, node: usize, until_ms: u64, back: u64) {
        let back_to = |length: usize| length.saturating_sub(back as usize);
        let stale_at = (back_to(self.stream.len()), back_to(self.bucket.len()));
        let link = &mut self.links[node];
        (link.stale_until, link.stale_at) = (until_ms, stale_at);
    }

    /// Connects a node to other servers.
    pub(super) fn reconnect(&mut self, node: usize) {
        self.links[node].stale_until = 0;
    }

    pub(super) fn go_out(&mut self, until_ms: u64) {
        self.outage_until = until_ms;
    }

    pub(super) fn lose_bucket(&mut self, until_ms: u64) {
        self.no_bucket_until = until_ms;
    }

    fn at(&mut self, in_ms: u64, event: DelayedEffect) {
        self.number += 1;
        let key = (self.now_ms + in_ms, self.number);
        self.events.insert(key, event);
    }

    /// Draws the transit time of a message; `None` if it gets lost.
    fn way(&mut self, lost: u64) -> Option<u64> {
        let (random, rates) = (&mut self.random, &self.rates);
        let mut way_ms = 1 + random.below(rates.way_ms_max);
        if random.chance(lost) {
            return None;
        }
        if random.chance(rates.late) {
            way_ms += random.below(rates.late_ms_max);
        }
        Some(way_ms)
    }

    /// Time until which a node's requests of this kind are blocked; 0 if they are not.
    fn blocked_until(&self, node: usize, kind: ServersRequestKind) -> u64 {
        let link = self.links[node];
        let stores = matches!(
            kind,
            ServersRequestKind::Publish | ServersRequestKind::WriteBucket
        );
        let bucket = matches!(
            kind,
            ServersRequestKind::ReadBucket | ServersRequestKind::WriteBucket
        );
        let until = [
            link.split_until,
            self.outage_until,
            if stores { link.stale_until } else { 0 },
            if bucket { self.no_bucket_until } else { 0 },
        ];
        let latest = until.into_iter().max().unwrap_or(0);
        if latest > self.now_ms { latest } else { 0 }
    }

    /// Whether a node reaches servers.
    pub(super) fn reaches(&self, node: usize) -> bool {
        self.blocked_until(node, ServersRequestKind::Read) == 0
    }

    /// Sends a node's request. The waiting node gets no answer if one of the messages is lost.
    pub(super) fn ask<T: Send + 'static>(
        &mut self,
        (node, kind): (usize, ServersRequestKind),
        reply: oneshot::Sender<T>,
        work: impl FnOnce(&mut Self) -> T + Send + 'static,
    ) {
        let there = self.way(self.rates.lost);
        let back = self.way(self.rates.answer_lost);
        let numbers = [self.now_ms, node as u64, kind as u64];
        self.trace.note("ask", &numbers);
        self.trace
            .note("way", &[there.unwrap_or(0), back.unwrap_or(0)]);
        if let Some(there) = there {
            let arrived =
                move |servers: &mut Self| servers.arrived((node, kind), reply, work, back);
            self.at(there, Box::new(arrived));
        }
    }

    fn arrived<T: Send + 'static>(
        &mut self,
        (node, kind): (usize, ServersRequestKind),
        reply: oneshot::Sender<T>,
        work: impl FnOnce(&mut Self) -> T + Send + 'static,
        back: Option<u64>,
    ) {
        let until = self.blocked_until(node, kind);
        if until > 0 {
            if self.random.chance(self.rates.held) {
                let later = until - self.now_ms + self.random.below(100);
                let again =
                    move |servers: &mut Self| servers.arrived((node, kind), reply, work, back);
                self.at(later.max(1), Box::new(again));
            }
            return;
        }
        let answer = work(self);
        let Some(back) = back else { return };
        let answered = move |servers: &mut Self| {
            if servers.reaches(node) {
                // The sender may have given up.
                let _ = reply.send(answer);
            }
        };
        self.at(back, Box::new(answered));
    }

    /// Publishes a message that has arrived. Returns its position, or the reason for refusing it.
    pub(super) fn publish(
        &mut self,
        message: &LogStreamMessage,
        expected_last: u64,
    ) -> Result<u64, String> {
        let last = self.stream.len() as u64;
        if expected_last != last {
            return Err(format!("wrong last sequence: {last}"));
        }
        let numbers = match FrameHeader::read(&message.payload) {
            Ok(header) => {
                let sequence = header.first_sequence + u64::from(header.actions) - 1;
                let (frame, term) = (header.number, header.term);
                let end = SimulatedTail {
                    frame,
                    sequence,
                    term,
                };
                self.frames.push((header.hash(), end));
                [frame, term, sequence]
            }
            Err(_) => [0; 3],
        };
        self.trace.note("published", &numbers);
        self.stream.push(message.clone());
        Ok(last + 1)
    }

    /// Draws whether a message to the stream arrives twice.
    pub(super) fn repeats(&mut self) -> bool {
        self.random.chance(self.rates.twice)
    }

    /// Number of messages and values that a node sees.
    fn seen(&self, node: usize) -> (usize, usize) {
        let link = self.links[node];
        if link.stale_until > self.now_ms {
            return link.stale_at;
        }
        (self.stream.len(), self.bucket.len())
    }

    pub(super) fn ends(&self, node: usize) -> LogStreamEnds {
        let last = self.seen(node).0 as u64;
        LogStreamEnds {
            first: last.min(1),
            last,
            messages: last,
        }
    }

    pub(super) fn stored(&self, node: usize, place: u64) -> Option<LogStreamMessage> {
        let index = place.checked_sub(1)? as usize;
        let seen = &self.stream[..self.seen(node).0];
        seen.get(index).cloned()
    }

    /// Starts a consumer at a position.
    pub(super) fn consume(
        &mut self,
        node: usize,
        from: u64,
    ) -> mpsc::UnboundedReceiver<Result<ConsumerMessage, String>> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.consumers.push(SimulatedConsumer {
            node,
            next: from.saturating_sub(1) as usize,
            sender,
            silent_until: 0,
            cut_since: None,
        });
        receiver
    }

    /// Delivers new messages to a consumer; false if it has ended.
    fn bring(&mut self, consumer: &mut SimulatedConsumer) -> bool {
        if consumer.sender.is_closed() {
            return false;
        }
        let now_ms = self.now_ms;
        if !self.reaches(consumer.node) {
            let since = *consumer.cut_since.get_or_insert(now_ms);
            if now_ms - since < HEARTBEATS_MS {
                return true;
            }
            let _ = consumer.sender.send(Err("no heartbeats".to_owned()));
            return false;
        }
        consumer.cut_since = None;
        let seen = self.seen(consumer.node).0;
        while consumer.next < seen && consumer.silent_until <= now_ms {
            let (random, rates) = (&mut self.random, &self.rates);
            if random.chance(rates.consumer_ends) {
                let _ = consumer.sender.send(Err("the consumer is gone".to_owned()));
                return false;
            }
            if random.chance(rates.silent) {
                consumer.silent_until = now_ms + random.below(8_000);
                break;
            }
            // Only if the next message reveals the skipped one.
            if consumer.next + 1 < seen && random.chance(rates.skip) {
                consumer.next += 1;
            }
            let is_repeated = consumer.next > 0 && random.chance(rates.repeat);
            let first = consumer.next - usize::from(is_repeated);
            for index in first..=consumer.next {
                let _ = consumer.sender.send(Ok(ConsumerMessage {
                    place: index as u64 + 1,
                    payload: self.stream[index].payload.clone(),
                }));
            }
            consumer.next += 1;
        }
        true
    }

    /// Subscribes a node to unstored messages of a subject.
    pub(super) fn hear(
        &mut self,
        node: usize,
        subject: String,
    ) -> mpsc::UnboundedReceiver<CoreMessage> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.subscriptions.push(SubjectSubscription {
            node,
            subject,
            sender,
        });
        receiver
    }

    /// Delivers an unstored message.
    pub(super) fn said(&mut self, subject: &str, payload: &Bytes) {
        for index in 0..self.subscriptions.len() {
            let to = &self.subscriptions[index];
            if !matches(&to.subject, subject) || !self.reaches(to.node) {
                continue;
            }
            let (sender, node) = (to.sender.clone(), to.node);
            let heard = CoreMessage {
                subject: subject.to_owned(),
                payload: payload.clone(),
            };
            if let Some(way) = self.way(self.rates.lost) {
                let arrives = move |servers: &mut Self| {
                    if servers.reaches(node) {
                        // The node may have ended.
                        let _ = sender.send(heard);
                    }
                };
                self.at(way, Box::new(arrives));
            }
        }
    }
}

/// Whether a subject matches a pattern; `*` stands for any one part.
fn matches(pattern: &str, subject: &str) -> bool {
    let (mut parts, mut of) = (pattern.split('.'), subject.split('.'));
    loop {
        match (parts.next(), of.next()) {
            (None, None) => return true,
            (Some(part), Some(of)) if part == "*" || part == of => {}
            _ => return false,
        }
    }
}
