//! Bodies of requests about webhooks.

#![expect(
    dead_code,
    reason = "the rules read bodies from the signed text; these types describe them"
)]

use kedge_protocol::event::EventType;
use kedge_protocol::limits::{DESCRIPTION_CHARS_MAX, URL_BYTES_MAX, WEBHOOK_EVENTS_MAX};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// Where events are sent, and which.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct WebhookBody {
    /// An https URL whose host is on the public internet.
    #[schemars(length(max = URL_BYTES_MAX), regex(pattern = URL_PATTERN))]
    url: String,
    /// Types of events, each once; `*` is every type.
    #[schemars(length(min = 1, max = WEBHOOK_EVENTS_MAX))]
    events: Vec<EventTypeInput>,
    /// Whether anything is sent.
    #[schemars(default = "yes")]
    active: bool,
    /// What it is for.
    #[schemars(default, length(max = DESCRIPTION_CHARS_MAX))]
    description: String,
}

fn yes() -> bool {
    true
}

/// The changes to a webhook.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct WebhookPatch {
    /// An https URL whose host is on the public internet.
    #[schemars(length(max = URL_BYTES_MAX), regex(pattern = URL_PATTERN))]
    url: Option<String>,
    /// Types of events, each once; `*` is every type.
    #[schemars(length(min = 1, max = WEBHOOK_EVENTS_MAX))]
    events: Option<Vec<EventTypeInput>>,
    /// Whether anything is sent.
    active: Option<bool>,
    /// What it is for.
    #[schemars(length(max = DESCRIPTION_CHARS_MAX))]
    description: Option<String>,
}

/// A host, optionally a port and a path; no credentials and no fragment.
const URL_PATTERN: &str = "^https?://[^/?#@\\s]+([/?][!-\"$-~]*)?$";

/// A type of events.
struct EventTypeInput;

impl JsonSchema for EventTypeInput {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "WantedEvent".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let types = EventType::ALL.iter().map(|known| known.text());
        let types: Vec<&str> = types.chain(["*"]).collect();
        json_schema!({ "type": "string", "enum": types })
    }
}
