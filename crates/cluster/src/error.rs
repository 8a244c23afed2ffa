//! Errors of the cluster, with their remedies in the texts.

use std::path::PathBuf;

use kedge_log::LogReadError;
use kedge_protocol::Hash;

/// Why a node does not connect.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// An option is wrong.
    #[error("the cluster's option {option}: {why}")]
    Option {
        option: &'static str,
        why: &'static str,
    },
    /// A file cannot be used.
    #[error("{}: {why}", .path.display())]
    File { path: PathBuf, why: String },
    /// No server accepts the connection.
    #[error("no NATS server of {servers} accepts the connection: {why}")]
    Servers {
        servers: String,
        /// Error of the last server.
        why: String,
        /// The servers refuse these credentials, or the addresses are wrong.
        refused: bool,
    },
    /// A request to JetStream failed.
    #[error(
        "{what}: {why}. Check that JetStream is enabled on the servers and that enough of them run"
    )]
    Engine { what: String, why: String },
    /// The stream's settings do not suit this log.
    #[error(
        "the stream {stream} has {setting} {found}, but the log needs {expected}. Change it with the `nats` command, or \
         stop all nodes and make the stream again with `kedge cluster reseed`"
    )]
    Setting {
        stream: String,
        setting: &'static str,
        expected: String,
        found: String,
    },
    /// The stream belongs to another log.
    #[error(
        "the stream {stream} is of another log: it is described as \"{found}\", this log as \"{expected}\". If this \
         is that log, check chain_id and chain_contract. If not, give it another name (cluster_name), or its own NATS \
         account"
    )]
    Identity {
        stream: String,
        expected: String,
        found: String,
    },
    /// The server's messages are too short for the log's frames.
    #[error(
        "the server {server} accepts messages of up to {found} bytes, but a frame may need {needed}. Set `max_payload` \
         to {needed} or more on every server, or lower the log's `frame_bytes_max`"
    )]
    Payload {
        server: String,
        found: usize,
        needed: usize,
    },
    /// A server acknowledges messages before syncing them.
    #[error(
        "the server {server} does not sync before it acknowledges: {found}. By default NATS syncs every two minutes, and \
         a power failure then loses acknowledged messages (Jepsen, NATS 2.12.1). Set `jetstream {{ sync_interval: always \
         }}` on every server (NATS 2.10 or newer), or allow it with `cluster_unsynced_allowed`"
    )]
    Unsynced {
        /// Monitoring URL of the server.
        server: String,
        /// The server's setting.
        found: String,
    },
    /// The servers' sync setting is unknown.
    #[error(
        "whether the servers sync before they acknowledge cannot be read: {why}. Set `http_port` on the servers and name \
         the monitoring URLs of all of them in `cluster_monitors`, or allow it with `cluster_unsynced_allowed`"
    )]
    Monitors {
        why: String,
        /// Whether any monitoring URL is configured.
        named: bool,
    },
}

impl ConnectError {
    /// Whether a retry may succeed, because the cause is not this node's configuration.
    pub fn passes(&self) -> bool {
        match self {
            Self::Servers { refused, .. } => !refused,
            Self::Engine { .. } => true,
            Self::Monitors { named, .. } => *named,
            _ => false,
        }
    }
}

/// The stream contradicts itself or this node's log. Never skipped: the node stops at this frame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "frame {frame} of the stream is broken: the stream holds {stream}, this node's log holds {log}. Nothing of it was \
     applied. Compare the nodes' logs with `kedge verify log`, stop all nodes, and make the stream again from the longest \
     log that holds with `kedge cluster reseed`"
)]
pub struct StreamConflict {
    /// First frame that does not match.
    pub frame: u64,
    /// The stream's content there.
    pub stream: String,
    /// This node's log before the frame, or its expectation.
    pub log: String,
}

/// Why the stream was not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// The servers do not answer; may be retried.
    #[error("the NATS servers do not answer: {0}")]
    Unreachable(String),
    /// The servers answer and lack the stream.
    #[error(
        "the stream {stream} is gone from the NATS servers, which answer and have a quorum: it was deleted, or their disks \
         were lost. Stop all nodes, and make it again from the node with the longest log with `kedge cluster reseed`"
    )]
    Gone { stream: String },
    /// The stream begins after the frame that this node needs.
    #[error(
        "the stream begins with frame {first}, but this node's log ends before frame {frame}. Copy the data \
         directory and the high-water mark of another node that holds frame {first}, then start again"
    )]
    Missing {
        /// The frame that this node needs next.
        frame: u64,
        /// The first frame of the stream.
        first: u64,
    },
    /// The stream contradicts this node's log.
    #[error(transparent)]
    Broken(#[from] StreamConflict),
}

/// Why this node did not begin a term.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeadTermError {
    /// The stream has newer frames: follow it, then retry.
    #[error("the stream ends at frame {stream}, but this node has applied up to frame {applied}")]
    Moved {
        stream: u64,
        /// This node's last applied frame.
        applied: u64,
    },
    /// The term is not above the last frame's.
    #[error("term {term} is not above term {last}, which the stream's last frame has")]
    Term {
        term: u64,
        /// Term of the stream's last frame.
        last: u64,
    },
    /// Either a single node kept the log so far, or the stream was lost.
    #[error(
        "the stream is empty, but this node's log has {frames} frames. Stop all nodes and fill the stream from this log \
         with `kedge cluster reseed`"
    )]
    Empty { frames: u64 },
    /// This node's log does not end with the term's opening frame.
    #[error(
        "the term's frame is at place {place} of the stream, but this node's log ends at frame {frame}, whose place is \
         another"
    )]
    Place {
        /// Place of the term's opening frame.
        place: u64,
        /// This node's last frame.
        frame: u64,
    },
    /// The stream cannot be read or written.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// The end of this node's log cannot be read.
    #[error("the end of this node's log cannot be read: {0}")]
    Log(String),
}

/// Why the stream was not recreated.
#[derive(Debug, thiserror::Error)]
pub enum ReseedError {
    /// A node still renews the lease.
    #[error("node {node} renews its lease: stop all nodes first")]
    Running { node: String },
    /// The stream has a frame that the log lacks.
    #[error(
        "the stream holds frame {frame} ({stream}), which this log does not hold ({log}): reseeding would lose it. Reseed \
         from the node with the longest log, or force it"
    )]
    Lacks {
        frame: u64,
        /// Hash of the stream's frame.
        stream: Hash,
        /// The log's content there.
        log: String,
    },
    /// The frame to begin with is outside the log.
    #[error("the log holds frames {first} to {last}, not frame {from}")]
    From { from: u64, first: u64, last: u64 },
    /// The servers refuse or do not answer. The stream then holds only part of the log: repeat the reseed.
    #[error("{what}: {why}. Repeat the command")]
    Engine { what: String, why: String },
    /// The stream cannot be read. If it is broken, force the reseed.
    #[error(transparent)]
    Stream(#[from] StreamError),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Read(#[from] LogReadError),
}
