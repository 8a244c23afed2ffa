//! Several nodes under the simulator. Each has a machine of its own and runs the production engine, log, cluster and
//! replica; simulated servers carry their log (adr/0021, adr/0025).
//!
//! Each process is a runtime of its own with a clock of its own, which stands until the others have had their turn: all of
//! them run on one thread, a few milliseconds each. So a node can be killed at any moment, and can stand still while the
//! others continue.
//!
//! - `servers`: the stream and the bucket, and what is on its way. `link`: the same, as one node reaches it.
//! - `node`: a machine, and its process. `process`: how that begins, and what is checked of it.
//! - `anchored`: the anchors that they meet, and what they lose of their data. `callers`: who asks. `rates`: what goes wrong. `watch`: what is checked between nodes. `run`: all of it.

mod anchored;
mod callers;
mod link;
mod node;
mod process;
mod rates;
mod run;
mod servers;
mod watch;

pub use run::{NodesReport, run_nodes};
