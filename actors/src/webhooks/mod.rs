//! Webhooks: an organization's events, sent to its receivers, each at least once.
//!
//! The outbox is the log itself. What a webhook still has to send follows from the events after the place that it has
//! read up to, so a commit writes nothing for webhooks. Each webhook has its own worker, which alone owns its
//! deliveries: a receiver that is slow or gone delays nobody else's. A commit that concerns its organization wakes the
//! worker, and one that changes the webhook makes it look again, whatever becomes of who asked for the change. It reads
//! the events after the place, stores the new place and a delivery for each wanted event in one commit, and only then
//! sends. Results are stored in commits of their own, each with all that have gathered; at most 64 may wait for that.
//! What a crash leaves unstored is sent again, under the same id: `H(event id ‖ webhook id)`.
//!
//! Pending deliveries are bounded (`WEBHOOK_PENDING_MAX`). At the bound the place stands still, and what happens
//! meanwhile waits in the log. A worker has at most 8 attempts in flight, and one while its receiver fails; all workers
//! together share `webhook_attempts_max`. Of the deliveries for one object only the first pending one is tried.
//!
//! The [`Courier`] knows how to send; it is the server's (`src/webhooks.rs`). A 410 becomes the action
//! `system.webhook_off`, signed by the operator's key; without that key the webhook rests until it is changed.

mod attempts;
mod desk;
mod orders;
mod schedule;
mod since;
mod trouble;
mod unstored;
mod worker;

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use kedge_protocol::Id;
use kedge_protocol::resource::Webhook;
use kedge_rules::event::Event;
use kedge_storage::{DeliveryRow, ReadError};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::engine::{Engine, StartError};
use crate::fair::Turns;
use crate::messages::WebhooksMessage;
pub use crate::messages::{AlsoWritten, RedeliverError};
use orders::{Orderer, Redelivery, orders};
pub use schedule::Schedule;
use worker::Worker;

/// How long it may take until a delivery is queued again.
const REDELIVER_MAX: Duration = Duration::from_secs(10);

/// What is to be delivered.
#[derive(Clone, Debug)]
pub struct Parcel {
    /// The webhook in its present state.
    pub webhook: Arc<Webhook>,
    /// The delivery: the message's identifier, the same at every attempt.
    pub delivery_id: Id,
    /// The event to report.
    pub event: Event,
}

/// The result of an attempt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The receiver accepted it.
    Delivered {
        /// The HTTP status.
        status: u16,
    },
    /// It did not.
    Failed {
        /// The HTTP status, if there was an answer.
        status: Option<u16>,
        /// The reason, in words for the webhook's owner.
        error: String,
        /// How long the receiver asks not to be contacted, milliseconds.
        retry_after_ms: Option<u64>,
    },
    /// The receiver reports that it is gone for good (410).
    Gone,
}

/// A boxed future.
pub type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Delivers to the receivers.
pub trait Courier: Send + Sync + 'static {
    /// Makes one attempt. It ends by itself, in a bounded time.
    fn deliver(&self, parcel: Parcel) -> Boxed<Verdict>;

    /// Switches a webhook off in the log; false if that is not allowed.
    fn switch_off(&self, webhook: Arc<Webhook>) -> Boxed<bool>;
}

/// How webhooks are served.
pub struct WebhookOptions {
    /// When attempts are made.
    pub schedule: Schedule,
    /// Attempts in flight at one time, over all webhooks.
    pub attempts_max: usize,
    /// How many of them may belong to one organization.
    pub attempts_share: usize,
    /// Makes the attempts.
    pub courier: Arc<dyn Courier>,
    /// Where webhooks are served, preferably a runtime of its own: one batch can be due at thousands of receivers, and
    /// requests would wait among the deliveries.
    pub runtime: Handle,
}

/// Keeps one worker for each webhook that has not ended.
pub(crate) struct Webhooks;

pub(crate) struct WebhooksState {
    engine: Engine,
    options: Arc<WebhookOptions>,
    attempts: Arc<Turns<Id>>,
    workers: HashMap<Id, Serving>,
}

