//! From a place in the log to a durable answer.
//!
//! - `committer`: forms batches and commit groups. `record`: what they write of a unit. `signing`: with which key.
//!   `pace`: when a group is handed over.
//! - `group`: what the one hands to the other.
//! - `writer`: appends groups to the log, syncs, publishes and answers. `agreement` checks a sample of them.
//! - `keeper`, `disk`, `store_health`: the store's upkeep, and what keeps it from accepting writes.

pub(crate) mod agreement;
pub(crate) mod committer;
pub(crate) mod disk;
pub(crate) mod error;
pub(crate) mod group;
pub(crate) mod keeper;
pub(crate) mod pace;
pub(crate) mod record;
pub(crate) mod signing;
pub(crate) mod store_health;
pub(crate) mod writer;
