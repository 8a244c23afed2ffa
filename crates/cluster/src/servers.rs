//! What carries a log, as far as this crate uses it: one stream of messages at places, one bucket of small values with
//! revisions, and messages that nobody keeps. NATS does in production (`nats.rs`); a simulator can take its place, so that
//! the code that leads and follows is the same in both (adr/0025).

use std::pin::Pin;
use std::time::SystemTime;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;

use crate::error::StreamError;

/// An answer of the servers. Its errors are [`StreamError::Unreachable`] and, of what reads the stream,
/// [`StreamError::Gone`].
pub type Answer<'a, T> = BoxFuture<'a, Result<T, StreamError>>;

/// The place that a published message got, once the stream has acknowledged it; or why it did not in time.
pub type Acknowledgement = BoxFuture<'static, Result<u64, String>>;

/// Messages of the stream in order, for as long as a consumer lasts; an error, or the end, is its last item.
pub type Arriving = Pin<Box<dyn Stream<Item = Result<Arrived, String>> + Send + Sync>>;

/// Where the stream begins and ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ends {
    /// The place of its first message.
    pub first: u64,
    /// The place of its last message; 0 before the first.
    pub last: u64,
    /// How many messages it holds.
    pub messages: u64,
}

/// A message to publish.
#[derive(Clone, Debug)]
pub struct Outbound {
    /// A frame.
    pub payload: Bytes,
    /// The message is refused unless the stream's last message has this place.
    pub expected_last: u64,
    /// A mark of whoever publishes it, which is kept with it.
    pub candidate: Option<String>,
}

/// A message of the stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stored {
    /// A frame.
    pub payload: Bytes,
    /// The mark of whoever published it.
    pub candidate: Option<String>,
}

/// A message that a consumer brings.
#[derive(Clone, Debug)]
pub struct Arrived {
    /// Its place in the stream; 0 if it names none.
    pub place: u64,
    /// A frame.
    pub payload: Bytes,
}

/// A value of the bucket.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The value; `None` if it was removed.
    pub value: Option<Bytes>,
    /// Its revision.
    pub revision: u64,
    /// When the servers stored it, by their clock.
    pub created: SystemTime,
}

/// A message that nobody keeps.
#[derive(Clone, Debug)]
pub struct Heard {
    /// What it was sent to.
    pub subject: String,
    /// What it states.
    pub payload: Bytes,
}

/// The servers that carry a log, as one node reaches them.
pub trait Servers: Send + Sync + 'static {
    /// Where the stream begins and ends, as its leader states it; an error while it has none.
    fn ends(&self) -> Answer<'_, Ends>;

    /// The message at a place, as the stream's leader has it; `None` if there is none.
    fn stored(&self, place: u64) -> Answer<'_, Option<Stored>>;

    /// Sends a message to the stream; `None` if it could not be sent. It may get into the stream at any later time.
    fn publish(&self, message: Outbound) -> BoxFuture<'_, Option<Acknowledgement>>;

    /// The stream's messages from a place on, with about so many bytes on their way. It may leave messages out or repeat
    /// them.
    fn consume(&self, from: u64, bytes_max: usize) -> Answer<'_, Arriving>;

    /// A value of the bucket. The server that answers may lag.
    fn entry(&self, key: &'static str) -> Answer<'_, Option<Entry>>;

    /// The values whose keys begin like this. The server that answers may lag.
    fn entries(&self, prefix: &'static str) -> Answer<'_, Vec<Entry>>;

    /// Replaces a value that is at this revision, 0 for none, and returns the new one; `None` if it is at another.
    fn update(&self, key: &'static str, value: Bytes, revision: u64) -> Answer<'_, Option<u64>>;

    /// Replaces a value.
    fn put(&self, key: String, value: Bytes) -> Answer<'_, ()>;

    /// Sends a message that nobody keeps.
    fn say(&self, subject: String, payload: Bytes) -> Answer<'_, ()>;

    /// The messages that nobody keeps, on a subject; `*` stands for any one part of it.
    fn hear(&self, subject: String) -> Answer<'_, BoxStream<'static, Heard>>;

    /// A mark that nobody else has.
    fn new_mark(&self) -> String;

    /// Whether a server is connected.
    fn is_connected(&self) -> bool;

    /// Connects to another server.
    fn reconnect(&self) -> BoxFuture<'_, ()>;
}
