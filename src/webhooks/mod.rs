//! Webhooks, seen from outside: what is sent, signed, and where to. The engine's [`webhooks`](kedge_actors::webhooks)
//! decide when and in which order.

pub mod guard;
pub mod message;
pub mod post;
pub mod secret;

use std::sync::Arc;
use std::time::Duration;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use kedge_actors::StartError;
use kedge_actors::fair::{Full, Turn, Turns, share};
use kedge_actors::webhooks::{Boxed, Courier, Parcel, Schedule, Verdict, WebhookOptions};
use kedge_config::Config;
use kedge_protocol::Id;
use kedge_protocol::action::Kind;
use kedge_protocol::resource::Webhook;
use serde_json::json;

use crate::app::App;
use crate::clock::now_s;
use crate::error::ApiError;
use crate::limits::Share;
use post::{Poster, PosterError};

/// The message's id: that of the delivery.
pub const MESSAGE_ID: HeaderName = HeaderName::from_static("webhook-id");
/// When the attempt was made, Unix seconds.
pub const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
/// The signatures, separated by spaces.
pub const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// Sends messages to webhooks.
pub struct Sender {
    poster: Poster,
    tests: Arc<Turns<Id>>,
}

impl Sender {
    /// A sender with the configured settings.
    pub fn new(config: &Config) -> Result<Self, PosterError> {
        let poster = Poster::new(
            config.webhook_allowed_networks.clone(),
            config.organization_share_percent,
            Duration::from_secs(config.webhook_timeout_s),
            config.webhook_ca_file.as_deref(),
        )?;
        let (all, percent) = (
            config.webhook_attempts_max,
            config.organization_share_percent,
        );
        Ok(Self {
            poster,
            tests: Turns::new(all, share(all, percent), usize::MAX),
        })
    }

    /// The guard that decides where webhooks may go.
    pub fn guard(&self) -> &guard::Guard {
        self.poster.guard()
    }

    /// Takes a turn for a test message of an organization, which lasts until it is dropped.
    pub fn begin_test(&self, organization: Id) -> Result<Turn<Id>, ApiError> {
        let turn = self.tests.try_take(organization);
        turn.map_err(|full| match full {
            Full::Share => Share::WebhookTests.refused(self.tests.share()),
            Full::All => ApiError::overloaded(),
        })
    }

    /// Signs a message with the webhook's current secrets, and sends it once.
    pub async fn send(&self, app: &App, webhook: &Webhook, id: Id, body: Vec<u8>) -> Verdict {
        let secrets = app.published().snapshot.secret(webhook.id);
        let secrets = match secrets {
            Ok(Some(secrets)) => secrets,
            Ok(None) => return failed("the webhook has no signing secret; rotate it"),
            Err(error) => {
                tracing::error!(%error, webhook = %webhook.id, "a secret could not be read");
                return failed(INSIDE);
            }
        };
        let (id, timestamp_s) = (id.to_string(), now_s());
        let signatures = secret::signatures(&secrets, &id, timestamp_s, &body);
        let mut headers = HeaderMap::new();
        let fields = [
            (MESSAGE_ID, id),
            (TIMESTAMP, timestamp_s.to_string()),
            (SIGNATURE, signatures),
        ];
        for (name, value) in fields {
            let Ok(value) = HeaderValue::from_str(&value) else {
                return failed(INSIDE);
            };
            headers.insert(name, value);
        }
        let organization = webhook.organization_id;
        self.poster
            .post(organization, &webhook.url, headers, body)
            .await
    }
}

/// What the owner sees when this server itself failed.
const INSIDE: &str = "the message could not be made; it will be retried";

fn failed(why: &str) -> Verdict {
    Verdict::Failed {
        status: None,
        error: why.to_owned(),
        retry_after_ms: None,
    }
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
            // The failure is already logged.
            let Ok(body) = message::body(&app, event) else {
                return failed(INSIDE);
            };
            app.webhooks.send(&app, &webhook, delivery_id, body).await
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
            let done = operator.act(&app, organization, kind, webhook.id, &payload, None);
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
