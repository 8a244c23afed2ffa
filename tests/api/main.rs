//! The whole server over HTTP: the real binary, its own store and chain, real signatures.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod accounts;
mod bad_input;
mod harness;
mod idempotency;
mod limits;
mod lists;
mod objects;
mod preview;
mod public_log;
mod templates;
mod transport;
