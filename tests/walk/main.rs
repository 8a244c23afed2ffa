//! A walk over every endpoint of the service's document and of the API's description, on the real server over real
//! sockets: the answers to valid calls and to each kind of invalid one, and the isolation of two organizations' private
//! data.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../api/caller.rs"]
#[allow(dead_code, reason = "this binary takes the parts that it needs")]
mod caller;
#[path = "../support/forgery.rs"]
mod forgery;
#[path = "../api/harness.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "this binary takes the parts that it needs"
)]
mod harness;
#[path = "../support/honest.rs"]
mod honest;

mod apart;
mod ask;
mod authority;
mod bodies;
mod check;
mod cost;
mod coverage;
#[path = "../support/documented.rs"]
mod documented;
mod foreign;
mod happy;
mod limited;
mod origins;
#[path = "../support/program.rs"]
mod program;
mod races;
mod reads;
#[path = "../support/remade.rs"]
mod remade;
mod row;
mod rows;
mod signatures;
mod table;
mod world;
