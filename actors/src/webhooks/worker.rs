//! One webhook's worker: from its first look at the webhook until nothing is left of it.

use std::sync::Arc;
use std::time::Duration;

use kedge_protocol::Id;
use kedge_storage::{DeliveryRow, Page, ReadError, SideWrite, Snapshot};
use ractor::RpcReplyPort;
use tokio::sync::mpsc;

use super::desk::Desk;
use super::{AlsoWritten, RedeliverError, WebhookOptions};
use crate::api::SubmitError;
use crate::engine::Engine;
use crate::fair::Turns;

/// Deliveries deleted in one commit.
const FORGOTTEN_AT_ONCE: usize = 64;
/// How long a worker waits after a failed read or write.
const TROUBLE_PAUSE: Duration = Duration::from_secs(5);

/// Messages to a worker.
pub(super) enum Order {
    /// Check the webhook again.
    Changed,
    /// Make a delivery again.
    Redeliver {
        delivery: Id,
        also: Option<AlsoWritten>,
        reply: RpcReplyPort<Result<DeliveryRow, RedeliverError>>,
    },
}

/// Why a worker had to stop for a while.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    #[error("the store could not be read: {0}")]
    Read(#[from] ReadError),
    #[error("deliveries could not be stored: {0}")]
    Write(#[from] SubmitError),
    #[error("an attempt was aborted: {0}")]
    Attempt(#[from] tokio::task::JoinError),
}

/// What follows after a worker has served for a while.
#[derive(PartialEq, Eq)]
pub(super) enum Next {
    /// The webhook is to be checked again.
    Look,
    /// The worker is no longer needed.
    End,
}

pub(super) struct Worker {
    pub(super) id: Id,
    pub(super) engine: Engine,
    pub(super) options: Arc<WebhookOptions>,
    /// Attempts, over all webhooks.
    pub(super) attempts: Arc<Turns<Id>>,
    pub(super) orders: mpsc::Receiver<Order>,
}

impl Worker {
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

    async fn serve(&mut self) -> Result<(), Trouble> {
        let mut desk = None;
        loop {
            let published = self.engine.published();
            let Some(webhook) = published.snapshot.webhook(self.id)? else {
                return Ok(());
            };
            if webhook.deleted {
                return self.forget(&published.snapshot).await;
            }
            let mut at = match desk.take() {
                Some(desk) => desk,
                None => Desk::load(self, &webhook, &published.snapshot)?,
            };
            let next = if at.goes_on(&webhook).await? {
                at.work(&Arc::new(webhook), &mut self.orders).await?
            } else {
                at.rest(&webhook, &mut self.orders).await?
            };
            if next == Next::End {
                return Ok(());
            }
            desk = Some(at);
        }
    }

    /// Deletes everything about a webhook that was ended.
    async fn forget(&self, snapshot: &Snapshot) -> Result<(), Trouble> {
        let mut after = None;
        loop {
            let page = Page {
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
