//! The server's side of webhooks: their thread, the message of each event, which [`kedge_webhooks`] sends, and the
//! action that disables a webhook.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use kedge_actors::StartError;
use kedge_actors::fair::share;
use kedge_actors::webhooks::{
    DeliveryFuture, DeliveryRequest, DeliveryTransport, DeliveryVerdict, RetrySchedule,
    WebhookOptions,
};
use kedge_config::Config;
use kedge_http::error::ApiError;
use kedge_protocol::action::Kind;
use kedge_protocol::resource::Webhook;
use kedge_rules::event::Event;
use kedge_telemetry::TracedDelivery;
use kedge_webhooks::{message, not_made};
use serde_json::json;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::api::bus::actions::receipt_of;
use crate::api::services::ApiServices;

fn body(services: &ApiServices, event: Event) -> Result<Vec<u8>, ApiError> {
    let receipt = match event.action_id {
        Some(_) => receipt_of(services, event.position.sequence)?,
        None => None,
    };
    message::body(event, receipt.as_ref()).map_err(|error| ApiError::internal(&error))
}

/// A thread with a separate runtime, which ends on drop. A batch can be due at thousands of receivers together; sending
/// from the request threads would delay every request.
struct DeliveryRuntime {
    runtime: Handle,
    _ends: oneshot::Sender<Infallible>,
}

impl DeliveryRuntime {
    fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (ends, ended) = oneshot::channel();
        // A thread of the server's runtime, which waits for it before the process ends.
        tokio::task::spawn_blocking(move || {
            let Err(_) = runtime.block_on(ended);
        });
        Ok(Self {
            runtime: handle,
            _ends: ends,
        })
    }
}

/// Carries out the engine's deliveries.
struct DeliveryExecutor {
    services: Arc<ApiServices>,
    /// Lives as long as webhooks are served.
    _apart: DeliveryRuntime,
}

impl DeliveryTransport for DeliveryExecutor {
    fn deliver(&self, parcel: DeliveryRequest) -> DeliveryFuture<DeliveryVerdict> {
        let services = Arc::clone(&self.services);
        Box::pin(async move {
            let DeliveryRequest {
                webhook,
                delivery_id,
                event,
            } = parcel;
            let name = event.event_type.text();
            let sequence = event.action_id.map(|_| event.position.sequence);
            // The failure is already logged.
            let Ok(body) = body(&services, event) else {
                return not_made();
            };
            let tracer = services.tracer.as_ref().zip(sequence);
            let traced = tracer.and_then(|(tracer, sequence)| tracer.delivery(sequence));
            let headers = traced
                .as_ref()
                .map(TracedDelivery::headers)
                .unwrap_or_default();
            let sent = services.webhooks.send(&webhook, delivery_id, body, headers);
            let verdict = sent.await;
            if let Some(traced) = traced {
                let (webhook, delivery) = (webhook.id.to_string(), delivery_id.to_string());
                traced.end(name, webhook, delivery, &verdict);
            }
            verdict
        })
    }

    fn switch_off(&self, webhook: Arc<Webhook>) -> DeliveryFuture<bool> {
        let services = Arc::clone(&self.services);
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

pub async fn start(config: &Config, services: &Arc<ApiServices>) -> Result<(), StartError> {
    let apart = DeliveryRuntime::start()?;
    let options = WebhookOptions {
        runtime: apart.runtime.clone(),
        schedule: RetrySchedule::new(config.webhook_retry_schedule_s.clone()),
        attempts_max: config.webhook_attempts_max,
        attempts_share: share(
            config.webhook_attempts_max,
            config.organization_share_percent,
        ),
        courier: Arc::new(DeliveryExecutor {
            services: Arc::clone(services),
            _apart: apart,
        }),
    };
    services.engine.start_webhooks(options).await
}
