//! The chain crate against a real node (Anvil), and the embedded chain against that node.
//!
//! Needs `npm ci --prefix crates/chain/tests/anvil` once; `make test` does it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod anchored_events;
mod bond;
mod embedded;
mod journal;
mod parity;
mod responder;
mod rpc_client;
mod sender_errors;
mod sender_life;
mod state_cases;
mod state_evidence;
mod support;
mod verdicts;
