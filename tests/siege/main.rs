//! Load and abuse over sockets: the real server is attacked while a well-behaved client writes and reads at a modest
//! rate. That client's p99 stays under 250 ms and none of its requests fails, the server's memory stays bounded, nothing
//! of the attack is left when it has ended, and the server stops in order. `make siege` runs all attacks one by one,
//! `make test` a sample of two.

#![allow(clippy::unwrap_used, reason = "a test file: a panic is the failure")]

mod attacks;
mod besieged;
mod field;
mod frames;
mod neighbour;
mod report;
#[path = "../support/mod.rs"]
mod support;
mod vitals;

use std::time::Duration;

use besieged::Siege;

/// How long each attack of the sample lasts.
const SAMPLE: Duration = Duration::from_secs(2);

#[test]
fn a_sample_of_slow_heads() {
    Siege::new("sample: slow heads", 128)
        .lasts(SAMPLE)
        .run(attacks::slow_heads);
}

#[test]
fn a_sample_of_rapid_resets() {
    Siege::new("sample: rapid reset", 192)
        .lasts(SAMPLE)
        .run(attacks::rapid_resets);
}
