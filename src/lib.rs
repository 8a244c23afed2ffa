//! The server without its command line: its routes and its start. The engine (`kedge-actors`) carries out requests, and
//! `kedge-http` speaks HTTP and admits only well-formed and signed ones; this crate connects the two and writes the
//! answers.
//!
//! - Requests: `server` (begins in `server/dispatch.rs`), `endpoint` (the table of routes), `idempotency`, `call`,
//!   `routes`.
//! - Lists: `listing`. Authentication: `callers`.
//! - Features: `webhooks`, `disputes`.
//! - Operation: `start`, `admin`, `metrics`.
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
