//! Messages to the webhooks actor, and why it does not repeat a delivery.

use kedge_protocol::Id;
use kedge_storage::{DeliveryRow, SideWrite};
use ractor::RpcReplyPort;

/// Messages to the webhooks actor.
pub(super) enum WebhooksMessage {
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
