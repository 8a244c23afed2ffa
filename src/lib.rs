//! The server without its command line: the HTTP edge, and everything that starts, keeps and checks a server. The
//! engine (`kedge-actors`) carries requests out; this crate lets in only what is well-formed and signed, and writes the
//! answers.
//!
//! - One request: `server` (its way is in `server/dispatch.rs`), `endpoint` (the table of routes), `auth`, `limits`,
//!   `body`, `signing`, `idempotency`, `conditional`, `call`, `routes`, `shown`, `envelope`, `error`, `cors`, `v2`.
//! - What answers share: `listing`, `cursor`, `query`, `range`, `stream`, `batches`.
//! - The API's document: `openapi`.
//! - Features: `events`, `files`, `webhooks`, `disputes`, `claims`.
//! - The operator's side: `start`, `admin`, `operator`, `metrics`, `logging`, `clock`.
//! - Copies and repairs: `backup`, `archive`, `rebuild`, `verify`, `side_keys`.
//!
//! The command line is `cli`, in the program (`main.rs`).

pub mod admin;
pub mod app;
pub mod archive;
pub mod auth;
pub mod backup;
pub mod batches;
pub mod body;
pub mod call;
pub mod claims;
pub mod clock;
pub mod conditional;
pub mod cors;
pub mod cursor;
pub mod disputes;
pub mod endpoint;
pub mod envelope;
pub mod error;
pub mod events;
pub mod files;
pub mod idempotency;
pub mod limits;
pub mod listing;
pub mod logging;
pub mod metrics;
pub mod openapi;
pub mod operator;
pub mod query;
pub mod range;
pub mod rebuild;
pub mod routes;
pub mod server;
pub mod shown;
pub mod side_keys;
pub mod signing;
pub mod start;
pub mod stream;
pub mod v2;
pub mod verify;
pub mod webhooks;
