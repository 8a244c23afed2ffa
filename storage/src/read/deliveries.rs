//! Reads of all webhooks, their positions and deliveries.

use kedge_protocol::resource::Webhook;
use kedge_protocol::{Id, Prefix};

use super::RowPage;
use crate::codec::{self, CodecError};
use crate::snapshot::{StoreReadError, StoreSnapshot};
use crate::tables::Table;
use crate::tables::deliveries::{
    DeliveryRow, OutboxRow, deliveries_prefix, delivery_key, number_key, outbox_key,
};
use crate::tables::row::BincodeRow;

fn read_delivery(webhook_id: Id, number: u64, bytes: &[u8]) -> Result<DeliveryRow, CodecError> {
    let BincodeRow(row) = codec::decode::<BincodeRow<DeliveryRow>>(bytes)?;
    Ok(DeliveryRow {
        webhook_id,
        number,
        ..row
    })
}

impl StoreSnapshot {
    /// Every webhook of every organization, including ended ones.
    pub fn every_webhook(&self) -> impl Iterator<Item = Result<Webhook, StoreReadError>> {
        self.every()
    }

    /// A webhook's position and pause; `None` before it was first served.
    pub fn outbox(&self, webhook: Id) -> Result<Option<OutboxRow>, StoreReadError> {
        self.get(Table::Deliveries, &outbox_key(&webhook), |bytes| {
            codec::decode(bytes).map(|BincodeRow(outbox)| outbox)
        })
    }

    /// A page of a webhook's deliveries; the cursor is the number.
    pub fn deliveries(
        &self,
        webhook: Id,
        page: RowPage,
    ) -> Result<Vec<DeliveryRow>, StoreReadError> {
        let prefix = deliveries_prefix(&webhook);
        self.list(Table::Deliveries, &prefix, page, |number, bytes| {
            read_delivery(webhook, number, bytes)
        })
    }

    /// A webhook's delivery by its id.
    pub fn delivery(
        &self,
        webhook: Id,
        delivery: Id,
    ) -> Result<Option<DeliveryRow>, StoreReadError> {
        if delivery.prefix != Prefix::Delivery {
            return Ok(None);
        }
        let key = number_key(&webhook, &delivery);
        let Some(number) = self.get_number(Table::Deliveries, &key)? else {
            return Ok(None);
        };
        let key = delivery_key(&webhook, number);
        self.get(Table::Deliveries, &key, |bytes| {
            read_delivery(webhook, number, bytes)
        })
    }
}
