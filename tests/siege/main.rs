//! Load and abuse over sockets: the real server is attacked while a well-behaved client writes and reads at a modest
//! rate. That client's p99 stays under 250 ms and none of its requests fails, the server's memory stays bounded, an
//! attack leaves nothing behind, and the server stops in order. `make siege` runs all attacks one by one, `make test` a
//! sample.

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

use std::sync::Arc;
use std::time::Duration;

use besieged::Siege;
use field::Field;

/// Length of the sample's attack and of its calm phase.
const SAMPLE: Duration = Duration::from_secs(2);
const CALM: Duration = Duration::from_secs(1);

// Holds invariant 207.
/// Two attacks together.
#[test]
fn a_sample() {
    Siege::new("sample: slow heads and rapid reset", 192)
        .lasts(SAMPLE)
        .after_calm(CALM)
        .run(async |field: Arc<Field>| {
            let heads = attacks::slow_heads(Arc::clone(&field));
            tokio::join!(heads, attacks::rapid_resets(field));
        });
}
