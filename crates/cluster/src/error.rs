//! Errors: what went wrong, and what to do.

use std::path::PathBuf;

use kedge_log::ReadError;
use kedge_protocol::Hash;

/// Why a node does not connect.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// An option is wrong.
    #[error("the cluster's option {option}: {why}")]
    Option {
        /// The option.
        option: &'static str,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A file cannot be used.
    #[error("{}: {why}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// No server answers.
    #[error("no NATS server of {servers} accepts the connection: {why}")]
    Servers {
        /// The servers that were tried.
        servers: String,
        /// Why the last one did not.
        why: String,
        /// Whether they refuse these credentials, or the addresses are wrong.
        refused: bool,
    },
    /// JetStream refuses.
    #[error(
        "{what}: {why}. Check that JetStream is enabled on the servers and that enough of them run"
    )]
    Engine {
        /// What was tried.
        what: String,
        /// Why it failed.
        why: String,
    },
    /// The stream has other settings than this log needs.
    #[error(
        "the stream {stream} has {setting} {found}, but the log needs {expected}. Change it with the `nats` command, or \
         stop all nodes and make the stream again with `kedge cluster reseed`"
    )]
    Setting {
        /// The stream.
        stream: String,
        /// The setting.
        setting: &'static str,
        /// What is needed.
        expected: String,
        /// What the stream has.
        found: String,
    },
    /// The stream belongs to another log.
    #[error(
        "the stream {stream} is of another log: it is described as \"{found}\", this log as \"{expected}\". If this \
         is that log, check chain_id and chain_contract. If not, give it another name (cluster_name), or its own NATS \
         account"
    )]
    Identity {
        /// The stream.
        stream: String,
        /// This log.
        expected: String,
        /// The log that the stream names.
        found: String,
    },
    /// Messages are too short for the log's frames.
    #[error(
        "the server {server} accepts messages of up to {found} bytes, but a frame may need {needed}. Set `max_payload` \
         to {needed} or more on every server, or lower the log's `frame_bytes_max`"
    )]
    Payload {
        /// The server.
        server: String,
        /// Bytes that it accepts.
        found: usize,
        /// Bytes that a frame may need.
        needed: usize,
    },
    /// A server acknowledges what it has not synced.
    #[error(
        "the server {server} does not sync before it acknowledges: {found}. By default NATS syncs every two minutes, and \
         a power failure then loses acknowledged messages (Jepsen, NATS 2.12.1). Set `jetstream {{ sync_interval: always \
         }}` on every server (NATS 2.10 or newer), or allow it with `cluster_unsynced_allowed`"
    )]
    Unsynced {
        /// The server's monitoring.
        server: String,
        /// What it is set to.
        found: String,
    },
    /// It cannot be read whether the servers sync.
    #[error(
        "whether the servers sync before they acknowledge cannot be read: {why}. Set `http_port` on the servers and name \
         the monitoring URLs of all of them in `cluster_monitors`, or allow it with `cluster_unsynced_allowed`"
    )]
    Monitors {
        /// What failed.
        why: String,
        /// Whether any monitoring URL is named.
        named: bool,
    },
}

impl ConnectError {
    /// Whether it may pass by itself: what has to change is not this node's configuration.
    pub fn passes(&self) -> bool {
        match self {
            Self::Servers { refused, .. } => !refused,
            Self::Engine { .. } => true,
            Self::Monitors { named, .. } => *named,
            _ => false,
        }
    }
}

/// What the stream holds contradicts what this node holds, or itself. Never skipped: the node stops there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "frame {frame} of the stream is broken: the stream holds {stream}, this node's log holds {log}. Nothing of it was \
     applied. Compare the nodes' logs with `kedge verify log`, stop all nodes, and make the stream again from the longest \
     log that holds with `kedge cluster reseed`"
)]
pub struct Broken {
    /// The first frame that does not hold.
    pub frame: u64,
    /// What the stream holds there.
    pub stream: String,
    /// What this node's log holds before it, or expects there.
    pub log: String,
}

/// Why the stream was not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// The servers do not answer; the same can be tried again.
    #[error("the NATS servers do not answer: {0}")]
    Unreachable(String),
    /// The servers answer and do not have the stream.
    #[error(
        "the stream {stream} is gone from the NATS servers, which answer and have a quorum: it was deleted, or their disks \
         were lost. Stop all nodes, and make it again from the node with the longest log with `kedge cluster reseed`"
    )]
    Gone {
        /// The stream.
        stream: String,
    },
    /// The stream begins later.
    #[error(
        "the stream begins with frame {first}, but this node's log ends before frame {frame}. Copy the data \
         directory and the high-water mark of another node that holds frame {first}, then start again"
    )]
    Missing {
        /// The frame that this node needs next.
        frame: u64,
        /// The first frame in the stream.
        first: u64,
    },
    /// The stream and this node's log contradict each other.
    #[error(transparent)]
    Broken(#[from] Broken),
}

/// Why this node did not begin a term.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeadError {
    /// The stream has gone on: follow it, then try again.
    #[error("the stream ends at frame {stream}, but this node has applied up to frame {applied}")]
    Moved {
        /// The last frame of the stream.
        stream: u64,
        /// The last frame that this node has applied.
        applied: u64,
    },
    /// The term is not above that of the last frame.
    #[error("term {term} is not above term {last}, which the stream's last frame has")]
    Term {
        /// The term to begin.
        term: u64,
        /// The last frame's.
        last: u64,
    },
    /// The log was kept by a single node so far, or the stream was lost.
    #[error(
        "the stream is empty, but this node's log has {frames} frames. Stop all nodes and fill the stream from this log \
         with `kedge cluster reseed`"
    )]
    Empty {
        /// Frames of this node's log.
        frames: u64,
    },
    /// This node's log does not end with the frame that opens the term.
    #[error(
        "the term's frame is at place {place} of the stream, but this node's log ends at frame {frame}, whose place is \
         another"
    )]
    Place {
        /// The place of the term's frame.
        place: u64,
        /// The last frame of this node's log.
        frame: u64,
    },
    /// The stream cannot be read or written.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// The end of this node's log cannot be read.
    #[error("the end of this node's log cannot be read: {0}")]
    Log(String),
}

/// Why the stream was not made again.
#[derive(Debug, thiserror::Error)]
pub enum ReseedError {
    /// A node leads.
    #[error("node {node} renews its lease: stop all nodes first")]
    Running {
        /// The node.
        node: String,
    },
    /// The stream holds what the log lacks.
    #[error(
        "the stream holds frame {frame} ({stream}), which this log does not hold ({log}): reseeding would lose it. Reseed \
         from the node with the longest log, or force it"
    )]
    Lacks {
        /// The frame.
        frame: u64,
        /// The stream's.
        stream: Hash,
        /// What the log holds.
        log: String,
    },
    /// The log does not begin there, or ends before.
    #[error("the log holds frames {first} to {last}, not frame {from}")]
    From {
        /// The frame to begin with.
        from: u64,
        /// The first frame in the log.
        first: u64,
        /// The last frame in the log.
        last: u64,
    },
    /// The servers refuse or do not answer. Repeat it: the stream then holds a part of the log.
    #[error("{what}: {why}. Repeat the command")]
    Engine {
        /// What was tried.
        what: String,
        /// Why it failed.
        why: String,
    },
    /// The stream cannot be read. If it is broken, force the reseed.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// The stream cannot be made.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}
