//! Messages and reports of the actors that are started on the engine: anchoring and webhooks.

use kedge_protocol::Id;
use kedge_storage::{DeliveryRow, SideWrite};
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

/// Messages to the webhooks actor.
pub(crate) enum WebhooksMessage {
    /// A webhook was created, changed or ended.
    Changed(Id),
    /// Repeats a delivery.
    Redeliver {
        webhook: Id,
        delivery: Id,
        also: Option<AlsoWritten>,
        reply: RpcReplyPort<Result<DeliveryRow, RedeliverError>>,
    },
}

/// Writes to store in the same commit as a repeated delivery, and a guard to hold until then.
pub type AlsoWritten =
    Box<dyn FnOnce(&DeliveryRow) -> (Option<SideWrite>, Box<dyn Send + Sync>) + Send + Sync>;

/// Reason why a delivery is not repeated.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RedeliverError {
    /// No such delivery.
    #[error("there is no such delivery")]
    NotFound,
    #[error("the webhook is not active; activate it first")]
    Off,
    /// It could not be stored now.
    #[error("webhooks are unavailable now; try again")]
    Unavailable,
}
