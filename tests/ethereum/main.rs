//! The server and the watchtower with Ethereum nodes, honest ones and liars, and the contracts on them.

#![allow(clippy::unwrap_used, reason = "a test file: a panic is the failure")]

mod anchor;
mod bond;
mod nodes;
mod resolver;
mod rotation;
mod state_cases;
#[path = "../support/mod.rs"]
mod support;
mod watch;
