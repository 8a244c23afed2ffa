//! Webhooks: an organization's events, sent to its receivers, each at least once.
//!
//! The outbox is the log itself. A webhook's unsent events are the ones after its stored position, so a commit writes
//! nothing for webhooks. Each webhook has one worker, the only owner of its deliveries, so a slow or missing receiver
//! delays no other webhook. A commit of its organization wakes the worker, and a commit that changes the webhook makes
//! it check the webhook again. It reads the events after the position, stores the new position and a delivery for each
//! wanted event in one commit, and only then sends. Results are stored in separate commits, each with all results
//! gathered so far; at most 64 may wait. Unstored results of a crash are sent again, under the same id: `H(event id ‖
//! webhook id)`.
//!
//! Pending deliveries are bounded (`WEBHOOK_PENDING_MAX`). At the bound the position stands still, and further events
//! wait in the log. A worker has at most 8 attempts in flight, and one while its receiver fails; all workers together
//! share `webhook_attempts_max`. Of the deliveries for one object only the first pending one is tried.
//!
//! The [`DeliveryTransport`] sends; a server's is in [`transport`](crate::transport). A 410 becomes the action
//! `system.webhook_off`, signed by the operator's key; without that key the webhook pauses until it is changed.

mod activation;
mod actor;
mod attempts;
mod delivery_desk;
mod messages;
mod orders;
mod pending_writes;
mod schedule;
mod service;
mod worker;
mod worker_error;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use kedge_protocol::Id;
use kedge_protocol::resource::Webhook;
use kedge_rules::event::Event;
use tokio::runtime::Handle;

pub use messages::{AlsoWritten, RedeliverError};
pub use schedule::RetrySchedule;
pub use service::DeliveryService;

/// Content of a delivery.
#[derive(Clone, Debug)]
pub struct DeliveryRequest {
    /// The webhook in its present state.
    pub webhook: Arc<Webhook>,
    /// The message's identifier, the same at every attempt.
    pub delivery_id: Id,
    pub event: Event,
}

/// Result of an attempt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DeliveryVerdict {
    /// The receiver accepted it.
    Delivered { status: u16 },
    /// The receiver did not accept it.
    Failed {
        /// The HTTP status, if there was an answer.
        status: Option<u16>,
        /// The reason, in words for the webhook's owner.
        error: String,
        /// How long the receiver asks for no further attempt, milliseconds.
        retry_after_ms: Option<u64>,
    },
    /// The receiver is gone for good (410).
    Gone,
}

impl DeliveryVerdict {
    /// The receiver's HTTP status: `Ok` if it accepted the delivery. `Err` if it did not, with `None` if there was no
    /// answer.
    pub fn status(&self) -> Result<u16, Option<u16>> {
        match self {
            Self::Delivered { status } => Ok(*status),
            Self::Failed { status, .. } => Err(*status),
            Self::Gone => Err(Some(410)),
        }
    }
}

pub type DeliveryFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Transport to the receivers.
pub trait DeliveryTransport: Send + Sync + 'static {
    /// Makes one attempt, in bounded time.
    fn deliver(&self, parcel: DeliveryRequest) -> DeliveryFuture<DeliveryVerdict>;

    /// Switches a webhook off in the log; false if that is not allowed.
    fn switch_off(&self, webhook: Arc<Webhook>) -> DeliveryFuture<bool>;
}

/// Options of webhooks.
pub struct WebhookOptions {
    /// Times of the attempts.
    pub schedule: RetrySchedule,
    /// Concurrent attempts over all webhooks.
    pub attempts_max: usize,
    /// Concurrent attempts of one organization.
    pub attempts_share: usize,
    /// Transport of the attempts.
    pub courier: Arc<dyn DeliveryTransport>,
    /// Runtime of the deliveries, preferably a separate one: a batch can be due at thousands of receivers, and requests
    /// would wait among the deliveries.
    pub runtime: Handle,
}
