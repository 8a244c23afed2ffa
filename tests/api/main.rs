//! The whole server over HTTP: the real binary, its own store and chain, real signatures.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod accounts;
mod answers;
mod bad_input;
mod caller;
mod claims;
mod client;
#[path = "../support/cuts.rs"]
mod cuts;
mod disputes;
#[path = "../support/documented.rs"]
mod documented;
mod edge;
mod event_stream;
mod events;
mod export;
mod files;
#[path = "../support/forgery.rs"]
mod forgery;
mod harness;
mod history;
#[path = "../support/honest.rs"]
mod honest;
mod honest_log;
mod idempotency;
mod index;
mod keys;
mod limits;
mod lists;
mod log_quota;
mod members;
mod objects;
mod overload;
mod preview;
mod privileges;
#[path = "../support/program.rs"]
mod program;
mod public_log;
#[path = "../support/remade.rs"]
mod remade;
mod search;
mod shares;
mod streams;
mod streams_many;
mod supply;
mod templates;
mod torn_files;
mod transport;
mod v2;
mod webhooks;
