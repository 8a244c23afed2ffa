//! The edge as a process of its own (`kedge edge`): it terminates HTTP and TLS for the nodes of a log, and keeps nothing.
//! It knows from the cluster's servers which nodes there are and who leads. What changes something goes straight to the
//! leader; everything else to a node that is ready. Their answers leave as they are. Signatures of changes are checked
//! here where the request alone determines what is signed; then the leader takes the edge's word for most of them, and
//! checks a sample again (adr/0024). Everything else the nodes check, as if their callers had come to them.
//!
//! - [`run`]: the process. `answering` is the way of one request.
//! - `nodes`: who is there, and who leads; `passing`: a request to a node and its answer back.
//! - `checking`, `wire`: a signature that is checked here, and a request on its way over the cluster's servers.
//! - [`serve`]: the leader's side; [`Tripwire`] ends the trust in an edge, and `distrust` has all nodes know of it.
//! - `own`: what the edge answers by itself: its health, and that no node could be reached.

mod answering;
mod checking;
mod distrust;
mod leader;
pub mod metric_definitions;
mod nodes;
mod own;
mod passing;
mod run;
mod tripwire;
mod wire;

pub use distrust::TrustError;
pub use leader::{Answering, Desk, Serving, serve};
pub use run::{EdgeError, Route, Way, run};
pub use tripwire::Tripwire;
pub use wire::{Answered, Malformed, Refusal, Submitted};
