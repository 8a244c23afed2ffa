//! Messages and reports of the actor that is started on the engine: anchoring.

use kedge_protocol::Id;
use ractor::RpcReplyPort;

pub(crate) enum AnchorMessage {
    /// Checks the clock and the chain.
    Tick,
    /// Anchors without waiting for the interval.
    Now(RpcReplyPort<Result<AnchorReport, String>>),
    /// Checks the chain again, and continues if nothing stands in the way. Replies with how many batches the chain's
    /// checkpoint covers.
    Recover(RpcReplyPort<Result<u64, String>>),
    ReadKeys(RpcReplyPort<Result<(), String>>),
}

/// Result of a request to anchor now.
#[derive(Clone, Debug)]
pub struct AnchorReport {
    /// The anchor's number; `None` if nothing is new since the last one.
    pub number: Option<u64>,
    pub id: Option<Id>,
    pub batches: u64,
}

/// State of the chain's node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeHealth {
    /// Scheme, host and port of its address.
    pub endpoint: String,
    /// Start of the outage, Unix milliseconds; `None` while the node answers.
    pub unreachable_since_ms: Option<u64>,
    /// Error of the last attempt.
    pub error: Option<String>,
}
