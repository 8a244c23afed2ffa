//! Cluster simulation. Each node has a separate machine and runs the production engine, log and cluster;
//! simulated servers carry their log (adr/0021, adr/0025).
//!
//! Each process has a separate runtime and clock, which stands until the others have had their turn: all run on one
//! thread, a few milliseconds each. So a node can be killed at any moment, and can stand still while the others
//! continue.
//!
//! - `servers`: the stream, the bucket, and messages in transit. `link`: a node's access to them.
//! - `node`: a machine, and its process. `process`: start and checks of a process.
//! - `anchoring`: anchors and data losses. `callers`: requests. `rates`: fault rates. `watch`: checks between nodes.
//!   `run`: a whole run.

mod anchoring;
mod callers;
mod link;
mod node;
mod process;
mod rates;
mod run;
mod servers;
mod watch;

pub use run::{NodesReport, run_nodes};
