//! Webhooks and their deliveries.

use bytes::Bytes;
use hyper::Method;
use kedge_protocol::action::Kind;
use kedge_protocol::{Hash, Id, Prefix};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::account::Account;
use crate::error::ClientResult;
use crate::page::{ListQuery, Pages};
use crate::types::ChangedResource;

/// A new webhook.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NewWebhook {
    /// An https URL on the public internet.
    pub url: String,
    /// Event types; `*` stands for all.
    pub events: Vec<String>,
    /// Whether events are sent.
    pub active: bool,
    /// Purpose of the webhook.
    pub description: String,
}

/// A change of a webhook; `None` keeps the current value.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct WebhookChange {
    /// Target URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Event types; `*` stands for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<String>>,
    /// Whether events are sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    /// Purpose of the webhook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// A webhook of an organization.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct WebhookResource {
    /// Its identifier.
    pub id: Id,
    /// The organization whose events are sent.
    pub organization_id: Id,
    /// Target URL.
    pub url: String,
    /// Event types; `*` stands for all.
    pub events: Vec<String>,
    /// Whether events are sent.
    pub active: bool,
    /// Purpose of the webhook.
    pub description: String,
    /// Signing secret, `whsec_…`; only in the answer that created it.
    #[serde(default)]
    pub secret: Option<String>,
    /// Number of actions on the webhook.
    pub version: u64,
    /// Hash over these actions.
    pub integrity_hash: Hash,
    /// Sequence of the last action.
    pub sequence: u64,
    /// Creation time, RFC 3339.
    pub created_at: String,
    /// Time of the last change, RFC 3339.
    pub updated_at: String,
}

/// Delivery of an event to a webhook.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct DeliveryResource {
    /// Identifier; the `webhook-id` of the message, the same at every attempt.
    pub id: Id,
    /// The webhook.
    pub webhook_id: Id,
    /// The event.
    pub event_id: Id,
    /// The event's type.
    pub event_type: String,
    /// `pending`, `delivered` or `failed`.
    pub status: String,
    /// Number of attempts so far.
    pub attempts: u32,
    /// HTTP status of the last answer.
    pub response_status: Option<u16>,
    /// Error of the last attempt.
    pub error: Option<String>,
    /// Creation time, RFC 3339.
    pub created_at: String,
    /// Time of the last attempt, RFC 3339.
    pub last_attempt_at: Option<String>,
    /// Time of the next attempt, RFC 3339.
    pub next_attempt_at: Option<String>,
}

impl Account {
    /// Creates a webhook. The answer holds its secret.
    pub async fn create_webhook(
        &self,
        webhook: &NewWebhook,
    ) -> ClientResult<ChangedResource<WebhookResource>> {
        let made = |made: &WebhookResource| Some((Prefix::Webhook, made.id));
        self.create("/webhooks", Kind::WebhookCreate, "", webhook, made)
            .await
    }

    /// Changes a webhook.
    pub async fn update_webhook(
        &self,
        id: Id,
        change: &WebhookChange,
    ) -> ClientResult<ChangedResource<WebhookResource>> {
        let path = format!("/webhooks/{id}");
        self.change(Method::PATCH, &path, Kind::WebhookUpdate, id, change)
            .await
    }

    /// Deletes a webhook.
    pub async fn delete_webhook(&self, id: Id) -> ClientResult<ChangedResource<WebhookResource>> {
        let path = format!("/webhooks/{id}");
        self.delete(&path, Kind::WebhookDelete, id, String::new())
            .await
    }

    /// Replaces a webhook's secret. The answer holds the new one; messages carry signatures of both for `overlap_s`
    /// seconds.
    pub async fn rotate_webhook(
        &self,
        id: Id,
        overlap_s: u64,
    ) -> ClientResult<ChangedResource<WebhookResource>> {
        let path = format!("/webhooks/{id}/rotate");
        let body = json!({ "overlap_s": overlap_s });
        self.change(Method::POST, &path, Kind::WebhookRotate, id, &body)
            .await
    }

    /// Reads a webhook.
    pub async fn webhook(&self, id: Id) -> ClientResult<WebhookResource> {
        self.get(&format!("/webhooks/{id}"), "a webhook").await
    }

    /// Lists the organization's webhooks.
    pub fn webhooks(&self, query: &ListQuery) -> Pages<WebhookResource> {
        self.list("/webhooks".to_owned(), query)
    }

    /// Lists a webhook's deliveries, newest first.
    pub fn deliveries(&self, webhook_id: Id, query: &ListQuery) -> Pages<DeliveryResource> {
        self.list(format!("/webhooks/{webhook_id}/deliveries"), query)
    }

    /// Sends a test event immediately, and returns its delivery.
    pub async fn test_webhook(&self, id: Id) -> ClientResult<DeliveryResource> {
        self.send_anew(&format!("/webhooks/{id}/test")).await
    }

    /// Repeats a delivery immediately.
    pub async fn redeliver(
        &self,
        webhook_id: Id,
        delivery_id: Id,
    ) -> ClientResult<DeliveryResource> {
        let path = format!("/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver");
        self.send_anew(&path).await
    }

    async fn send_anew(&self, path: &str) -> ClientResult<DeliveryResource> {
        self.ask(Method::POST, path, Bytes::new(), "a delivery")
            .await
    }
}
