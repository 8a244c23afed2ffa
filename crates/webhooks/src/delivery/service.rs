//! Deliveries as the server starts and asks them.

use std::time::Duration;

use kedge_actors::{Engine, StartError};
use kedge_protocol::Id;
use kedge_storage::DeliveryRow;
use parking_lot::Mutex;
use ractor::ActorRef;
use ractor::rpc::CallResult;

use super::WebhookOptions;
use super::actor::{WebhooksActor, WebhooksState};
use super::messages::{AlsoWritten, RedeliverError, WebhooksMessage};

/// Time limit until a delivery is queued again.
const REDELIVER_MAX: Duration = Duration::from_secs(10);

/// Deliveries of an engine's webhooks, while it leads the log.
pub struct DeliveryService {
    engine: Engine,
    /// The actor of the last start. It has ended if the engine no longer leads.
    actor: Mutex<Option<ActorRef<WebhooksMessage>>>,
}

impl DeliveryService {
    /// Serves no webhook until [`Self::start`].
    pub fn new(engine: Engine) -> Self {
        Self {
            engine,
            actor: Mutex::default(),
        }
    }

    /// Starts serving webhooks, until the engine no longer leads the log. Each time that it leads needs a new start.
    ///
    /// # Errors
    /// [`StartError`] if the webhooks cannot be read, or the engine does not lead.
    pub async fn start(&self, options: WebhookOptions) -> Result<(), StartError> {
        if let Some(earlier) = self.actor.lock().take() {
            // Two would send everything twice.
            earlier.kill();
        }
        let state = WebhooksState::new(self.engine.clone(), options);
        let actor = self.engine.spawn_linked(WebhooksActor, state).await?;
        *self.actor.lock() = Some(actor);
        Ok(())
    }

    /// Repeats a delivery now; `also` is written in the same commit.
    ///
    /// # Errors
    /// [`RedeliverError`] if the delivery is unknown, its webhook is off, or webhooks are not served now.
    pub async fn redeliver(
        &self,
        webhook: Id,
        delivery: Id,
        also: Option<AlsoWritten>,
    ) -> Result<DeliveryRow, RedeliverError> {
        let actor = self.actor.lock().clone();
        let actor = actor.filter(|_| self.engine.leads());
        let actor = actor.ok_or(RedeliverError::Unavailable)?;
        let ask = |reply| WebhooksMessage::Redeliver {
            webhook,
            delivery,
            also,
            reply,
        };
        match actor.call(ask, Some(REDELIVER_MAX)).await {
            Ok(CallResult::Success(result)) => result,
            _ => Err(RedeliverError::Unavailable),
        }
    }
}
