//! Webhook messages in the document: a callback of the request that creates a webhook. Generators support callbacks,
//! while some break at the document's `webhooks`.

use serde_json::{Value, json};

use crate::api::document::SchemaCollector;
use crate::api::webhooks::views::ReceivedMessage;

const DESCRIPTION: &str = "What a webhook's URL receives, at least once for every event of its \
    types, signed as Standard Webhooks 1.0 specifies: the base64 HMAC-SHA-256 of `webhook-id`, \
    `webhook-timestamp` and the body, joined by dots, under the secret after `whsec_`. The same \
    event has the same `webhook-id` at every attempt.";

/// The operation with the callback.
const CREATES: &str = "createWebhook";

/// The callbacks of an operation, if it has any.
pub(crate) fn callbacks_of(operation: &str, schemas: &mut SchemaCollector) -> Option<Value> {
    (operation == CREATES).then(|| json!({ "event": { "{$request.body#/url}": message(schemas) } }))
}

/// The only message.
fn message(schemas: &mut SchemaCollector) -> Value {
    let schema = schemas.writing.subschema_for::<ReceivedMessage>();
    let header = |name: &str, description: &str| {
        json!({
            "name": name,
            "in": "header",
            "required": true,
            "description": description,
            "schema": { "type": "string" },
        })
    };
    json!({ "post": {
        "operationId": "receiveEvent",
        "tags": ["Webhooks"],
        "summary": "An event, as it is sent to a webhook",
        "description": DESCRIPTION,
        "security": [],
        "parameters": [
            header("webhook-id", "The delivery's id."),
            header("webhook-timestamp", "When this attempt was made, Unix seconds."),
            header("webhook-signature", "`v1,` and the signature; two, separated by a space, while a rotation's overlap lasts."),
        ],
        "requestBody": {
            "required": true,
            "content": { "application/json": { "schema": schema } },
        },
        "responses": {
            "2XX": { "description": "The event was accepted." },
            "410": { "description": "The receiver is gone for good: the webhook is switched off." },
            "default": { "description": "Not accepted: it is sent again later, after `Retry-After` if that is longer." },
        },
    } })
}
