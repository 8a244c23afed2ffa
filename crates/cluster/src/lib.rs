//! One log on several nodes. A replicated stream of NATS JetStream carries its frames, one message each, and every node
//! also keeps the whole log in its own segments.
//!
//! **A frame is published first and written locally second.** A node's segments hold only frames of the stream, so a
//! replaced leader has nothing to truncate. Each publish names the expected place (`Nats-Expected-Last-Sequence`), so
//! at most one message gets a place, and publishing the same bytes again is safe. The stream alone decides who leads;
//! the [`Lease`] only says who should try.
//!
//! - [`Cluster`]: a connection, which creates or checks the stream, reads it, and begins terms.
//! - [`StreamFollower`]: reads the stream's frames in order, and checks that each continues the previous one.
//! - [`ReplicatedLog`]: the [`Log`](kedge_log::Log) of a node; [`LeadSwitch`] enables and disables appending.
//! - [`LeaderRequests`], [`Cluster::ask`]: requests to the leader.
//! - [`Lease`], [`ClusterMember`]: the leader and the known nodes.
//! - [`ClusterServers`]: the servers that carry the log: NATS, or a simulator's.
//! - [`Cluster::reseed`]: recreates the stream from a node's own segments.

mod connection;
mod error;
mod file_contents;
mod health;
mod leader_requests;
mod lease;
mod members;
pub mod metric_definitions;
mod monitors;
mod nats;
pub mod node;
mod options;
mod publication;
mod reconnection;
mod replicated_log;
mod reseed;
mod servers;
mod settings;
mod stream;
mod stream_follower;
mod sync_reports;

pub use connection::Cluster;
pub use error::{ConnectError, LeadTermError, ReseedError, StreamConflict, StreamError};
pub use health::ClusterHealth;
pub use leader_requests::{LeaderRequest, LeaderRequestError, LeaderRequests};
pub use lease::{Lease, LeaseHolder, LeaseObservation};
pub use members::ClusterMember;
pub use options::ClusterOptions;
pub use replicated_log::{LeadState, LeadSwitch, ReplicatedLog};
pub use reseed::ReseedSummary;
pub use servers::{
    Acknowledgement, BucketEntry, ClusterReply, ClusterServers, ConsumerMessage, ConsumerMessages,
    CoreMessage, LogStreamEnds, LogStreamMessage, OutboundMessage,
};
pub use stream::{StreamTailFrame, TermFrame};
pub use stream_follower::StreamFollower;
pub use sync_reports::SyncedPosition;
