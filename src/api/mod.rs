//! The API, one folder a heading of its document: `rows` (its endpoints and their words), `handlers` (what they do),
//! `views` (the JSON of answers), `bodies` (the JSON Schema of requests) and recorded examples.
//!
//! - An endpoint: [`endpoint`] (what a row of the table is), `row` (values that most rows share), [`TABLE`],
//!   [`EndpointRouter`], `codes` (the errors that a row can give), [`document`] (the OpenAPI document).
//! - A request: [`call`], [`idempotency`]. Handlers answer what is not signed. A signed request has what it needs
//!   before it is submitted, and its answer ([`committed_answer`]).
//! - An answer: [`listing`] (pages), [`view_conversion`] (what the engine and the store hold, as views).
//!
//! Reads use the published snapshot and wait for no actor. Pages of lists and pieces of exports are read and written on
//! threads for blocking work, never on the runtime's workers. Every row has a counterpart in `tests/walk/`, written
//! from the documents and not from the code: it is called well and in every way wrong.

/// Accounts: registering, logging in, a wallet and its signing keys.
pub mod accounts {
    pub mod bodies;
    pub mod handlers;
    pub mod rows;
    pub mod views;
}

/// The action bus: actions, batches, previews, and their history.
pub mod bus {
    pub mod actions;
    pub mod batch_answer;
    pub mod bodies;
    pub mod handlers;
    pub mod preview;
    pub mod preview_views;
    pub mod rows;
    pub mod views;
}

/// Disputes and claims.
pub mod disputes {
    pub mod bodies;
    pub mod handlers;
    pub mod recorder;
    pub mod rows;
    pub mod views;
}

/// Events: lists and streams.
pub mod events {
    pub mod handlers;
    pub mod rows;
    pub mod views;
}

/// Files, and the export of an organization.
pub mod files {
    pub mod bodies;
    pub mod export;
    pub mod handlers;
    pub mod rows;
    pub mod views;
}

/// API keys.
pub mod keys {
    pub mod bodies;
    pub mod handlers;
    pub mod rows;
    pub mod views;
}

/// The log: batches, anchors, checkpoints and the keys that signed them.
pub mod log {
    pub mod anchors;
    pub mod batches;
    pub mod rows;
    pub mod sequencer_key_view;
    pub mod sequencer_keys;
    pub mod views;
}

/// Objects: reading, searching and changing them.
pub mod objects {
    pub mod bodies;
    pub mod handlers;
    pub mod history;
    pub mod list;
    pub mod rows;
    pub mod search;
    pub mod search_bodies;
    pub mod views;
}

/// The organization: its members, invitations and usage.
pub mod organization {
    pub mod bodies;
    pub mod handlers;
    pub mod members;
    pub mod rows;
    pub mod views;
}

/// The service itself: health, versions, documents.
pub mod service {
    pub mod handlers;
    pub mod reference;
    pub mod rows;
    pub mod views;
}

/// The state: proofs of what the log has made of a resource.
pub mod state {
    pub mod handlers;
    mod past_templates;
    pub mod rows;
    pub mod views;
}

/// Templates and their variations.
pub mod templates {
    pub mod bodies;
    pub mod handlers;
    pub mod rows;
    pub mod views;
}

/// Webhooks and their deliveries.
pub mod webhooks {
    pub mod bodies;
    pub mod handlers;
    pub mod rows;
    pub mod views;
}

pub mod call;
mod codes;
pub mod committed_answer;
pub mod document;
pub mod endpoint;
pub mod idempotency;
pub mod listing;
mod router;
mod row;
pub mod services;
pub mod view_conversion;

use std::collections::BTreeSet;
use std::sync::{LazyLock, OnceLock};

use kedge_http::fixed_body::FixedBody;
use kedge_protocol::Code;

use document::ApiHeading;
pub use endpoint::EndpointRow;
pub use router::{EndpointRouter, RouteMatch};

/// The headings of the document, in reading order.
pub static HEADINGS: &[&ApiHeading] = &[
    &accounts::rows::HEADING,
    &organization::rows::HEADING,
    &keys::rows::HEADING,
    &templates::rows::HEADING,
    &objects::rows::HEADING,
    &bus::rows::HEADING,
    &events::rows::HEADING,
    &files::rows::HEADING,
    &webhooks::rows::HEADING,
    &log::rows::HEADING,
    &state::rows::HEADING,
    &service::rows::HEADING,
];

/// The rows of all endpoints, in reading order.
pub static TABLE: LazyLock<Vec<EndpointRow>> = LazyLock::new(|| {
    let mut table = Vec::new();
    table.extend(accounts::rows::rows());
    table.extend(organization::rows::rows());
    table.extend(keys::rows::rows());
    table.extend(templates::rows::rows());
    table.extend(objects::rows::rows());
    table.extend(bus::rows::rows());
    table.extend(events::rows::rows());
    table.extend(files::rows::rows());
    table.extend(webhooks::rows::rows());
    table.extend(log::rows::rows());
    table.extend(state::rows::rows());
    table.extend(disputes::rows::rows());
    table.extend(service::rows::rows());
    table
});

/// The codes of each row of [`TABLE`], by index.
static CODES: LazyLock<Vec<BTreeSet<Code>>> =
    LazyLock::new(|| TABLE.iter().map(EndpointRow::codes).collect());

/// [`EndpointRow::codes`] of a row of [`TABLE`], computed once: every refusal is compared with them, and a refusal must
/// cost next to nothing.
pub fn documented(index: usize) -> &'static BTreeSet<Code> {
    &CODES[index]
}

/// The OpenAPI document, made at the first call.
pub fn served_document() -> &'static FixedBody {
    static DOCUMENT: OnceLock<FixedBody> = OnceLock::new();
    DOCUMENT.get_or_init(|| {
        let document = document::document(HEADINGS, &TABLE);
        let json = serde_json::to_vec(&document).unwrap_or_default();
        FixedBody::new("application/json", json)
    })
}

#[cfg(test)]
mod tests;
