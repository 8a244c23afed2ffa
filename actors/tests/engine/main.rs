//! The engine on a real store: requests in, durable outcomes out, and the fold of the log equal to the stored state.

#![allow(clippy::unwrap_used, reason = "a test file: a panic is the failure")]

mod apply;
#[path = "../../../tests/support/cuts.rs"]
mod cuts;
mod objects;
mod outside;
mod resources;
mod rotation;
mod supply;
mod support;
mod timing;
