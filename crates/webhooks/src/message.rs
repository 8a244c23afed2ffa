//! Body of a webhook message: the event as the API shows it, and the receipt of its action, so the receiver can check
//! that the log holds it without asking.

use kedge_protocol::limits::WEBHOOK_BODY_BYTES_MAX;
use kedge_protocol::receipt::Receipt;
use kedge_protocol::resource::Webhook;
use kedge_protocol::time::rfc3339;
use kedge_protocol::{Id, Prefix};
use kedge_rules::event::Event;
use serde::Serialize;
use serde_json::json;

/// Event type of test messages.
pub const TEST_TYPE: &str = "webhook.test";

#[derive(Serialize)]
struct WebhookRequest<'a> {
    #[serde(flatten)]
    event: &'a Event,
    receipt: Option<&'a Receipt>,
}

/// Makes the body for an event. Data that would make it too large is left out: the action itself contains it.
pub fn body(mut event: Event, receipt: Option<&Receipt>) -> Result<Vec<u8>, serde_json::Error> {
    let message = |event: &Event| serde_json::to_vec(&WebhookRequest { event, receipt });
    let body = message(&event)?;
    if body.len() < WEBHOOK_BODY_BYTES_MAX {
        return Ok(body);
    }
    event.data = json!({ "omitted": true, "bytes": event.data.len() }).to_string();
    message(&event)
}

/// Makes the body of a test message, which looks like an event.
pub fn test_body(webhook: &Webhook, event_id: Id, sequence: u64, now_ms: u64) -> Vec<u8> {
    json!({
        "id": event_id,
        "type": TEST_TYPE,
        "sequence": sequence,
        "position": sequence.to_string(),
        "timestamp": rfc3339(now_ms),
        "organization_id": webhook.organization_id,
        "object_id": null,
        "action_id": null,
        "data": { "webhook_id": webhook.id },
        "receipt": null,
    })
    .to_string()
    .into_bytes()
}

/// Event id of a test message.
pub fn test_event_id(random: [u8; 16]) -> Id {
    Id {
        prefix: Prefix::Event,
        bytes: random,
    }
}

#[cfg(test)]
mod tests {
    use kedge_protocol::event::{EventPosition, EventType};
    use serde_json::Value;

    use super::*;

    fn event(data: String) -> Event {
        Event {
            id: test_event_id([7; 16]),
            event_type: EventType::ObjectUpdated,
            position: EventPosition::start_of(9),
            timestamp_ms: 1,
            organization_id: None,
            object_id: None,
            template_id: None,
            action_id: None,
            data,
        }
    }

    #[test]
    fn large_data_is_left_out_with_a_mark() {
        let of = |bytes: usize| -> (usize, Value) {
            let data = json!({ "a": "x".repeat(bytes) }).to_string();
            let body = body(event(data), None).unwrap();
            (body.len(), serde_json::from_slice(&body).unwrap())
        };
        let (_, small) = of(10);
        assert_eq!(small["data"]["a"], "xxxxxxxxxx");
        assert_eq!(
            (&small["type"], &small["receipt"]),
            (&json!("object.updated"), &Value::Null)
        );
        let (bytes, large) = of(WEBHOOK_BODY_BYTES_MAX);
        assert!(bytes < WEBHOOK_BODY_BYTES_MAX, "{bytes}");
        assert_eq!(
            large["data"],
            json!({ "omitted": true, "bytes": WEBHOOK_BODY_BYTES_MAX + 8 })
        );
        assert_eq!(large["sequence"], 9);
    }
}
