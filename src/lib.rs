//! The server without its command line: its routes, and everything that starts a server. The engine
//! (`kedge-actors`) carries requests out, and `kedge-http` speaks HTTP and lets in only what is well-formed and signed;
//! this crate joins the two, and writes the answers.
//!
//! - One request: `server` (its way is in `server/dispatch.rs`), `endpoint` (the table of routes), `idempotency`,
//!   `call`, `routes`.
//! - What answers share: `listing`.
//! - Who calls: `callers`.
//! - Features: `webhooks`, `disputes`.
//! - The operator's side: `start`, `admin`, `metrics`.
//!
//! The command line is `kedge-cli`; the program (`main.rs`) passes it the server.

pub mod admin;
pub mod app;
pub mod call;
pub mod callers;
pub mod disputes;
pub mod endpoint;
pub mod idempotency;
pub mod listing;
pub mod metrics;
pub mod routes;
pub mod server;
pub mod start;
pub mod webhooks;
