//! The whole server over HTTP: the real binary, its own store and chain, real signatures. Also the table of files with
//! the verdict of every checker.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod access;
mod caller;
mod capacity;
#[path = "../support/cuts.rs"]
mod cuts;
#[path = "../support/documented.rs"]
mod documented;
mod feeds;
#[path = "../support/forgery.rs"]
mod forgery;
mod harness;
#[path = "../support/honest.rs"]
mod honest;
mod log;
#[path = "../support/program.rs"]
mod program;
#[path = "../support/remade.rs"]
mod remade;
mod requests;
mod resources;
mod verdicts;
