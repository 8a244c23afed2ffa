//! One log on several nodes. Its frames are in a replicated stream of NATS JetStream, one message a frame, and every node
//! keeps the whole log in its own segments too.
//!
//! **A frame is published first and written locally second.** A node's own segments hold only frames that the stream
//! holds, so a leader that lost its place has nothing to cut. Each publish names the place that it expects
//! (`Nats-Expected-Last-Sequence`), so at most one message ever gets a place, and publishing the same bytes again is
//! safe. The stream alone decides who leads; the [`Lease`] only says who should try.
//!
//! - [`Cluster`]: a connection. It makes or checks the stream, reads it, and begins terms.
//! - [`Following`]: the stream's frames in order, each checked to continue the one before.
//! - [`ReplicatedLog`]: the [`Log`](kedge_log::Log) of a node; [`Leading`] turns its appending on and off.
//! - [`Questions`]: what other nodes ask the leader, and [`Cluster::ask`].
//! - [`Lease`], [`Member`]: who leads, and who is there.
//! - [`Servers`]: what carries the log. It is NATS, or a simulator's.
//! - [`Cluster::reseed`]: makes the stream again from a node's own segments.

mod asking;
mod connection;
mod contents;
mod error;
mod following;
mod health;
mod lease;
mod members;
pub mod metric_definitions;
mod monitors;
mod nats;
pub mod node;
mod options;
mod publishing;
mod replicated;
mod reseed;
mod roaming;
mod servers;
mod settings;
mod stream;
mod synced;

pub use asking::{AskError, Question, Questions};
pub use connection::Cluster;
pub use error::{Broken, ConnectError, LeadError, ReseedError, StreamError};
pub use following::Following;
pub use health::Health;
pub use lease::{Holder, Lease, LeaseSeen};
pub use members::Member;
pub use options::ClusterOptions;
pub use replicated::{Lead, Leading, ReplicatedLog};
pub use reseed::Reseeded;
pub use servers::{
    Acknowledgement, Answer, Arrived, Arriving, Ends, Entry, Heard, Outbound, Servers, Stored,
};
pub use stream::{Tail, TermFrame};
pub use synced::Synced;
