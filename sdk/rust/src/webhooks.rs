//! Webhooks: making and changing them, and what they were sent.

use bytes::Bytes;
use hyper::Method;
use kedge_protocol::action::Kind;
use kedge_protocol::{Hash, Id, Prefix};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::account::Account;
use crate::error::Result;
use crate::page::{ListQuery, Pages};
use crate::types::Changed;

/// A webhook to be created.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NewWebhook {
    /// An https URL on the public internet.
    pub url: String,
    /// Types of events; `*` is every type.
    pub events: Vec<String>,
    /// Whether events are sent.
    pub active: bool,
    /// What it is for.
    pub description: String,
}

/// A change of a webhook; `None` keeps the current value.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct WebhookChange {
    /// The target URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Types of events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<String>>,
    /// Whether events are sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// A webhook.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Webhook {
    /// Its identifier.
    pub id: Id,
    /// The organization whose events are sent.
    pub organization_id: Id,
    /// The target URL.
    pub url: String,
    /// Types of events; `*` is every type.
    pub events: Vec<String>,
    /// Whether events are sent.
    pub active: bool,
    /// What it is for.
    pub description: String,
    /// The signing secret, `whsec_…`: only in the answer that created it.
    #[serde(default)]
    pub secret: Option<String>,
    /// How many actions it is the result of.
    pub version: u64,
    /// The hash over those actions.
    pub integrity_hash: Hash,
    /// The last action's sequence.
    pub sequence: u64,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub updated_at: String,
}

/// The delivery of an event to a webhook.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Delivery {
    /// Its identifier: `webhook-id` of the message, the same at every attempt.
    pub id: Id,
    /// The webhook.
    pub webhook_id: Id,
    /// The event.
    pub event_id: Id,
    /// The event's type.
    pub event_type: String,
    /// `pending`, `delivered` or `failed`.
    pub status: String,
    /// How many attempts were made.
    pub attempts: u32,
    /// The HTTP status of the last answer.
    pub response_status: Option<u16>,
    /// Why the last attempt failed.
    pub error: Option<String>,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub last_attempt_at: Option<String>,
    /// RFC 3339.
    pub next_attempt_at: Option<String>,
}

impl Account {
    /// Creates a webhook; the answer holds its secret.
    pub async fn create_webhook(&self, webhook: &NewWebhook) -> Result<Changed<Webhook>> {
        let made = |made: &Webhook| Some((Prefix::Webhook, made.id));
        self.create("/webhooks", Kind::WebhookCreate, "", webhook, made)
            .await
    }

    /// Changes a webhook.
    pub async fn update_webhook(&self, id: Id, change: &WebhookChange) -> Result<Changed<Webhook>> {
        let path = format!("/webhooks/{id}");
        self.change(Method::PATCH, &path, Kind::WebhookUpdate, id, change)
            .await
    }

    /// Deletes a webhook.
    pub async fn delete_webhook(&self, id: Id) -> Result<Changed<Webhook>> {
        let path = format!("/webhooks/{id}");
        self.delete(&path, Kind::WebhookDelete, id, String::new())
            .await
    }

    /// Replaces a webhook's secret; the answer holds the new one, and both sign for `overlap_s`.
    pub async fn rotate_webhook(&self, id: Id, overlap_s: u64) -> Result<Changed<Webhook>> {
        let path = format!("/webhooks/{id}/rotate");
        let body = json!({ "overlap_s": overlap_s });
        self.change(Method::POST, &path, Kind::WebhookRotate, id, &body)
            .await
    }

    /// A webhook.
    pub async fn webhook(&self, id: Id) -> Result<Webhook> {
        self.get(&format!("/webhooks/{id}"), "a webhook").await
    }

    /// The organization's webhooks.
    pub fn webhooks(&self, query: &ListQuery) -> Pages<Webhook> {
        self.list("/webhooks".to_owned(), query)
    }

    /// A webhook's deliveries, newest first.
    pub fn deliveries(&self, webhook_id: Id, query: &ListQuery) -> Pages<Delivery> {
        self.list(format!("/webhooks/{webhook_id}/deliveries"), query)
    }

    /// Sends a test event at once, and returns the result.
    pub async fn test_webhook(&self, id: Id) -> Result<Delivery> {
        self.send_anew(&format!("/webhooks/{id}/test")).await
    }

    /// Repeats a delivery, at once.
    pub async fn redeliver(&self, webhook_id: Id, delivery_id: Id) -> Result<Delivery> {
        let path = format!("/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver");
        self.send_anew(&path).await
    }

    async fn send_anew(&self, path: &str) -> Result<Delivery> {
        self.ask(Method::POST, path, Bytes::new(), "a delivery")
            .await
    }
}
