//! Worker of one webhook, from its first look at the webhook until all its rows are deleted.

use std::sync::Arc;
use std::time::Duration;

use kedge_actors::Engine;
use kedge_actors::fair::FairQueue;
use kedge_protocol::Id;
use kedge_protocol::resource::Webhook;
use kedge_storage::{DeliveryRow, RowPage, SideWrite, StoreSnapshot};

use super::WebhookOptions;
use super::delivery_desk::DeliveryDesk;
use super::orders::OrderReceiver;
use super::worker_error::WorkerError;

/// Deliveries deleted in one commit.
const FORGOTTEN_AT_ONCE: usize = 64;
/// How long a worker waits after a failed read or write.
const TROUBLE_PAUSE: Duration = Duration::from_secs(5);

/// Next step after a worker has served for a while.
#[derive(PartialEq, Eq)]
pub(super) enum WorkerNext {
    /// Check the webhook again.
    Look,
    /// End, because the worker is no longer needed.
    End,
}

pub(super) struct WebhookWorker {
    pub(super) id: Id,
    pub(super) engine: Engine,
    pub(super) options: Arc<WebhookOptions>,
    /// Permits for attempts, over all webhooks.
    pub(super) attempts: Arc<FairQueue<Id>>,
    pub(super) orders: OrderReceiver,
}

impl WebhookWorker {
    /// Serves until the webhook has ended.
    pub(super) async fn run(mut self) {
        loop {
            match self.serve().await {
                Ok(()) => return,
                Err(trouble) => {
                    tracing::error!(webhook = %self.id, %trouble, "a webhook waits");
                    tokio::time::sleep(TROUBLE_PAUSE).await;
                }
            }
        }
    }

    async fn serve(&mut self) -> Result<(), WorkerError> {
        let mut desk = None;
        while let Some((webhook, mut at)) = self.look(desk.take()).await? {
            let next = if at.goes_on(&webhook).await? {
                at.work(&Arc::new(webhook), &mut self.orders).await?
            } else {
                at.rest(&webhook, &mut self.orders).await?
            };
            if next == WorkerNext::End {
                return Ok(());
            }
            desk = Some(at);
        }
        Ok(())
    }

    /// The webhook in its present state, with its deliveries; `None` once it is gone. The snapshot is dropped quickly:
    /// it keeps its rows in memory and in the tables, and a webhook is served for months.
    async fn look(
        &self,
        desk: Option<DeliveryDesk>,
    ) -> Result<Option<(Webhook, DeliveryDesk)>, WorkerError> {
        let published = self.engine.published();
        let Some(webhook) = published.snapshot.resource::<Webhook>(self.id)? else {
            return Ok(None);
        };
        if webhook.deleted {
            if let Some(mut desk) = desk {
                // Otherwise an attempt could begin while its delivery is being deleted.
                desk.under_way.shutdown().await;
            }
            self.forget(&published.snapshot).await?;
            return Ok(None);
        }
        let desk = match desk {
            Some(desk) => desk,
            None => DeliveryDesk::load(self, &webhook, &published.snapshot)?,
        };
        Ok(Some((webhook, desk)))
    }

    /// Deletes everything about an ended webhook.
    async fn forget(&self, snapshot: &StoreSnapshot) -> Result<(), WorkerError> {
        let mut after = None;
        loop {
            let page = RowPage {
                after,
                descending: false,
                limit: FORGOTTEN_AT_ONCE,
            };
            let rows = snapshot.deliveries(self.id, page)?;
            let Some(last) = rows.last() else {
                break;
            };
            after = Some(last.number);
            let writes = rows.iter().map(gone).collect();
            self.engine.side_writes(writes).await?;
        }
        let webhook = self.id;
        let ended = SideWrite::OutboxGone { webhook };
        Ok(self.engine.side_write(ended).await?)
    }
}

fn gone(row: &DeliveryRow) -> SideWrite {
    SideWrite::DeliveryGone {
        webhook: row.webhook_id,
        number: row.number,
        delivery: row.id,
    }
}
