//! The watchtower behind `kedge watch`. It follows a log's server (through its export) and its contracts (through their
//! events), keeps signed statements of the sequencer and supplied files, and proves the faults that it finds. With a
//! key it also files disputes. It runs at third parties: it shares no state with a server and trusts only the contract.
//!
//! `tower` holds memory and judgement, without I/O. `watch` is the loop, with `memory` and `anchored_log` on disk,
//! `chain` for the contracts' state, and `dispute_filer` and `dispute` for disputes.

mod anchored_log;
mod chain;
mod dispute;
mod dispute_filer;
mod memory;
mod report;
pub mod tower;
mod watch;

pub use report::{WatchError, WatchtowerReport};
pub use watch::{WatchOptions, run};
