//! The engine of the server: ractor actors around the pure rules of `machine`, the committer around `storage`, and
//! anchoring around `chain`. A request becomes a unit; the organization's actor admits it, object actors decide its
//! actions, the Sequencer places them, the committer makes them durable, and only then is anything answered.
//!
//! - In and out: `engine`, `api`, `preview`; `world` is what decisions look up.
//! - Deciding, on the threads of `pipeline`: `directory`, `organization`, `shard`, `object`, `resources` on `overlay`s,
//!   then `sequencer`. `rights`, `supply`, `refused`, `ending` and `fate` keep concurrent units from disturbing each
//!   other.
//! - Bounds: `room`, `admission`, `fair`, `counted`.
//! - Committing: `committer`, `writer`, `keeper`, and `agreement`, which checks a sample.
//! - Replaying: `apply`, `catch_up`.
//! - The chain: `anchor` with `adopting`, `doubt`, `node` and `answering`; `signing` and `contract_keys`.
//! - Outward: `events`, `webhooks`.
//! - Health: `timekeeper`, `disk`, `store_health`, `failure`, `supervisor`.

mod admission;
mod adopting;
mod agreement;
mod anchor;
mod anchor_rows;
mod anchoring;
mod answering;
pub mod api;
pub mod apply;
pub mod catch_up;
mod committer;
mod contract_keys;
mod counted;
mod directory;
mod disk;
mod doubt;
mod ending;
pub mod engine;
pub mod events;
mod failure;
pub mod fair;
mod fate;
mod keeper;
pub mod metric_definitions;
mod node;
mod object;
mod organization;
pub mod overlay;
mod pace;
mod pipeline;
mod preview;
mod record;
mod refused;
mod resources;
mod rights;
mod room;
mod sequencer;
mod shard;
mod signing;
mod store_health;
mod supervisor;
mod supply;
pub mod timekeeper;
mod unit;
pub mod webhooks;
mod work;
mod world;
mod writer;

pub use anchor::AnchorOptions;
pub use anchoring::{AnchorReport, CheckpointError, contradiction};
pub use api::{
    ActionOutcome, Asker, Done, Expected, Keep, Made, NewSecret, Outcome, Placement, SealedBatch,
    Submission, SubmitError, SubmittedAction,
};
pub use engine::{Engine, Options, StartError};
pub use failure::Failure;
pub use node::NodeHealth;
pub use preview::Preview;
pub use signing::{HeldKeys, SigningError};
pub use timekeeper::{Clock, passing_clock, wall_clock};
pub use world::Published;
