//! From a place in the log to a durable answer.
//!
//! - `committer`: forms batches and commit groups. `record`: the record of a proposal. `signing`: the key of a batch.
//!   `pace`: when a group is handed over.
//! - `group`: the group that the committer hands to the writer.
//! - `writer`: appends groups to the log, syncs, publishes and answers. `agreement` checks a sample of them.
//! - `sealer`, `disk`, `store_health`: maintenance of the store, and conditions under which it accepts no writes.

pub(crate) mod agreement;
pub(crate) mod committer;
pub(crate) mod disk;
pub(crate) mod error;
pub(crate) mod group;
pub(crate) mod pace;
pub(crate) mod record;
pub(crate) mod sealer;
pub(crate) mod signing;
pub(crate) mod store_health;
pub(crate) mod writer;
