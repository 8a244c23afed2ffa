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
//! The [`DeliveryTransport`] sends; the server provides it (`src/api/webhooks/transport.rs`). A 410 becomes the action `system.webhook_off`,
//! signed by the operator's key; without that key the webhook pauses until it is changed.

mod activation;
mod attempts;
mod delivery_desk;
mod orders;
mod pending_writes;
mod schedule;
mod worker;
mod worker_error;

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use kedge_protocol::Id;
use kedge_protocol::resource::Webhook;
use kedge_rules::event::Event;
use kedge_storage::{DeliveryRow, StoreReadError};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::engine::{Engine, StartError};
use crate::fair::FairQueue;
use crate::messages::WebhooksMessage;
pub use crate::messages::{AlsoWritten, RedeliverError};
use orders::{OrderSender, RedeliveryOrder, orders};
pub use schedule::RetrySchedule;
use worker::WebhookWorker;

/// Time limit until a delivery is queued again.
const REDELIVER_MAX: Duration = Duration::from_secs(10);

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

/// Actor with one worker for each webhook that has not ended.
pub(crate) struct WebhooksActor;

pub(crate) struct WebhooksState {
    engine: Engine,
    options: Arc<WebhookOptions>,
    attempts: Arc<FairQueue<Id>>,
    workers: HashMap<Id, WorkerTask>,
}

/// Task of a worker, which ends on drop.
struct WorkerTask {
    orderer: OrderSender,
    task: JoinHandle<()>,
}

impl Drop for WorkerTask {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl WebhooksState {
    /// The webhook's worker, started if there is none or it has ended.
    fn worker(&mut self, id: Id) -> &OrderSender {
        let entry = self.workers.entry(id);
        let (engine, options, attempts) = (&self.engine, &self.options, &self.attempts);
        let spawn = || {
            let (orderer, orders) = orders();
            let worker = WebhookWorker {
                id,
                engine: engine.clone(),
                options: Arc::clone(options),
                attempts: Arc::clone(attempts),
                orders,
            };
            let task = options.runtime.spawn(worker.run());
            WorkerTask { orderer, task }
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

impl Actor for WebhooksActor {
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
                state.worker(webhook).redeliver(RedeliveryOrder {
                    delivery,
                    also,
                    reply,
                });
            }
        }
        Ok(())
    }
}

/// Webhooks that need a worker: live ones, and ended ones with deliveries to delete.
fn served(engine: &Engine) -> Result<Vec<Id>, StoreReadError> {
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
        attempts: FairQueue::leaving_room(options.attempts_max, options.attempts_share, usize::MAX),
        options: Arc::new(options),
        workers: HashMap::new(),
    };
    Ok(engine.spawn_linked(WebhooksActor, state).await?)
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

    /// Repeats a delivery now; `also` is written in the same commit.
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
