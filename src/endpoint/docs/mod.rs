//! What the document states about each endpoint beyond its row: name, words, and where to continue with its answer.
//! Examples are in `openapi/src/examples.json`.

pub(super) mod accounts;
pub(super) mod bus;
pub(super) mod disputes;
pub(super) mod events;
pub(super) mod files;
pub(super) mod keys;
pub(super) mod log;
pub(super) mod objects;
pub(super) mod organization;
pub(super) mod service;
pub(super) mod templates;
pub(super) mod webhooks;

use kedge_http::query::Parameter;
use kedge_openapi::Link;

/// The condition for changes of anything but objects.
const IF_MATCH: &[Parameter] = &[Parameter {
    name: "If-Match",
    schema_type: r#"{"type": "string", "pattern": "^(\\*|\"[0-9]{1,20}\\.[0-9a-f]{16}(\\.[0-9a-f]{32})?\")$"}"#,
    description: "The ETag of the state that the change is meant for; 412 if that state has changed.",
}];

/// To the action that a change made, and to its proof.
const TO_ACTION: Link = Link::with_parameters("getAction", &[("id", "$response.body#/action_id")]);
const TO_PROOF: Link =
    Link::with_parameters("getActionProof", &[("id", "$response.body#/action_id")]);
