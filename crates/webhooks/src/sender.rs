//! Sending of one message: its headers, signed with the webhook's secrets, and the limit on tests.

use std::sync::Arc;
use std::time::Duration;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use kedge_actors::Engine;
use kedge_actors::fair::{FairPermit, FairQueue, QueueFull, share};
use kedge_config::Config;
use kedge_protocol::Id;
use kedge_protocol::resource::Webhook;

use super::delivery::DeliveryVerdict;
use super::guard::AddressGuard;
use super::post::{PosterError, WebhookPoster};
use super::secret;

/// Header of the message's id, which is the delivery's.
pub const MESSAGE_ID: HeaderName = HeaderName::from_static("webhook-id");
/// Header of the attempt's time, Unix seconds.
pub const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
/// Header of the signatures, separated by spaces.
pub const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

pub struct WebhookSender {
    engine: Engine,
    poster: WebhookPoster,
    tests: Arc<FairQueue<Id>>,
}

impl WebhookSender {
    /// The engine provides the webhooks' secrets and the time.
    pub fn new(config: &Config, engine: Engine) -> Result<Self, PosterError> {
        let poster = WebhookPoster::new(
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
            engine,
            poster,
            tests: FairQueue::new(all, share(all, percent), usize::MAX),
        })
    }

    /// The guard over destinations.
    pub fn guard(&self) -> &AddressGuard {
        self.poster.guard()
    }

    /// Takes one of an organization's places for test messages, released on drop.
    pub fn begin_test(&self, organization: Id) -> Result<FairPermit<Id>, QueueFull> {
        self.tests.try_take(organization)
    }

    /// Test messages of one organization that may be in flight.
    pub fn tests_share(&self) -> usize {
        self.tests.share()
    }

    /// Signs a message with the webhook's current secrets and sends it once. `headers` go with it, unsigned.
    pub async fn send(
        &self,
        webhook: &Webhook,
        id: Id,
        body: Vec<u8>,
        mut headers: HeaderMap,
    ) -> DeliveryVerdict {
        let secrets = self.engine.published().snapshot.secret(webhook.id);
        let secrets = match secrets {
            Ok(Some(secrets)) => secrets,
            Ok(None) => return failed("the webhook has no signing secret; rotate it"),
            Err(error) => {
                tracing::error!(%error, webhook = %webhook.id, "a secret could not be read");
                return not_made();
            }
        };
        let (id, timestamp_s) = (id.to_string(), self.engine.now_ms() / 1_000);
        let signatures = secret::signatures(&secrets, &id, timestamp_s, &body);
        let fields = [
            (MESSAGE_ID, id),
            (TIMESTAMP, timestamp_s.to_string()),
            (SIGNATURE, signatures),
        ];
        for (name, value) in fields {
            let Ok(value) = HeaderValue::from_str(&value) else {
                return not_made();
            };
            headers.insert(name, value);
        }
        let organization = webhook.organization_id;
        self.poster
            .post(organization, &webhook.url, headers, body)
            .await
    }
}

/// The owner's error text when this server failed.
const INSIDE: &str = "the message could not be made; it will be retried";

fn failed(why: &str) -> DeliveryVerdict {
    DeliveryVerdict::Failed {
        status: None,
        error: why.to_owned(),
        retry_after_ms: None,
    }
}

pub(super) fn not_made() -> DeliveryVerdict {
    failed(INSIDE)
}
