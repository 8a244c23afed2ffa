//! What the engine's webhooks need of this server: the message of each event, which [`kedge_webhooks`] sends, and the
//! action that switches a webhook off.

use std::sync::Arc;

use kedge_actors::StartError;
use kedge_actors::fair::share;
use kedge_actors::webhooks::{Boxed, Courier, Parcel, Schedule, Verdict, WebhookOptions};
use kedge_config::Config;
use kedge_http::error::ApiError;
use kedge_machine::event::Event;
use kedge_protocol::action::Kind;
use kedge_protocol::resource::Webhook;
use kedge_telemetry::Delivery;
use kedge_webhooks::{message, not_made};
use serde_json::json;

use crate::app::App;
use crate::routes::actions::receipt_of;

/// The body that reports an event.
fn body(app: &App, event: Event) -> Result<Vec<u8>, ApiError> {
    let receipt = match event.action_id {
        Some(_) => receipt_of(app, event.position.sequence)?,
        None => None,
    };
    message::body(event, receipt.as_ref()).map_err(|error| ApiError::internal(&error))
}

/// Carries out the engine's deliveries.
struct Bringer(Arc<App>);

impl Courier for Bringer {
    fn deliver(&self, parcel: Parcel) -> Boxed<Verdict> {
        let app = Arc::clone(&self.0);
        Box::pin(async move {
            let Parcel {
                webhook,
                delivery_id,
                event,
            } = parcel;
            let name = event.event_type.text();
            let sequence = event.action_id.map(|_| event.position.sequence);
            // The failure is already logged.
            let Ok(body) = body(&app, event) else {
                return not_made();
            };
            let tracer = app.tracer.as_ref().zip(sequence);
            let traced = tracer.and_then(|(tracer, sequence)| tracer.delivery(sequence));
            let headers = traced.as_ref().map(Delivery::headers).unwrap_or_default();
            let sent = app.webhooks.send(&webhook, delivery_id, body, headers);
            let verdict = sent.await;
            if let Some(traced) = traced {
                let (webhook, delivery) = (webhook.id.to_string(), delivery_id.to_string());
                traced.end(name, webhook, delivery, &verdict);
            }
            verdict
        })
    }

    fn switch_off(&self, webhook: Arc<Webhook>) -> Boxed<bool> {
        let app = Arc::clone(&self.0);
        Box::pin(async move {
            let Some(operator) = &app.operator else {
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

/// Starts serving all webhooks.
pub async fn start(config: &Config, app: &Arc<App>) -> Result<(), StartError> {
    let options = WebhookOptions {
        schedule: Schedule::new(config.webhook_retry_schedule_s.clone()),
        attempts_max: config.webhook_attempts_max,
        attempts_share: share(
            config.webhook_attempts_max,
            config.organization_share_percent,
        ),
        courier: Arc::new(Bringer(Arc::clone(app))),
    };
    app.engine.start_webhooks(options).await
}
