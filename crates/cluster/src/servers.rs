//! Interface to the servers that carry a log: one stream of messages at places, one bucket of small values with
//! revisions, and transient messages. NATS implements it in production (`nats.rs`). A simulator can replace it, so
//! leading and following run the same code in both (adr/0025).

use std::pin::Pin;
use std::time::SystemTime;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;

use crate::error::StreamError;

/// Answer of the servers. Errors are [`StreamError::Unreachable`] and, for reads of the stream, [`StreamError::Gone`].
pub type ClusterReply<'a, T> = BoxFuture<'a, Result<T, StreamError>>;

/// Place of a published message, once the stream has acknowledged it; or why it did not in time.
pub type Acknowledgement = BoxFuture<'static, Result<u64, String>>;

/// Messages of the stream in order, while a consumer lasts; an error is the last item.
pub type ConsumerMessages =
    Pin<Box<dyn Stream<Item = Result<ConsumerMessage, String>> + Send + Sync>>;

/// First and last place of the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogStreamEnds {
    /// Place of the first message.
    pub first: u64,
    /// Place of the last message; 0 before the first.
    pub last: u64,
    /// Number of stored messages.
    pub messages: u64,
}

#[derive(Clone, Debug)]
pub struct OutboundMessage {
    /// A frame.
    pub payload: Bytes,
    /// Refused unless the stream's last message has this place.
    pub expected_last: u64,
    /// The publisher's mark, stored with the message.
    pub candidate: Option<String>,
}

/// A message of the stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogStreamMessage {
    /// A frame.
    pub payload: Bytes,
    /// The publisher's mark.
    pub candidate: Option<String>,
}

/// A message from a consumer.
#[derive(Clone, Debug)]
pub struct ConsumerMessage {
    /// Place in the stream; 0 if the message names none.
    pub place: u64,
    /// A frame.
    pub payload: Bytes,
}

/// A value of the bucket.
#[derive(Clone, Debug)]
pub struct BucketEntry {
    /// `None` if it was removed.
    pub value: Option<Bytes>,
    pub revision: u64,
    /// Storage time by the servers' clock.
    pub created: SystemTime,
}

/// A transient message.
#[derive(Clone, Debug)]
pub struct CoreMessage {
    pub subject: String,
    pub payload: Bytes,
}

/// The servers that carry a log, from one node's view.
pub trait ClusterServers: Send + Sync + 'static {
    /// The stream's ends according to its leader; an error while it has none.
    fn ends(&self) -> ClusterReply<'_, LogStreamEnds>;

    /// The message at a place according to the stream's leader; `None` if there is none.
    fn stored(&self, place: u64) -> ClusterReply<'_, Option<LogStreamMessage>>;

    /// Sends a message to the stream; `None` if sending failed. It may still get into the stream at any later time.
    fn publish(&self, message: OutboundMessage) -> BoxFuture<'_, Option<Acknowledgement>>;

    /// The stream's messages from a place on, with about `bytes_max` in flight. May skip or repeat messages.
    fn consume(&self, from: u64, bytes_max: usize) -> ClusterReply<'_, ConsumerMessages>;

    /// A value of the bucket. The answering server may lag.
    fn entry(&self, key: &'static str) -> ClusterReply<'_, Option<BucketEntry>>;

    /// The values with this key prefix. The answering server may lag.
    fn entries(&self, prefix: &'static str) -> ClusterReply<'_, Vec<BucketEntry>>;

    /// Replaces a value at this revision (0 for none) and returns the new one; `None` if the revision differs.
    fn update(
        &self,
        key: &'static str,
        value: Bytes,
        revision: u64,
    ) -> ClusterReply<'_, Option<u64>>;

    /// Replaces a value unconditionally.
    fn put(&self, key: String, value: Bytes) -> ClusterReply<'_, ()>;

    /// Sends a transient message.
    fn say(&self, subject: String, payload: Bytes) -> ClusterReply<'_, ()>;

    /// Transient messages of a subject; `*` matches any one token.
    fn hear(&self, subject: String) -> ClusterReply<'_, BoxStream<'static, CoreMessage>>;

    /// A unique mark.
    fn new_mark(&self) -> String;

    fn is_connected(&self) -> bool;

    fn reconnect(&self) -> BoxFuture<'_, ()>;
}
