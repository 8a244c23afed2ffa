//! The Rust client against a small server of the tests, which refuses, forgets and lies on demand.

#![allow(clippy::unwrap_used, reason = "a test file: a panic is the failure")]

mod account;
mod once;
mod support;
