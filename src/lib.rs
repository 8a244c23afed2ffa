//! The HTTP edge of the server: configuration, endpoints, authentication, signatures, answers. What
//! a request does is the engine's; this crate lets in only what is well-formed and signed, and
//! writes what comes out.

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
pub mod config;
pub mod cors;
pub mod cursor;
pub mod disputes;
pub mod durable;
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
pub mod search;
pub mod server;
pub mod side_keys;
pub mod signing;
pub mod start;
pub mod stream;
pub mod v2;
pub mod verify;
pub mod views;
pub mod webhooks;
