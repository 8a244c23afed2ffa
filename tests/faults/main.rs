//! The real server on a disk that fails, stalls or is full, killed at any moment, on changed stores, with a hanging
//! resolver, and with a wrong clock: its reports, the log's content afterwards, and how it ends.

#![allow(clippy::unwrap_used, reason = "a test file: a panic is the failure")]

mod bounds;
mod calls;
mod clock;
mod crash;
mod disk;
mod failed;
mod lookups;
mod lost;
mod outcomes;
mod recovery;
mod stalled;
#[path = "../support/mod.rs"]
mod support;

use std::path::Path;

use kedge_client::Client;

use support::faults::Faults;
use support::server::Setup;

/// A development server with fault injection, and its faults.
fn setup(directory: &Path) -> (Setup, Faults) {
    let faults = Faults::new(directory);
    let setup = faults.under(Setup::development(&directory.join("data")));
    (setup, faults)
}

/// Verifies the whole store of a stopped server: every hash and signature, and the state against a
/// replay.
fn verify(setup: &Setup, client: &Client) {
    let store = setup.store();
    kedge_upkeep::verify::store(&store, client.domain(), client.sequencer(), |_| ()).unwrap();
}
