//! The edge as a process of its own (`kedge edge`): it terminates HTTP and TLS for the nodes of a log, and keeps nothing.
//! It asks each node whether it is ready and whether it leads. What changes something goes straight to the leader;
//! everything else to a node that is ready. Their answers leave as they are. The nodes check tokens, signatures and limits
//! as if their callers had come to them; of an edge they believe the caller's address alone (adr/0028).
//!
//! - [`run`]: the process. `answering` is the way of one request.
//! - `nodes`: which nodes are ready, and which one leads; `passing`: a request to a node and its answer back.
//! - `own`: what the edge answers by itself: its health, and that no node could be reached.

mod answering;
pub mod metric_definitions;
mod nodes;
mod own;
mod passing;
mod run;

pub use run::{EdgeError, Route, Way, run};
