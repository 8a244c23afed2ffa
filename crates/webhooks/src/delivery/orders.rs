//! Orders to a webhook's worker. A change of the webhook is a separate flag that is never lost, however many other
//! orders wait: a worker that missed it would use an old address, or pause for ever.

use std::sync::Arc;

use kedge_protocol::Id;
use kedge_storage::DeliveryRow;
use ractor::RpcReplyPort;
use tokio::sync::{Notify, mpsc};

use super::messages::{AlsoWritten, RedeliverError};

/// Bound on the repeated deliveries that wait for one worker.
const REDELIVERIES_MAX: usize = 16;

/// Order to repeat a delivery.
pub(super) struct RedeliveryOrder {
    pub(super) delivery: Id,
    /// Writes for the same commit.
    pub(super) also: Option<AlsoWritten>,
    pub(super) reply: RpcReplyPort<Result<DeliveryRow, RedeliverError>>,
}

/// A message to a worker.
pub(super) enum WorkerOrder {
    /// The webhook is to be checked again.
    Changed,
    /// A delivery is to be repeated.
    Redeliver(RedeliveryOrder),
}

/// Sending half, for the actor.
pub(super) struct OrderSender {
    changed: Arc<Notify>,
    redeliveries: mpsc::Sender<RedeliveryOrder>,
}

/// Receiving half, for the worker.
pub(super) struct OrderReceiver {
    changed: Arc<Notify>,
    redeliveries: mpsc::Receiver<RedeliveryOrder>,
}

/// Creates both halves.
pub(super) fn orders() -> (OrderSender, OrderReceiver) {
    let changed = Arc::<Notify>::default();
    let (sender, redeliveries) = mpsc::channel(REDELIVERIES_MAX);
    let orderer = OrderSender {
        changed: Arc::clone(&changed),
        redeliveries: sender,
    };
    (
        orderer,
        OrderReceiver {
            changed,
            redeliveries,
        },
    )
}

impl OrderSender {
    /// Orders a check of the webhook. Several changes may count as one: a worker checks everything together.
    pub(super) fn changed(&self) {
        self.changed.notify_one();
    }

    /// Orders a repeated delivery. If too many wait, its reply is dropped, so the caller sees that it was not accepted.
    pub(super) fn redeliver(&self, redelivery: RedeliveryOrder) {
        let _taken = self.redeliveries.try_send(redelivery);
    }
}

impl OrderReceiver {
    /// The next order, changes first; `None` once all senders are gone.
    pub(super) async fn next(&mut self) -> Option<WorkerOrder> {
        tokio::select! {
            biased;
            () = self.changed.notified() => Some(WorkerOrder::Changed),
            redelivery = self.redeliveries.recv() => redelivery.map(WorkerOrder::Redeliver),
        }
    }
}

#[cfg(test)]
mod tests {
    use kedge_protocol::ids::Prefix;

    use super::*;

    // Holds invariant 39.
    #[tokio::test]
    async fn a_change_is_noticed_however_many_redeliveries_wait() {
        let (orderer, mut orders) = orders();
        let of = |prefix| Id {
            prefix,
            bytes: [7; 16],
        };
        let (event, webhook) = (of(Prefix::Event), of(Prefix::Webhook));
        let mut replies = Vec::new();
        for _ in 0..=REDELIVERIES_MAX {
            let (reply, answer) = ractor::concurrency::oneshot();
            replies.push(answer);
            orderer.redeliver(RedeliveryOrder {
                delivery: Id::of_delivery(&event, &webhook),
                also: None,
                reply: reply.into(),
            });
        }
        let refused = replies.pop().unwrap();
        assert!(refused.await.is_err(), "too many wait");
        orderer.changed();
        orderer.changed();
        assert!(matches!(orders.next().await, Some(WorkerOrder::Changed)));
        for _ in 0..REDELIVERIES_MAX {
            assert!(matches!(
                orders.next().await,
                Some(WorkerOrder::Redeliver(_))
            ));
        }
        orderer.changed();
        drop(orderer);
        assert!(matches!(orders.next().await, Some(WorkerOrder::Changed)));
        assert!(orders.next().await.is_none());
    }
}
