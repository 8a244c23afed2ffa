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

pub mod accounts;
pub mod bus;
pub mod call;
mod codes;
pub mod committed_answer;
pub mod disputes;
pub mod document;
pub mod endpoint;
pub mod events;
pub mod files;
pub mod idempotency;
pub mod keys;
pub mod listing;
pub mod log;
pub mod objects;
pub mod organization;
mod router;
mod row;
pub mod service;
pub mod services;
mod table;
pub mod templates;
pub mod view_conversion;
pub mod webhooks;

pub use endpoint::EndpointRow;
pub use router::{EndpointRouter, RouteMatch};
pub use table::{TABLE, documented};

/// Caching of answers for one caller.
const PRIVATE: &str = "private, no-cache";
/// Caching of public answers that may change.
const PUBLIC: &str = "public, no-cache";
/// Caching of public answers that never change.
const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// Reason for breaking off a download whose place was reassigned.
const PLACE_LOST: &str = "all downloads are in use, and a caller with fewer got this one's place";

#[cfg(test)]
mod tests;
