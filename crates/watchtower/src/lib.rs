//! A watchtower: what `kedge watch` does. It follows a log's server (by its export) and its contracts (by their
//! events), keeps what the sequencer signed and what it is given, and proves the faults that it finds; with a key it
//! files the dispute itself. It is somebody else's program: it shares no state with a server and believes the contract
//! alone.
//!
//! `tower` is its memory and its judgement, without I/O; `watch` is the loop, with `memory` and `anchored` on disk,
//! `chain` for what the contracts hold, and `file` and `dispute` for what it files.

mod anchored;
mod chain;
mod dispute;
mod file;
mod memory;
mod report;
pub mod tower;
mod watch;

pub use report::{Report, WatchError};
pub use watch::{WatchOptions, run};
