//! What the engine asks of the actors that are started on it, and what they report: anchoring and webhooks.

use kedge_protocol::Id;
use kedge_storage::{DeliveryRow, SideWrite};
use ractor::RpcReplyPort;

/// Messages to the anchor actor.
pub(crate) enum AnchorMessage {
    /// Look at the clock and the chain.
    Tick,
    /// Anchor without waiting for the interval.
    Now(RpcReplyPort<Result<AnchorReport, String>>),
    /// Check the chain again, and continue if nothing stands in the way. Returns how many batches the chain's
    /// checkpoint covers.
    Recover(RpcReplyPort<Result<u64, String>>),
    /// Read the sequencer's keys from the contract.
    ReadKeys(RpcReplyPort<Result<(), String>>),
}

/// The result of a request to anchor now.
#[derive(Clone, Debug)]
pub struct AnchorReport {
    /// The anchor's number; `None` if nothing is new since the last one.
    pub number: Option<u64>,
    /// Its identifier.
    pub id: Option<Id>,
    /// How many batches it covers.
    pub batches: u64,
}

/// The state of the chain's node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeHealth {
    /// Where it is asked: only scheme, host and port.
    pub endpoint: String,
    /// Since when it has not answered, milliseconds; `None` while it does.
    pub unreachable_since_ms: Option<u64>,
    /// What the last attempt met.
    pub error: Option<String>,
}

/// Messages to the actor.
pub(crate) enum WebhooksMessage {
    /// A webhook was made, changed or ended.
    Changed(Id),
    /// A request to make a delivery again.
    Redeliver {
        webhook: Id,
        delivery: Id,
        also: Option<AlsoWritten>,
        reply: RpcReplyPort<Result<DeliveryRow, RedeliverError>>,
    },
}

/// What is written in the same commit as a delivery that is made again, and what is held until then.
pub type AlsoWritten =
    Box<dyn FnOnce(&DeliveryRow) -> (Option<SideWrite>, Box<dyn Send + Sync>) + Send + Sync>;

/// Why a delivery is not made again.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RedeliverError {
    /// There is no such delivery.
    #[error("there is no such delivery")]
    NotFound,
    /// The webhook is switched off.
    #[error("the webhook is not active; activate it first")]
    Off,
    /// It could not be stored now.
    #[error("webhooks are unavailable now; try again")]
    Unavailable,
}
