//! Webhooks and their deliveries.

use kedge_http::scalars::{HashText, ResourceIdText, TimeText};
use kedge_protocol::receipt::Receipt;
use kedge_protocol::resource::Webhook;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::events::views::EventView;

/// A webhook.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WebhookView {
    /// Its id.
    pub id: ResourceIdText,
    /// The organization whose events are sent.
    pub organization_id: ResourceIdText,
    /// The URL that receives the messages.
    pub url: String,
    /// Types of events; `*` is every type.
    pub events: Vec<String>,
    /// While false, nothing is sent.
    pub active: bool,
    /// What it is for.
    pub description: String,
    /// When it was created.
    pub created_at: TimeText,
    /// When it was last changed.
    pub updated_at: TimeText,
    /// How many actions have created and changed it.
    pub version: u64,
    /// The hash over those actions.
    pub integrity_hash: HashText,
    /// The last one's sequence.
    pub sequence: u64,
}

impl From<Webhook> for WebhookView {
    fn from(webhook: Webhook) -> Self {
        Self {
            id: ResourceIdText(webhook.id),
            organization_id: ResourceIdText(webhook.organization_id),
            url: webhook.url,
            events: webhook.events,
            active: webhook.active,
            description: webhook.description,
            created_at: TimeText(webhook.trace.created_at_ms),
            updated_at: TimeText(webhook.trace.updated_at_ms),
            version: webhook.trace.version,
            integrity_hash: HashText(webhook.trace.integrity),
            sequence: webhook.trace.sequence,
        }
    }
}

/// A webhook with a new signing secret.
#[derive(Serialize, JsonSchema)]
pub struct WebhookWithSecret {
    /// The webhook.
    #[serde(flatten)]
    pub webhook: WebhookView,
    /// The secret that signs from now on, `whsec_…` (Standard Webhooks). Shown only in this answer, and in a
    /// replay to the same signer.
    pub secret: String,
}

/// What a webhook's URL receives.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(
    clippy::large_enum_variant,
    reason = "it is there for its schema; no value of it is made"
)]
pub enum ReceivedMessage {
    /// An event.
    Event(WebhookMessage),
    /// A test.
    Test(TestMessage),
}

/// A message to a webhook: the event, with the receipt of its action.
#[derive(JsonSchema)]
#[expect(
    dead_code,
    reason = "described by its schema; the message is written elsewhere"
)]
pub struct WebhookMessage {
    #[schemars(flatten)]
    event: EventView,
    /// Proof that the log holds the action; null if there is none.
    receipt: Option<Receipt>,
}

/// A test message to a webhook.
#[derive(JsonSchema)]
#[expect(
    dead_code,
    reason = "described by its schema; the message is written elsewhere"
)]
pub struct TestMessage {
    id: ResourceIdText,
    /// `webhook.test`.
    r#type: String,
    /// The log's last sequence.
    sequence: u64,
    position: String,
    timestamp: TimeText,
    organization_id: ResourceIdText,
    /// Always null.
    object_id: Option<ResourceIdText>,
    /// Always null.
    action_id: Option<ResourceIdText>,
    data: TestData,
    /// Always null.
    receipt: Option<Receipt>,
}

#[derive(JsonSchema)]
#[expect(
    dead_code,
    reason = "described by its schema; the message is written elsewhere"
)]
struct TestData {
    /// The tested webhook.
    webhook_id: ResourceIdText,
}

/// The delivery of an event to a webhook.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeliveryView {
    /// Its id: `webhook-id` of the message, the same for every attempt.
    pub id: ResourceIdText,
    /// The webhook.
    pub webhook_id: ResourceIdText,
    /// The event.
    pub event_id: ResourceIdText,
    /// The type of the event.
    pub event_type: String,
    /// The object of the event.
    pub object_id: Option<ResourceIdText>,
    /// `pending`: another attempt will be made; `delivered`; `failed`: given up.
    pub status: &'static str,
    /// How many attempts were made.
    pub attempts: u32,
    /// The HTTP status of the last answer.
    pub response_status: Option<u16>,
    /// Why the last attempt failed.
    pub error: Option<String>,
    /// When it was queued.
    pub created_at: TimeText,
    /// When the last attempt began.
    pub last_attempt_at: Option<TimeText>,
    /// When the next one is due.
    pub next_attempt_at: Option<TimeText>,
}