/// A worker's task, which ends when this is dropped.
struct Serving {
    orderer: Orderer,
    task: JoinHandle<()>,
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl WebhooksState {
    /// The webhook's worker; a new one if there is none, or if it has ended.
    fn worker(&mut self, id: Id) -> &Orderer {
        let entry = self.workers.entry(id);
        let (engine, options, attempts) = (&self.engine, &self.options, &self.attempts);
        let spawn = || {
            let (orderer, orders) = orders();
            let worker = Worker {
                id,
                engine: engine.clone(),
                options: Arc::clone(options),
                attempts: Arc::clone(attempts),
                orders,
            };
            let task = options.runtime.spawn(worker.run());
            Serving { orderer, task }
        };
        let serving = entry.or_insert_with(spawn);
        if serving.task.is_finished() {
            *serving = spawn();
        }
        &serving.orderer
    }

    fn forget_ended(&mut self) {
        self.workers
            .retain(|_, serving| !serving.task.is_finished());
    }
}

impl Actor for Webhooks {
    type Msg = WebhooksMessage;
    type State = WebhooksState;
    type Arguments = WebhooksState;

    async fn pre_start(
        &self,
        actor: ActorRef<WebhooksMessage>,
        mut state: WebhooksState,
    ) -> Result<WebhooksState, ActorProcessingErr> {
        // First, so that no change is missed.
        state.engine.listeners().serve_webhooks(actor);
        for id in served(&state.engine)? {
            state.worker(id);
        }
        Ok(state)
    }

    async fn handle(
        &self,
        _: ActorRef<WebhooksMessage>,
        message: WebhooksMessage,
        state: &mut WebhooksState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            WebhooksMessage::Changed(id) => {
                state.forget_ended();
                state.worker(id).changed();
            }
            WebhooksMessage::Redeliver {
                webhook,
                delivery,
                also,
                reply,
            } => {
                state.worker(webhook).redeliver(Redelivery {
                    delivery,
                    also,
                    reply,
                });
            }
        }
        Ok(())
    }
}

/// The webhooks that need a worker: those that live, and those whose deliveries are still to be deleted.
fn served(engine: &Engine) -> Result<Vec<Id>, ReadError> {
    let published = engine.published();
    let snapshot = &published.snapshot;
    let mut ids = Vec::new();
    for webhook in snapshot.every_webhook() {
        let webhook = webhook?;
        if !webhook.deleted || snapshot.outbox(webhook.id)?.is_some() {
            ids.push(webhook.id);
        }
    }
    Ok(ids)
}

/// Starts serving webhooks, until the engine stops it.
async fn start(
    engine: &Engine,
    options: WebhookOptions,
) -> Result<ActorRef<WebhooksMessage>, StartError> {
    let state = WebhooksState {
        engine: engine.clone(),
        attempts: Turns::leaving_room(options.attempts_max, options.attempts_share, usize::MAX),
        options: Arc::new(options),
        workers: HashMap::new(),
    };
    Ok(engine.spawn_linked(Webhooks, state).await?)
}

impl Engine {
    /// Starts serving webhooks; at most once.
    pub async fn start_webhooks(&self, options: WebhookOptions) -> Result<(), StartError> {
        let actor = start(self, options).await?;
        // A second one would send everything twice.
        let leading = self.inner.leading.load();
        let started = leading.as_ref().map(|leading| leading.webhooks.set(actor));
        assert!(
            started.is_none_or(|set| set.is_ok()),
            "webhooks are started once"
        );
        Ok(())
    }

    /// Makes a delivery again, at once; `also` is written with it.
    pub async fn redeliver(
        &self,
        webhook: Id,
        delivery: Id,
        also: Option<AlsoWritten>,
    ) -> Result<DeliveryRow, RedeliverError> {
        let leading = self.inner.leading.load_full();
        let actor = leading.as_ref().and_then(|leading| leading.webhooks.get());
        let actor = actor.ok_or(RedeliverError::Unavailable)?;
        let ask = |reply| WebhooksMessage::Redeliver {
            webhook,
            delivery,
            also,
            reply,
        };
        match actor.call(ask, Some(REDELIVER_MAX)).await {
            Ok(ractor::rpc::CallResult::Success(result)) => result,
            _ => Err(RedeliverError::Unavailable),
        }
    }
}
