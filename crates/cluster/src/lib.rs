//! One log on several nodes. A replicated stream of NATS JetStream carries its frames, one message each, and every node
//! also keeps the whole log in its own segments.
//!
//! **A frame is published first and written locally second.** A node's segments hold only frames of the stream, so a
//! replaced leader has nothing to truncate. Each publish names the expected place (`Nats-Expected-Last-Sequence`), so
//! at most one message gets a place, and publishing the same bytes again is safe. The stream alone decides who leads;
//! the [`Lease`] only says who should try.
//!
//! - [`Cluster`]: a connection, which creates or checks the stream, reads it, and begins terms.
//! - [`Following`]: reads the stream's frames in order, and checks that each continues the previous one.
//! - [`ReplicatedLog`]: the [`Log`](kedge_log::Log) of a node; [`Leading`] enables and disables appending.
//! - [`Questions`], [`Cluster::ask`]: requests to the leader.
//! - [`Lease`], [`Member`]: the leader and the known nodes.
//! - [`Servers`]: the servers that carry the log: NATS, or a simulator's.
//! - [`Cluster::reseed`]: recreates the stream from a node's own segments.

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
