//! Start of the webhooks' deliveries, and what the server adds to them: receipts, traces, and the operator's action that
//! disables a webhook.

use std::sync::Arc;

use hyper::HeaderMap;
use kedge_actors::StartError;
use kedge_config::Config;
use kedge_http::error::ApiError;
use kedge_protocol::Id;
use kedge_protocol::action::Kind;
use kedge_protocol::resource::Webhook;
use kedge_rules::event::Event;
use kedge_telemetry::TracedDelivery;
use kedge_webhooks::delivery::{DeliveryFuture, DeliveryVerdict};
use kedge_webhooks::message;
use kedge_webhooks::transport::{self, AttemptTrace, DeliveryHost};
use serde_json::json;

use crate::api::bus::actions::receipt_of;
use crate::api::services::ApiServices;

/// Starts the deliveries of a server that leads the log.
pub(super) async fn start(config: &Config, services: &Arc<ApiServices>) -> Result<(), StartError> {
    let host = Arc::new(ServerHost(Arc::clone(services)));
    let options = transport::http_options(config, Arc::clone(&services.webhooks), host)?;
    services.deliveries.start(options).await
}

struct ServerHost(Arc<ApiServices>);

impl ServerHost {
    fn body_with_receipt(&self, event: Event) -> Result<Vec<u8>, ApiError> {
        let receipt = match event.action_id {
            Some(_) => receipt_of(&self.0, event.position.sequence)?,
            None => None,
        };
        message::body(event, receipt.as_ref()).map_err(|error| ApiError::internal(&error))
    }
}

impl DeliveryHost for ServerHost {
    fn body(&self, event: Event) -> Option<Vec<u8>> {
        // A failure is logged as it becomes an `ApiError`.
        self.body_with_receipt(event).ok()
    }

    fn trace(&self, sequence: u64) -> Option<Box<dyn AttemptTrace>> {
        let traced = self.0.tracer.as_ref()?.delivery(sequence)?;
        Some(Box::new(ServerTrace(traced)))
    }

    fn switch_off(&self, webhook: Arc<Webhook>) -> DeliveryFuture<bool> {
        let services = Arc::clone(&self.0);
        Box::pin(async move {
            let Some(operator) = &services.changes.operator else {
                return false;
            };
            let payload = json!({ "reason": "the receiver answered 410" }).to_string();
            let kind = Kind::SystemWebhookOff;
            let organization = webhook.organization_id;
            let done = operator.act(organization, kind, webhook.id, &payload, None);
            match done.await {
                Ok(_) => true,
                Err(error) => {
                    let message = error.message;
                    tracing::warn!(webhook = %webhook.id, %message, "it was not switched off");
                    false
                }
            }
        })
    }
}

struct ServerTrace(TracedDelivery);

impl AttemptTrace for ServerTrace {
    fn headers(&self) -> HeaderMap {
        self.0.headers()
    }

    fn end(self: Box<Self>, event: &str, webhook: Id, delivery: Id, verdict: &DeliveryVerdict) {
        let (webhook, delivery) = (webhook.to_string(), delivery.to_string());
        self.0.end(event, webhook, delivery, verdict.status());
    }
}
