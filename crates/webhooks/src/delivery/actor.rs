//! The webhooks actor, which starts the workers and passes orders to them.

use std::collections::HashMap;
use std::sync::Arc;

use kedge_actors::Engine;
use kedge_actors::fair::FairQueue;
use kedge_protocol::Id;
use kedge_storage::StoreReadError;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::task::JoinHandle;

use super::WebhookOptions;
use super::messages::WebhooksMessage;
use super::orders::{OrderSender, RedeliveryOrder, orders};
use super::worker::WebhookWorker;

/// Actor with one worker for each webhook that has not ended.
pub(super) struct WebhooksActor;

pub(super) struct WebhooksState {
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
    /// No worker has started yet.
    pub(super) fn new(engine: Engine, options: WebhookOptions) -> Self {
        Self {
            engine,
            attempts: FairQueue::leaving_room(
                options.attempts_max,
                options.attempts_share,
                usize::MAX,
            ),
            options: Arc::new(options),
            workers: HashMap::new(),
        }
    }

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
        state.engine.watch_webhooks(move |id| {
            // An actor that has ended serves no webhook.
            let _ = actor.send_message(WebhooksMessage::Changed(id));
        });
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
