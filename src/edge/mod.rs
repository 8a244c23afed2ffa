//! The edge process (`kedge edge`): it terminates HTTP and TLS for the nodes of a log and stores nothing. It asks each
//! node whether it is ready and whether it leads. Changes go to the leader, everything else to a ready node, and the
//! answers are passed on unchanged. The nodes check tokens, signatures and limits as if callers had come to them; they
//! trust an edge only for the caller's address (adr/0028).
//!
//! - [`run`]: the process. `handler`: handling of one request.
//! - `nodes`: which nodes are ready, and which one leads; `forwarding`: a request to a node and its answer.
//! - `local_answers`: the edge's own answers: its health, and that no node could be reached.

mod forwarding;
mod handler;
mod local_answers;
pub mod metric_definitions;
mod nodes;
mod run;

pub use run::{EdgeError, ForwardRule, ForwardTarget, run};
