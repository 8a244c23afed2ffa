//! The rules as a whole: random histories against a small independent model, the table of rights, schemas, and sizes to
//! the byte.

#![allow(clippy::unwrap_used, reason = "a test file: a panic is the failure")]

mod attempts;
mod bounds;
mod claims;
mod compiled;
mod folds;
mod history;
mod keys;
mod limits;
mod log;
mod members;
mod model;
mod objects;
mod rights;
mod schemas;
mod sequencer_keys;
mod sources;
mod templates;
mod texts;
mod wallets;
mod work;
mod world;
