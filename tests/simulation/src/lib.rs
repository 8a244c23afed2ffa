//! Seeded simulator of the core: the engine with its actors, sequencer, committer, writer and publisher, the store and
//! the log, on one thread. Time stands until nothing can run, and every choice follows from one seed: the callers'
//! requests, the order of steps, the disk operations that fail, the power failures. So a seed repeats its fault
//! (adr/0025).
//!
//! A run is a series of processes. Each opens its predecessor's store, is checked, takes requests from several callers,
//! and ends: killed, by power loss, by a failure, or in order. The last one meets no faults, and must carry out
//! everything.
//!
//! - `random`: random numbers, and the trace of a run. `machine`: clocks and disk. `schedule`: the order of steps.
//!   `faults`: kinds and rates of faults.
//! - `plan`: parameters of a run. `client`, `signers`, `workload`: callers. `options`: options of the engine.
//! - `ledger`: answers. `model`: a second implementation of the rules. `audit`: the checks after each start.
//! - `anchoring`: the anchor actor, with a simulated Ethereum chain.
//! - `webhooks`: the webhook workers, with simulated receivers.
//! - `side_writes`: side writes of callers.
//! - `process`: one process of the core. `directory`: data on the disk after a crash. `run`: a whole run.
//!
//! Out of its reach are faults that need two threads inside one step, RocksDB's own files, and everything above the
//! engine (docs/TESTING.md).

mod anchoring;
mod audit;
mod client;
mod directory;
mod faults;
mod ledger;
mod machine;
mod model;
mod nodes;
mod options;
mod plan;
mod process;
mod random;
mod run;
mod schedule;
mod side_writes;
mod signers;
mod webhooks;
mod workload;

pub use nodes::{NodesReport, run_nodes};
pub use plan::{STEPS, SimulationPlan, Violation};
pub use random::RunTrace;
pub use run::{SimulationReport, run};
