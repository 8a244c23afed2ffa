//! The engine of the server: ractor actors around the pure rules of `rules`, the committer around `storage`, and
//! anchoring around `chain`. A request becomes a proposal; the organization's actor admits it, object actors decide its
//! actions, the Sequencer places them, the committer makes them durable, and only then is anything answered.
//!
//! Each folder uses only the ones above it:
//!
//! - In this folder: `api` (input and output of the engine), `overlay` (decisions in flight), `messages` (to the actor that
//!   is started on the engine), `fair`, `slots`, `failure`, `metric_definitions`.
//! - `events`: listeners, and the events outside the log.
//! - `pipeline`: from a request to its place in the log.
//! - `commit`: from a place in the log to a durable answer.
//! - `roots`: the state's roots and their signed checkpoints.
//! - `engine`: starts all of these; the entry point.
//! - `anchor`: the actor that serves the chain.

mod anchor;
pub mod api;
mod commit;
pub mod engine;
pub mod events;
mod failure;
pub mod fair;
mod messages;
pub mod metric_definitions;
pub mod overlay;
mod pipeline;
mod roots;
pub mod slots;
pub mod timing;

pub use anchor::{
    AnchorOptions, AnchorOutcome, AnchorSource, CheckpointAnswers, CheckpointError,
    ContractAnchorSource, contradiction,
};
pub use api::{
    ActionOutcome, BatchPlacement, CommittedAction, CommittedState, ExpectedVersion,
    IdempotencyClaim, NewSecret, Principal, SealedBatch, Submission, SubmissionError,
    SubmissionOutcome, SubmittedAction,
};
pub use commit::signing::{HeldKeys, SigningError};
pub use engine::follower::{FollowError, LogFollower};
pub use engine::preview::DecisionPreview;
pub use engine::{Engine, EngineOptions, StartError};
pub use failure::EngineFailure;
pub use kedge_runtime::timekeeper;
pub use messages::{AnchorReport, NodeHealth};
pub use pipeline::published_state::PublishedState;
pub use roots::RootOptions;
pub use timekeeper::{Clock, passing_clock, wall_clock};
