//! The core under a seeded simulator: the engine with its actors, sequencer, committer, writer and releaser, the store
//! and the log, on one thread. Time stands until nothing can run, and every choice follows from one seed: which caller
//! asks for what, which part takes the next step, which operation of the disk fails, when the power fails. So a run
//! that finds a fault finds it again (adr/0025).
//!
//! A run is a series of processes. Each opens the store that the one before it left, is checked, takes requests from
//! several callers, and ends: it is killed, loses its power, fails, or ends in order. The last one meets no faults, and
//! must carry out everything.
//!
//! - `random`: chance, and the trace of a run. `machine`: clocks and disk. `schedule`: the order of steps. `faults`:
//!   what goes wrong, and how often.
//! - `plan`: what to run. `client`, `signers`, `workload`: callers. `options`: how the engine is set up.
//! - `ledger`: what they were answered. `model`: the rules once more. `audit`: what is checked after each start.
//! - `anchoring`: the anchor actor, with a chain in the place of Ethereum.
//! - `webhooks`: the workers of webhooks, with receivers in the place of the POST.
//! - `sides`: side writes of callers.
//! - `process`: one process of the core. `rows`: what a crash leaves on the disk. `run`: all of it.
//!
//! What it cannot find: faults that need two threads inside one step, what RocksDB does with its own files, anything
//! above the engine (docs/TESTING.md).

mod anchoring;
mod audit;
mod client;
mod faults;
mod ledger;
mod machine;
mod model;
mod nodes;
mod options;
mod plan;
mod process;
mod random;
mod rows;
mod run;
mod schedule;
mod sides;
mod signers;
mod webhooks;
mod workload;

pub use nodes::{NodesReport, run_nodes};
pub use plan::{Plan, STEPS, Violation};
pub use random::Trace;
pub use run::{Report, run};
